"""``cobe write`` as a stage: drawn structures in, stories out that readers found to tell them.

CoBe, section 3.1: stories are written, and those of which the relations are ambiguous are left out.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from random import Random
from typing import Any, ClassVar

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
from contrafact.families.cobe.read.told import ToldReading
from contrafact.families.cobe.synth.prove import Facts, situation_of
from contrafact.families.cobe.write.answers import (
    AnswerPlan,
    answer_plans,
    answer_templates,
    answers_prompt,
    check_prompt,
    read_answers,
    reading_of_record,
    reading_record,
    verdicts_of,
)
from contrafact.families.cobe.write.reading import (
    StoryReading,
    disagreements,
    read_story_reply,
    story_question,
    story_template,
)
from contrafact.families.cobe.write.story import (
    Written,
    problems_of,
    read_written,
    story_row,
    writer_prompt,
    writer_schema,
    writer_template,
)
from contrafact.families.cobe.write.structure import LATENT, Structure
from contrafact.files.tables import RowNotes
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import PlannedCall, answer, kept_reply
from contrafact.models.estimate import CallEstimate, judge_estimates, sampled, subject_estimates
from contrafact.models.opening import call_config, open_model
from contrafact.models.prices import Tokens
from contrafact.prompts import PromptPack, PromptTemplate, open_pack
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
from contrafact.text.delimit import replace_surrogates

ATTEMPTS, _ANSWERED = 3, 2
"""How often a story is written until its readers agree, and its answers until one is right."""
FIRST_CORE = 5001
"""The core set id of the first structure; drawn and hand-written stories have smaller ones."""


@dataclass(frozen=True)
class Plan:
    """What one row asks for: a story to a structure, and a second one of the same facts, if any."""

    structure: Structure
    twin: Structure | None
    core: int
    initials: str

    @property
    def both(self) -> list[Structure]:
        return [self.structure, *([self.twin] if self.twin else [])]


def plans_of(
    structures: Sequence[Structure], twins: Sequence[Structure | None], seed: int
) -> list[Plan]:
    rng = Random(f"initials {seed}")
    letters = "ABCDEFGHIJKLMNOPRSTVW"
    return [
        Plan(structure, twin, core, " and ".join(rng.sample(letters, 2)))
        for structure, twin, core in zip(structures, twins, count(FIRST_CORE))
    ]


@dataclass(frozen=True)
class WriteStage(RowStage):
    """Plans in, stories out; what readers took otherwise, and every reply, is kept beside them.

    It counts stories ``asked`` and ``kept`` at each attempt, why attempts failed (``why``), calls
    and tokens.
    """

    plans: Sequence[Plan]
    model: str
    readers: tuple[str, ...]
    prompts: str | None = None
    structured: bool = True
    writing: Mapping[str, Any] = field(default_factory=dict)
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    name: str = "`cobe write`"
    noun: ClassVar[str] = "structures"
    keeps_failures: ClassVar[bool] = True

    @property
    def asked(self) -> Asked:
        return Asked(self.model, self.max_connections, self.readers)

    def facts(self) -> dict[str, Any]:
        """Return the settings that replies depend on."""
        pack = open_pack(self.prompts)
        writer_template(pack), story_template(pack), again_template(pack), answer_templates(pack)
        return {
            "model": self.model,
            "readers": list(self.readers),
            "prompts": pack.used_hash,
            "structured": self.structured,
            **{name.replace("_", "-"): value for name, value in self.writing.items()},
        }

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        row.value = self.plans[row.index]

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> list[CallEstimate]:
        """Return the estimated cost of one attempt for every story, and of reading it."""
        pack = open_pack(self.prompts)
        template, reads, some = writer_template(pack), story_template(pack), sampled(rows)
        times = len(rows) / max(1, len(some))
        written = [
            PlannedCall(writer_prompt(template, p.structure, p.twin, p.initials), 600)
            for p in (row.value for row in some)
        ]
        asked = [
            story_question(reads, one, _stand_in(one), 0) for row in some for one in row.value.both
        ]
        costs = subject_estimates([self.model], {"write": written}, {"write": times}, tokens=tokens)
        return costs + judge_estimates(
            self.readers,
            [question.prompt for question in asked],
            times,
            reply_tokens=round(sum(question.tokens for question in asked) / max(1, len(asked))),
            tokens=tokens,
            role="reader",
        )

    @property
    def estimate_notes(self) -> Sequence[str]:
        """The note that a story may take several attempts."""
        return [f"One attempt is counted for each story; there may be up to {ATTEMPTS}."]

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Open the models, and return the function that writes the stories of one plan."""
        pack = open_pack(self.prompts)
        config = call_config(self.max_connections, **self.bounds)
        writer = wrap(open_model(self.model, config=config.merge(GenerateConfig(**self.writing))))
        readers = {name: wrap(open_model(name, config=config)) for name in self.readers}

        async def work(made: StageOutput, row: InputRow) -> None:
            desk = _Desk(writer, readers, pack, self.structured, row.value, made, row.index)
            await desk.work()

        return work

    def failed(self, made: StageOutput, failure: Failure) -> None:
        """Reject the stories of a plan whose call failed; a rerun makes it again."""
        made.counts["asked"] += len(failure.row.value.both)
        made.counts["why", "a call failed"] += 1

    def show(self, result: StageResult) -> None:
        """Print yields, reasons and costs; exit with 1 if no story is kept."""
        counts, kept = result.counts, result.rows[KEPT]
        by_attempt = ", ".join(
            f"{n} at attempt {k}" for k, n in sorted(below(counts, "kept").items())
        )
        typer.echo(
            f"{result.out}: {kept:,} of {counts['asked']:,} stories kept ({by_attempt or 'none'})"
        )
        for reason, number in below(counts, "why").most_common():
            typer.echo(f"  {number:,} x {reason}")
        spent = [counts[name] for name in ("calls", "tokens in", "tokens out")]
        typer.echo("{:,} calls, {:,} tokens read and {:,} written".format(*spent))
        if kept:
            each = [number / kept for number in spent]
            typer.echo("for each kept story {:.1f} calls, {:,.0f} and {:,.0f} tokens".format(*each))
        result.code = int(not kept)


