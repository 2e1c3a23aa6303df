"""``cobe write`` as a stage: drawn structures in, stories out that readers found to tell them.

CoBe, section 3.1: stories are written, and those of which the relations are ambiguous are left out.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import typer
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ResponseSchema,
)

from contrafact.errors import InputError
from contrafact.families.cobe.data import read_story, subject_of
from contrafact.families.cobe.read.question import reader_template
from contrafact.families.cobe.read.reader import question
from contrafact.families.cobe.synth.prove import situation_of
from contrafact.families.cobe.write.answers import answer_plans, answers_prompt, verdicts_of
from contrafact.families.cobe.write.reading import StoryReading, disagreements, story_question
from contrafact.families.cobe.write.story import (
    Fact,
    Written,
    lengths,
    problems_of,
    read_written,
    schema_of,
    story_row,
    written_shape,
)
from contrafact.families.cobe.write.structure import LATENT, NUMBER, Structure
from contrafact.files.tables import RowNotes
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import PlannedCall, answer, kept_reply
from contrafact.models.estimate import CallEstimate, judge_estimates, sampled, subject_estimates
from contrafact.models.opening import call_config, open_model
from contrafact.models.prices import Tokens
from contrafact.prompts import PromptTemplate, open_pack
from contrafact.stages.stage import (
    KEPT,
    REJECTS,
    Asked,
    Failure,
    InputRow,
    RowStage,
    StageOutput,
    StageResult,
    Wrap,
    below,
)

_ATTEMPTS, _ANSWERED = 3, 2
"""How often a story is written until its readers agree, and its answers until one is right."""
_TOKENS = 700
"""About how many tokens a reply of a writer or a reader has."""
_LETTERS = "ABCDEFGHIJKLMNOPRSTVW"
_TEMPLATES = {
    "write": "plan structure second least most number latent shape",
    "write-again": "problems kept",
    "write-read": "text facts cases number shape",
    "write-answers": "text query answers turned",
}


class Plan(NamedTuple):
    """What one row asks for: a story to a structure, and a second one of the same facts, if any.

    ``like`` is the story that is varied, if any, ``parts`` what plays the part of each fact there.
    """

    core: int
    variation: int
    structure: Structure
    second: Structure | None = None
    like: str = ""
    parts: Mapping[str, str] = MappingProxyType({})

    @property
    def both(self) -> list[Structure]:
        return [self.structure, *([self.second] if self.second else [])]

    @property
    def initials(self) -> str:
        return " and ".join(Random(f"{self.core} {self.variation}").sample(_LETTERS, 2))


@dataclass(frozen=True)
class WriteStage(RowStage):
    """Plans in, stories out; replies are kept beside them, and what readers took otherwise.

    It counts stories ``asked`` and ``kept`` at each attempt, why attempts failed (``why``), calls
    and tokens. ``more`` are further keys of each story.
    """

    plans: Sequence[Plan]
    model: str
    readers: tuple[str, ...]
    prompts: str | None = None
    writing: Mapping[str, Any] = field(default_factory=dict)
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    name: str = "`cobe write`"
    noun: ClassVar[str] = "structures"
    keeps_failures: ClassVar[bool] = True

    @property
    def asked(self) -> Asked:
        return Asked(self.model, self.max_connections, self.readers)

    def templates(self) -> tuple[dict[str, PromptTemplate], str]:
        """Return the templates by name, and the hash of the prompts that are used."""
        pack = open_pack(self.prompts)
        opened = {
            name: pack.template(f"cobe/{name}", required={*variables.split()})
            for name, variables in _TEMPLATES.items()
        }
        reader_template(pack)
        return opened, pack.used_hash

    def facts(self) -> dict[str, Any]:
        """Return the settings that replies depend on."""
        models = {"model": self.model, "readers": list(self.readers)}
        return {**models, "prompts": self.templates()[1], **self.writing}

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        row.value = self.plans[row.index]

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> list[CallEstimate]:
        """Return the estimated cost of one attempt for every story, and of reading it."""
        templates, some = self.templates()[0], sampled(rows)
        times = len(rows) / max(1, len(some))
        calls, prompts = [], []
        for plan in (row.value for row in some):
            calls += [PlannedCall(writer_prompt(templates["write"], plan), _TOKENS)]
            for one in plan.both:
                calls += [PlannedCall("word " * 500, _TOKENS)]  # the answers
                fact = Fact(told="a clause of some eight words or so", opposite="its opposite")
                written = Written(text="", facts=dict.fromkeys(one.gates, fact), supposed={})
                text = "word " * lengths(one)[1]
                prompts += [story_question(templates["write-read"], one, written, text, "").prompt]
        return [
            *subject_estimates([self.model], {"write": calls}, {"write": times}, tokens=tokens),
            *judge_estimates(
                self.readers, prompts, times, reply_tokens=_TOKENS, tokens=tokens, role="reader"
            ),
        ]

    @property
    def estimate_notes(self) -> Sequence[str]:
        return (
            f"Each story is counted once; there may be {_ATTEMPTS} attempts. The first reader also "
            "reads each answer, in some seven calls for a kept story.",
        )

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Open the models, and return the function that writes the stories of one plan."""
        config = call_config(self.max_connections, **self.bounds)
        writer = wrap(open_model(self.model, config=config.merge(GenerateConfig(**self.writing))))
        readers = {name: wrap(open_model(name, config=config)) for name in self.readers}
        templates = self.templates()[0]

        async def work(made: StageOutput, row: InputRow) -> None:
            made.counts["asked"] += len(row.value.both)
            desk = _Desk(writer, readers, templates, row.value, made, row.index)
            for story in await desk.stories():
                made.add(KEPT, row.index, {**story, **self.more})

        return work

    def failed(self, made: StageOutput, failure: Failure) -> None:
        made.counts["asked"] += len(failure.row.value.both)
        made.counts["why", "a call failed; the same command makes it again"] += 1

    def show(self, result: StageResult) -> None:
        """Print yields, reasons and costs; exit with 1 if no story is kept."""
        counts, kept = result.counts, result.rows[KEPT]
        attempts = (f"{n:,} at attempt {k}" for k, n in sorted(below(counts, "kept").items()))
        typer.echo(f"{result.out}: {kept:,} of {counts['asked']:,} stories are kept")
        typer.echo(f"  read as meant: {', '.join(attempts) or 'none'}")
        for reason, number in below(counts, "why").most_common():
            typer.echo(f"  {number:,} x {reason}")
        for name in ("calls", "tokens in", "tokens out"):
            each = f", {counts[name] / kept:,.1f} for each kept story" if kept else ""
            typer.echo(f"{name}: {counts[name]:,}{each}")
        result.code = int(not kept)


