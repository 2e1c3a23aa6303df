"""``cobe write`` as a stage: drawn structures in, stories out that readers found to tell them.

CoBe, section 3.1: stories are written, and those of which the relations are ambiguous are left out.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
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
from contrafact.families.cobe.write.answers import (
    ANSWERS,
    answer_plans,
    answers_prompt,
    verdicts_of,
)
from contrafact.families.cobe.write.reading import StoryReading, disagreements, story_question
from contrafact.families.cobe.write.story import (
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

_ATTEMPTS = 3
"""How often a story is written until its readers agree."""
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
    """Plans in, stories out, with ``more`` keys; what readers took otherwise goes beside them."""

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

    def facts(self) -> dict[str, Any]:
        """Return the settings that replies depend on."""
        pack = open_pack(self.prompts)
        open_templates(pack)
        models = {"model": self.model, "readers": list(self.readers)}
        return {**models, "prompts": pack.used_hash, **self.writing}

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        row.value = self.plans[row.index]

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> list[CallEstimate]:
        """Return the estimated cost of one attempt for every story, and of reading it."""
        templates, some = (
            open_templates(open_pack(self.prompts)),
            [row.value for row in sampled(rows)],
        )
        times, stories = len(rows) / max(1, len(some)), sum(len(plan.both) for plan in some)
        prompts = {name: [one.source] * stories for name, one in templates.items()}
        prompts["write"] = [writer_prompt(templates["write"], plan) for plan in some]
        calls = [
            PlannedCall(one, _TOKENS) for n in ("write", "write-answers") for one in prompts[n]
        ]
        costs = subject_estimates([self.model], {"write": calls}, {"write": times}, tokens=tokens)
        for role, readers, asked in (
            ("reader of stories", self.readers, prompts["write-read"]),
            ("reader of answers", self.readers[:1], prompts["read"] * ANSWERS),
        ):
            half = _TOKENS // 2
            costs += judge_estimates(
                readers, asked, times, reply_tokens=half, tokens=tokens, role=role
            )
        return costs

    @property
    def estimate_notes(self) -> Sequence[str]:
        return (f"Each story is counted once, and written up to {_ATTEMPTS} times.",)

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Open the models, and return the function that writes the stories of one plan."""
        config = call_config(self.max_connections, **self.bounds)
        writer = wrap(open_model(self.model, config=config.merge(GenerateConfig(**self.writing))))
        readers = {name: wrap(open_model(name, config=config)) for name in self.readers}
        templates = open_templates(open_pack(self.prompts))

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


def open_templates(pack: PromptPack) -> dict[str, PromptTemplate]:
    opened = {
        name: pack.template(f"cobe/{name}", required={*variables.split()})
        for name, variables in _TEMPLATES.items()
    }
    return opened | {"read": reader_template(pack)}


def writer_prompt(template: PromptTemplate, plan: Plan) -> str:
    structure, shape = plan.structure, written_shape(plan.structure, plan.second is not None)
    number, shown = (
        NUMBER if NUMBER in structure.gates else "",
        json.dumps(shape, ensure_ascii=False),
    )
    given = {"plan": plan, "structure": structure, "second": plan.second, "shape": shown}
    least, most = lengths(structure)
    return template.render(**given, least=least, most=most, number=number, latent=LATENT)