def again_template(pack: PromptPack) -> PromptTemplate:
    return pack.template("cobe/write-again", required={"problems", "kept"})


def _stand_in(structure: Structure) -> Written:
    """Return a story of usual length, for estimates."""
    words = "a clause of some eight words or so"
    return Written(
        "word " * 50, dict.fromkeys(structure.gates, (words, words)), {}, {"told": words}
    )


class _Desk:
    """The work on one plan: a story is written, checked and read, and written again if need be."""

    def __init__(
        self,
        writer: Model,
        readers: Mapping[str, Model],
        pack: PromptPack,
        structured: bool,
        plan: Plan,
        made: StageOutput,
        index: int,
    ) -> None:
        self.writer, self.readers, self.structured = writer, readers, structured
        self.plan, self.made, self.index = plan, made, index
        again = again_template(pack), answer_templates(pack)
        self.templates = writer_template(pack), story_template(pack), *again
        self.kept: dict[int, tuple[Written, list[StoryReading]]] = {}

    async def work(self) -> None:
        plan, made = self.plan, self.made
        made.counts["asked"] += len(plan.both)
        prompt = writer_prompt(self.templates[0], plan.structure, plan.twin, plan.initials)
        messages: list[ChatMessage] = [self._message(prompt)]
        schema = writer_schema(plan.structure, plan.twin)
        for attempt in range(1, ATTEMPTS + 1):
            reply = await self._ask(self.writer, messages, schema)
            try:
                problems = await self._attempt(reply, attempt)
            except InputError as error:  # a reader that cannot be read
                self._reject(0, attempt, "a reader's reply", [error.problem], {"reply": reply})
                break
            if len(self.kept) == len(plan.both):
                break
            kept = next(("first", "second")[number] for number in self.kept) if self.kept else ""
            again = self.templates[2].render(problems=problems, kept=kept)
            messages += [ChatMessageAssistant(content=reply), self._message(again)]
        answered = await asyncio.gather(*(self._answered(number) for number in sorted(self.kept)))
        for mine in answered:
            for others in answered:
                if others is not mine:
                    mine.cross(others.right)
            if mine.right:
                made.counts["answers", "right"] += len(mine.right)
                made.counts["answers", "wrong"] += len(mine.wrong)
                made.add(KEPT, self.index, mine.row())
            else:
                self._reject(mine.number, 0, "no right answer", [], {"row": mine.story})

    async def _answered(self, number: int) -> "_Answered":
        """Have answers to a kept story written and read; those read as planned are kept."""
        mine = _Answered(number, self._row(number, *self.kept[number]))
        writes, checks = self.templates[3]
        (name, reader), text = next(iter(self.readers.items())), mine.story["Variation text"]
        plans = answer_plans(mine.facts)
        for _ in range(_ANSWERED):
            prompt, schema = answers_prompt(writes, text, mine.story["Query"][0], plans)
            reply = await self._ask(self.writer, [self._message(prompt)], schema)
            value = read_json_object(reply).value or {}
            said = {plan.label: value.get(plan.label) for plan in plans}
            texts = {
                label: _line(one) for label, one in said.items() if isinstance(one, str) and one
            }
            if texts:
                prompt, schema, asked = check_prompt(checks, mine.facts, text, [*texts.values()])
                reply = await self._ask(reader, [self._message(prompt)], schema)
                read = dict(read_answers(reply, mine.facts, asked, [*texts.values()]))
                for plan in plans:
                    if (one := texts.get(plan.label)) in read:
                        mine.add(one, plan, read[one], name)
            if mine.right:
                break
        return mine

    def _message(self, text: str) -> ChatMessageUser:
        # Two plans may be asked for in the same words.
        return ChatMessageUser(content=text, metadata={"plan": self.plan.core})

    async def _ask(self, model: Model, messages: list[ChatMessage], schema: ResponseSchema) -> str:
        config = GenerateConfig(response_schema=schema) if self.structured else GenerateConfig()
        output = await answer(model, list(messages), config)
        used = Tokens.of(output.usage)
        self.made.counts.update({"calls": 1, "tokens in": used.sent, "tokens out": used.written})
        return kept_reply(output)

    async def _attempt(self, reply: str, attempt: int) -> list[str]:
        """Check and read what was written; return what its writer has to mend."""
        try:
            stories = read_written(reply, self.plan.structure, self.plan.twin)
        except InputError as error:
            self._reject(0, attempt, "the reply", [error.problem], {"reply": reply})
            return [error.problem]
        told: list[str] = []
        for number, (structure, written) in enumerate(zip(self.plan.both, stories, strict=True)):
            if number in self.kept:
                continue
            if self.kept:  # what is kept settled the facts
                first, _ = next(iter(self.kept.values()))
                written = replace(first, text=written.text)
            which = (
                ""
                if len(stories) == 1
                else ("In the first story, ", "In the second story, ")[number]
            )
            problems = list(problems_of(written, structure))
            if problems:
                self._reject(number, attempt, "by rule", problems, _texts(written))
                told += [which + one for one in problems]
                continue
            readings = await asyncio.gather(
                *(self._read(structure, written, *named) for named in enumerate(self.readers))
            )
            kind, problems = _against(structure, written, readings)
            if problems:
                read = {
                    "readings": [
                        {"sense": r.sense, "why": r.why, "rows": r.rows()} for r in readings
                    ]
                }
                self._reject(number, attempt, kind, problems, _texts(written) | read)
                told += [which + one for one in problems]
            else:
                self.kept[number] = written, readings
                self.made.counts["kept", str(attempt)] += 1
        return told

    async def _read(
        self, structure: Structure, written: Written, at: int, name: str
    ) -> StoryReading:
        asked = story_question(self.templates[1], structure, written, at)
        reading: StoryReading | str = ""
        for attempt in range(2):
            message = ChatMessageUser(content=asked.prompt, metadata={"reading": f"{at} {attempt}"})
            reading = read_story_reply(
                await self._ask(self.readers[name], [message], asked.schema), asked, name
            )
            if isinstance(reading, StoryReading):
                return reading
        raise InputError(f"the reader {name}: {reading}", hint="name another reader")

    def _row(self, number: int, written: Written, readings: list[StoryReading]) -> dict[str, Any]:
        structure = self.plan.both[number]
        rows = [row for reading in readings for row in reading.rows()]
        row = story_row(structure, written, rows, self.plan.core, number + 1)
        senses = [{"reader": r.reader, "sense": r.sense, "why": r.why} for r in readings]
        row["Proof"] |= {"writer": str(self.writer), "senses": senses}
        return row

    def _reject(
        self, number: int, attempt: int, kind: str, problems: Sequence[str], more: Mapping[str, Any]
    ) -> None:
        structure = self.plan.both[number]
        self.made.counts["why", kind] += 1
        gates = {n: f"{g.form} {' '.join(g.causes)}".strip() for n, g in structure.gates.items()}
        about = {"core": self.plan.core, "variation": number + 1, "attempt": attempt, "kind": kind}
        about |= {"problems": list(problems), "graph": structure.graph, "gates": gates}
        self.made.add(REJECTS, self.index, {**about, "supposed": list(structure.supposed), **more})