def writer_prompt(template: PromptTemplate, plan: Plan) -> str:
    structure = plan.structure
    least, most = lengths(structure)
    number = NUMBER if NUMBER in structure.gates else ""
    return template.render(
        plan=plan,
        structure=structure,
        second=plan.second,
        least=least,
        most=most,
        number=number,
        latent=LATENT,
        shape=json.dumps(written_shape(structure, plan.second is not None), ensure_ascii=False),
    )


@dataclass
class _Desk:
    """The work on one plan: stories are written, checked and read, and written again if need be."""

    writer: Model
    readers: Mapping[str, Model]
    templates: Mapping[str, PromptTemplate]
    plan: Plan
    made: StageOutput
    index: int
    kept: dict[int, tuple[Written, str, dict[str, StoryReading]]] = field(default_factory=dict)

    async def stories(self) -> list[dict[str, Any]]:
        """Return the stories that readers took as meant, with answers."""
        both = self.plan.both
        messages: list[ChatMessage] = [
            self._message(writer_prompt(self.templates["write"], self.plan))
        ]
        shape = written_shape(self.plan.structure, self.plan.second is not None)
        schema = schema_of("story", shape)
        for attempt in range(1, _ATTEMPTS + 1):
            reply = await self._ask(self.writer, messages, schema)
            try:
                written = read_written(reply, self.plan.structure)
                problems = [
                    f"{which}: {problem}"
                    for number, (which, text) in enumerate(
                        zip(
                            ("the story", "the second story"),
                            (written.text, written.second),
                            strict=True,
                        )
                    )
                    if number < len(both) and number not in self.kept
                    for problem in await self._attempt(number, written, text, attempt)
                ]
            except InputError as error:
                problems = self._reject(0, attempt, "a reply", [error.problem], {"reply": reply})
            if len(self.kept) == len(both):
                break
            kept = "".join(("first", "second")[number] for number in self.kept)
            again = self.templates["write-again"].render(problems=problems, kept=kept)
            messages += [ChatMessageAssistant(content=reply), self._message(again)]
        rows = [await self._answered(number) for number in sorted(self.kept)]
        for row in rows:
            for one in (o for other in rows if other is not row for o in other["Right answers"]):
                verdicts = verdicts_of(row, one["text"], one["readings"])
                if verdicts and not all(verdicts.values()):
                    fails = next(name for name, passed in verdicts.items() if not passed)
                    why = {"fails": fails, "why": "is right for the other story of the pair"}
                    row["Wrong answers"].append({**one, **why, "verdicts": verdicts})
        if self.plan.parts:  # what causes what in the story that is varied is not known
            rows = [{key: row[key] for key in row if key != "Proof"} for row in rows]
        return [row for row in rows if row["Right answers"]]

    async def _attempt(self, number: int, written: Written, text: str, attempt: int) -> list[str]:
        """Check and read a story; return what its writer has to mend."""
        structure = self.plan.both[number]
        if self.kept:  # what is kept settled the facts
            written = next(iter(self.kept.values()))[0]
        more: dict[str, Any] = {
            "text": text,
            "facts": {n: f.told for n, f in written.facts.items()},
        }
        if problems := [*problems_of(written, text, structure)]:
            return self._reject(number, attempt, "by rule", problems, more)
        read = await asyncio.gather(
            *(self._read(structure, written, text, name) for name in self.readers)
        )
        readings = dict(zip(self.readers, read, strict=True))
        rows = [row for reading in read for row in reading.rows]
        more["readings"] = {name: one._asdict() for name, one in readings.items()}
        untold = [("untold", name) for one in read for name in one.untold]
        if taken := untold or disagreements(structure, rows):
            ((kind, _),) = Counter(entry[0] for entry in taken).most_common(1)
            problems = list(dict.fromkeys(_in_words(written, taken)))
            return self._reject(number, attempt, f"read as '{kind}'", problems, more)
        odd = [one for one in read if one.sense != "sane"]
        if len(odd) * 2 > len(read) or any(one.sense == "absurd" for one in odd):
            problems = [f"a reader calls it {one.sense}: {one.why}" for one in odd]
            return self._reject(number, attempt, "called odd", problems, more)
        try:
            story_row(structure, written, text, rows, "0v0")
        except ValueError as error:
            return self._reject(number, attempt, "by rule", [str(error)], more)
        self.kept[number] = written, text, readings
        self.made.counts["kept", str(attempt)] += 1
        return []

    async def _read(
        self, structure: Structure, written: Written, text: str, name: str
    ) -> StoryReading:
        asked = story_question(self.templates["write-read"], structure, written, text, name)
        for attempt in range(2):
            message = ChatMessageUser(content=asked.prompt, metadata={"attempt": attempt})
            reading = asked.read(await self._ask(self.readers[name], [message], asked.schema), name)
            if isinstance(reading, StoryReading):
                return reading
        raise InputError(f"{name}: {reading}")

    async def _answered(self, number: int) -> dict[str, Any]:
        """Return a kept story with the answers that are read as planned."""
        written, text, readings = self.kept[number]
        rows = [row for reading in readings.values() for row in reading.rows]
        id = f"{self.plan.core}v{self.plan.variation + number}"
        row = story_row(self.plan.both[number], written, text, rows, id)
        senses = {name: {"sense": one.sense, "why": one.why} for name, one in readings.items()}
        row["Proof"] |= {
            "writer": str(self.writer),
            "senses": senses,
            "answers read by": next(iter(self.readers)),
        }
        answers: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        plans = answer_plans(situation_of(row))
        for attempt in range(_ANSWERED):
            prompt, schema = answers_prompt(self.templates["write-answers"], row, plans)
            message = self._message(prompt, attempt)
            said = read_json_object(await self._ask(self.writer, [message], schema)).value or {}
            for plan in plans:
                said_so = " ".join(str(said.get(plan.label, "")).split())
                replies = await self._replies(row, said_so) if said_so else []
                verdicts = verdicts_of(row, said_so, replies) or {}
                if all(verdicts.values()) != bool(plan.fails) and not verdicts.get(
                    plan.fails, False
                ):
                    known = {
                        "text": said_so,
                        "why": plan.why,
                        "verdicts": verdicts,
                        "readings": replies,
                    }
                    answers[not plan.fails].append(
                        known | ({"fails": plan.fails} if plan.fails else {})
                    )
            if answers[True]:
                break
        else:
            self._reject(number, 0, "no right answer", [], {"text": text})
        best = answers[True][0]["text"] if answers[True] else ""
        row |= {"Representative answer": best, "Right answers": answers[True]}
        return row | {"Wrong answers": answers[False]}

    async def _replies(self, row: Mapping[str, Any], text: str) -> list[str]:
        """Return the first reader's replies about an answer, to the questions of `read.reader`."""
        replies: list[str] = []
        subject = subject_of(read_story(row), text)
        while asked := question({**subject, "readings": replies}):
            message = ChatMessageUser(content=asked.prompt)
            reader = next(iter(self.readers.values()))
            replies.append(await self._ask(reader, [message], asked.schema))
        return replies

    def _message(self, text: str, attempt: int = 0) -> ChatMessageUser:
        # Two plans may be asked for in the same words.
        about = {"plan": f"{self.plan.core}v{self.plan.variation}", "attempt": attempt}
        return ChatMessageUser(content=text, metadata=about)

    async def _ask(
        self, model: Model, messages: Sequence[ChatMessage], schema: ResponseSchema
    ) -> str:
        output = await answer(model, list(messages), GenerateConfig(response_schema=schema))
        used = Tokens.of(output.usage)
        self.made.counts.update({"calls": 1, "tokens in": used.sent, "tokens out": used.written})
        return kept_reply(output)

    def _reject(
        self, number: int, attempt: int, why: str, problems: list[str], more: Mapping[str, Any]
    ) -> list[str]:
        structure = self.plan.both[number]
        about = {"id": f"{self.plan.core}v{self.plan.variation + number}", "attempt": attempt}
        about |= {"why": why, "problems": problems, "gates": structure.gates}
        self.made.counts["why", why] += 1
        self.made.add(REJECTS, self.index, {**about, "supposed": structure.supposed, **more})
        return problems


def _in_words(written: Written, taken: Sequence[tuple[str, ...]]) -> Iterator[str]:
    said = {
        "untold": "does not hold in the story, or is left in doubt",
        "stays": "would have been so all the same",
        "changes": "would not have been so",
        "open": "could have gone either way",
    }
    for kind, name, *away in taken:
        what = f"a reader takes it that '{written.facts[name].told}' ({name})"
        case = " and ".join(f"'{written.facts[one].opposite}'" for one in away)
        given = f"suppose {case}: " if away else ""
        yield f"{given}{what} {said.get(kind, f'would have been {kind}')}, which is not the plan"