@dataclass
class _Desk:
    """The work on one plan: stories are written, checked and read, and written again if need be."""

    writer: Model
    readers: Mapping[str, Model]
    templates: Mapping[str, PromptTemplate]
    plan: Plan
    made: StageOutput
    index: int
    kept: dict[int, tuple[Written, str, list[StoryReading]]] = field(default_factory=dict)

    async def stories(self) -> list[dict[str, Any]]:
        """Return the stories that readers took as meant, with answers."""
        plan, prompt = self.plan, writer_prompt(self.templates["write"], self.plan)
        messages: list[ChatMessage] = [self._message(prompt)]
        schema = schema_of("story", written_shape(plan.structure, plan.second is not None))
        for attempt in range(1, _ATTEMPTS + 1):
            reply = await self._ask(self.writer, messages, schema)
            problems: list[Any] = []
            try:
                written = read_written(reply, plan.structure)
            except InputError as error:
                problems = self._reject(0, attempt, "a reply", [error.problem], {"reply": reply})
            else:
                for number in range(len(plan.both)):
                    if number not in self.kept:
                        problems += await self._attempt(number, written, attempt)
            if len(self.kept) == len(plan.both):
                break
            kept = "".join(("first", "second")[number] for number in self.kept)
            again = self.templates["write-again"].render(problems=problems, kept=kept)
            messages += [ChatMessageAssistant(content=reply), self._message(again)]
        rows = [await self._answered(number) for number in sorted(self.kept)]
        for row, other in (rows, rows[::-1]) if len(rows) == 2 else ():
            for one in other["Right answers"]:
                verdicts = verdicts_of(row, one["text"], one["readings"]) or {}
                if failed := [name for name, passed in verdicts.items() if not passed]:
                    why = {"why": "is right for the other story of the pair", "fails": failed[0]}
                    row["Wrong answers"].append({**one, **why, "verdicts": verdicts})
        if plan.parts:  # what causes what in the story that is varied is not known
            rows = [{key: row[key] for key in row if key != "Proof"} for row in rows]
        return [row for row in rows if row["Right answers"]]

    async def _attempt(self, number: int, written: Written, attempt: int) -> list[Any]:
        """Check and read a story; return what its writer has to mend."""
        structure, text = self.plan.both[number], (written.text, written.second)[number]
        if self.kept:  # what is kept settled the facts
            written, *_ = next(iter(self.kept.values()))
        more: dict[str, Any] = {
            "text": text,
            "facts": {n: f.told for n, f in written.facts.items()},
        }
        if problems := [*problems_of(written, text, structure)]:
            return self._reject(number, attempt, "by rule", problems, more)
        template = self.templates["write-read"]
        asked = [story_question(template, structure, written, text, name) for name in self.readers]
        replies = await asyncio.gather(
            *(
                self._ask(reader, [ChatMessageUser(content=one.prompt)], one.schema)
                for reader, one in zip(self.readers.values(), asked, strict=True)
            )
        )
        read = [one.read(*two) for one, *two in zip(asked, replies, self.readers, strict=True)]
        if unread := [one for one in read if isinstance(one, str)]:
            return self._reject(number, attempt, "a reader's reply", unread, more)
        readings = [one for one in read if not isinstance(one, str)]
        more["readings"] = [one._asdict() for one in readings]
        rows = [row for one in readings for row in one.rows]
        untold: list[tuple[str, ...]] = [
            ("untold", name) for one in readings for name in one.untold
        ]
        if found := untold or disagreements(structure, rows):
            ((kind, _),) = Counter(entry[0] for entry in found).most_common(1)
            taken = [
                (how, written.facts[name].told, [written.facts[one].opposite for one in away])
                for how, name, *away in dict.fromkeys(found)
            ]
            return self._reject(number, attempt, f"read as '{kind}'", taken, more)
        odd = [
            f"it is {one.sense}, says a reader: {one.why}"
            for one in readings
            if one.sense != "sane"
        ]
        if len(odd) * 2 > len(readings) or any(one.sense == "absurd" for one in readings):
            return self._reject(number, attempt, "called odd", odd, more)
        self.kept[number] = written, text, readings
        self.made.counts["kept", str(attempt)] += 1
        return []

    async def _answered(self, number: int) -> dict[str, Any]:
        """Return a kept story with the answers that are read as planned."""
        written, text, readings = self.kept[number]
        told = [row for one in readings for row in one.rows]
        row = story_row(self.plan.both[number], written, text, told, self._id(number))
        senses = [
            {"reader": r, "sense": one.sense} for r, one in zip(self.readers, readings, strict=True)
        ]
        row["Proof"] |= {"writer": str(self.writer), "senses": senses}
        answers: dict[str, list[dict[str, Any]]] = {"R": [], "W": []}
        plans = answer_plans(situation_of(row))
        prompt, schema = answers_prompt(self.templates["write-answers"], row, plans)
        reply = await self._ask(self.writer, [self._message(prompt)], schema)
        given = read_json_object(reply).value or {}
        for plan in plans:
            text = " ".join(str(given.get(plan.label, "")).split())
            replies = await self._replies(row, text) if text else []
            known = verdicts_of(row, text, replies)
            if known and not (known[plan.fails] if plan.fails else not all(known.values())):
                kept = {"text": text, "why": plan.why, "verdicts": known, "readings": replies}
                kept |= {"fails": plan.fails} if plan.fails else {}
                answers[plan.label[0]].append(kept)
        if not answers["R"]:
            self._reject(number, 0, "no right answer", [], row)
        row["Representative answer"] = answers["R"][0]["text"] if answers["R"] else ""
        return row | {"Right answers": answers["R"], "Wrong answers": answers["W"]}

    async def _replies(self, row: Mapping[str, Any], text: str) -> list[str]:
        """Return the first reader's replies about an answer, to the questions of `read.reader`."""
        replies: list[str] = []
        subject = subject_of(read_story(row), text)
        while asked := question({**subject, "readings": replies}):
            message = ChatMessageUser(content=asked.prompt)
            reader = next(iter(self.readers.values()))
            replies.append(await self._ask(reader, [message], asked.schema))
        return replies

    def _message(self, text: str) -> ChatMessageUser:
        # Two plans may be asked for in the same words.
        return ChatMessageUser(content=text, metadata={"plan": self._id(0)})

    def _id(self, number: int) -> str:
        return f"{self.plan.core}v{self.plan.variation + number}"

    async def _ask(
        self, model: Model, messages: Sequence[ChatMessage], schema: ResponseSchema
    ) -> str:
        output = await answer(model, list(messages), GenerateConfig(response_schema=schema))
        used = Tokens.of(output.usage)
        self.made.counts.update({"calls": 1, "tokens in": used.sent, "tokens out": used.written})
        return kept_reply(output)

    def _reject(
        self, number: int, attempt: int, why: str, problems: list[Any], more: Mapping[str, Any]
    ) -> list[Any]:
        structure = self.plan.both[number]
        about = {"id": self._id(number), "attempt": attempt, "why": why, "problems": problems}
        about |= {"gates": structure.gates, "supposed": structure.supposed}
        self.made.counts["why", why] += 1
        self.made.add(REJECTS, self.index, {**about, **more})
        return problems