@dataclass
class _Answered:
    """A kept story, and its answers of known verdict."""

    number: int
    story: dict[str, Any]
    right: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[dict[str, Any]] = field(default_factory=list)

    @cached_property
    def facts(self) -> Facts:
        return situation_of(self.story)

    def add(self, text: str, plan: AnswerPlan, read: ToldReading, reader: str) -> None:
        """Keep an answer whose verdicts are as planned."""
        verdicts = verdicts_of(self.facts, read)
        if verdicts is None or (plan.fails is None) != all(verdicts.values()):
            return
        if plan.fails is not None and verdicts[plan.fails]:
            return
        record = {"reader": reader, **reading_record(read)}
        kept = {"text": text, "why": plan.why, "verdicts": verdicts, "reading": record}
        (self.wrong if plan.fails else self.right).append(
            kept | ({"fails": plan.fails} if plan.fails else {})
        )

    def cross(self, right: Sequence[Mapping[str, Any]]) -> None:
        """Keep as wrong what is right for the other story of the pair and fails this one."""
        for one in right:
            verdicts = verdicts_of(self.facts, reading_of_record(one["reading"]))
            if verdicts is not None and (
                failed := [n for n, passed in verdicts.items() if not passed]
            ):
                why = "is right for the other story of the pair"
                self.wrong.append({**one, "fails": failed[0], "why": why, "verdicts": verdicts})

    def row(self) -> dict[str, Any]:
        answers = {"Right answers": self.right, "Wrong answers": self.wrong}
        return {**self.story, "Representative answer": self.right[0]["text"], **answers}


def _line(text: str) -> str:
    return replace_surrogates(" ".join(text.split()))


def _texts(written: Written) -> dict[str, Any]:
    return {
        "text": written.text,
        "facts": {
            n: written.told(n) for n in (*written.clauses, *(["Q"] if written.number else []))
        },
    }


def _against(
    structure: Structure, written: Written, readings: Sequence[StoryReading]
) -> tuple[str, list[str]]:
    """Return why readings do not keep a story: a kind for the count, and words for its writer."""
    taken = disagreements(structure, readings)
    if taken:
        kinds = Counter(kind for kind, *_ in taken)
        return f"read as '{kinds.most_common(1)[0][0]}'", [*_in_words(structure, written, taken)]
    odd = [reading for reading in readings if reading.sense != "sane"]
    if any(one.sense == "absurd" for one in odd) or len(odd) * 2 > len(readings):
        return "called odd", [f"a reader calls the story {one.sense}: {one.why}" for one in odd]
    return "", []


def _in_words(
    structure: Structure, written: Written, taken: Sequence[tuple[str, ...]]
) -> Iterator[str]:
    for kind, name, *away in taken:
        fact = f"{name} ('{written.told(name)}')"
        if kind == "untold":
            how = "is not implied beyond doubt" if name == LATENT else "is not told by the story"
            yield f"{fact} {how}, says a reader"
            continue
        case = " and ".join(f"'{written.clauses[one][1]}'" for one in away)
        said = {
            "stays": "would have been so all the same",
            "changes": "would not have been so",
            "open": "could have gone either way",
            "same": "would have been the same",
        }.get(kind, f"would have been {kind}")
        yield f"if {case}, then {fact} {said}, says a reader; by the pattern it is not so"
