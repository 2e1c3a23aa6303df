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
from contrafact.families.cobe.write import answers, story
from contrafact.families.cobe.write.reading import StoryReading, disagreements, story_question
from contrafact.families.cobe.write.structure import LATENT, NUMBER, Structure
from contrafact.files.tables import RowNotes
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import PlannedCall, answer, kept_reply
from contrafact.models.estimate import CallEstimate, judge_estimates, sampled, subject_estimates
from contrafact.models.opening import call_config, open_model
from contrafact.models.prices import Tokens
from contrafact.prompts import PromptPack, PromptTemplate, open_pack
from contrafact.stages import stage as stages

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
    "write-answers-again": "problems",
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
    def shape(self) -> dict[str, Any]:
        return story.written_shape(self.structure, self.second is not None)

    @property
    def initials(self) -> str:
        return " and ".join(Random(f"{self.core} {self.variation}").sample(_LETTERS, 2))


@dataclass(frozen=True)
class WriteStage(stages.RowStage):
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
    def asked(self) -> stages.Asked:
        return stages.Asked(self.model, self.max_connections, self.readers)

    def facts(self) -> dict[str, Any]:
        """Return the settings that replies depend on."""
        pack = open_pack(self.prompts)
        open_templates(pack)
        models = {"model": self.model, "readers": list(self.readers)}
        return {**models, "prompts": pack.used_hash, **self.writing}

    def read(self, row: stages.InputRow, notes: RowNotes | None = None) -> None:
        row.value = self.plans[row.index]

    def estimates(
        self, rows: Sequence[stages.InputRow], *, tokens: bool = True
    ) -> list[CallEstimate]:
        """Return the estimated cost of one attempt for every story, and of reading it."""
        templates = open_templates(open_pack(self.prompts))
        some = [row.value for row in sampled(rows)]
        times, stories = len(rows) / max(1, len(some)), sum(len(plan.both) for plan in some)
        prompts = {name: [one.source] * stories for name, one in templates.items()}
        written = [writer_prompt(templates["write"], plan) for plan in some]
        calls = [PlannedCall(one, _TOKENS) for one in written + prompts["write-answers"]]
        costs = subject_estimates([self.model], {"write": calls}, {"write": times}, tokens=tokens)
        for role, readers, asked in (
            ("reader of stories", self.readers, prompts["write-read"]),
            ("reader of answers", self.readers[:1], prompts["read"] * answers.ANSWERS),
        ):
            how: dict[str, Any] = {"reply_tokens": _TOKENS // 2, "tokens": tokens, "role": role}
            costs += judge_estimates(readers, asked, times, **how)
        return costs

    @property
    def estimate_notes(self) -> Sequence[str]:
        return (f"Each story is counted once, and written up to {_ATTEMPTS} times.",)

    def open_row(
        self, wrap: stages.Wrap
    ) -> Callable[[stages.StageOutput, stages.InputRow], Awaitable[None]]:
        """Open the models, and return the function that writes the stories of one plan."""
        config = call_config(self.max_connections, **self.bounds)
        writer = wrap(open_model(self.model, config=config.merge(GenerateConfig(**self.writing))))
        readers = {name: wrap(open_model(name, config=config)) for name in self.readers}
        templates = open_templates(open_pack(self.prompts))

        async def work(made: stages.StageOutput, row: stages.InputRow) -> None:
            made.counts["asked"] += len(row.value.both)
            desk = _Desk(writer, readers, templates, row.value, made, row.index)
            for one in await desk.stories():
                made.add(stages.KEPT, row.index, {**one, **self.more})

        return work

    def failed(self, made: stages.StageOutput, failure: stages.Failure) -> None:
        made.counts["asked"] += len(failure.row.value.both)
        made.counts["why", "a call failed; the same command makes it again"] += 1

    def show(self, result: stages.StageResult) -> None:
        """Print yields, reasons and costs; exit with 1 if no story is kept."""
        counts, kept = result.counts, result.rows[stages.KEPT]
        attempts = (
            f"{n:,} at attempt {k}" for k, n in sorted(stages.below(counts, "kept").items())
        )
        typer.echo(f"{result.out}: {kept:,} of {counts['asked']:,} stories are kept")
        typer.echo(f"  read as meant: {', '.join(attempts) or 'none'}")
        for reason, number in stages.below(counts, "why").most_common():
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
    least, most = story.lengths(plan.structure)
    return template.render(
        plan=plan,
        structure=plan.structure,
        second=plan.second,
        shape=json.dumps(plan.shape, ensure_ascii=False),
        least=least,
        most=most,
        number=NUMBER if NUMBER in plan.structure.gates else "",
        latent=LATENT,
    )


@dataclass
class _Desk:
    """The work on one plan: stories are written, checked and read, and written again if need be."""

    writer: Model
    readers: Mapping[str, Model]
    templates: Mapping[str, PromptTemplate]
    plan: Plan
    made: stages.StageOutput
    index: int
    kept: dict[int, tuple[story.Written, str, list[StoryReading]]] = field(default_factory=dict)

    async def stories(self) -> list[dict[str, Any]]:
        """Return the stories that readers took as meant, with answers."""
        plan, prompt = self.plan, writer_prompt(self.templates["write"], self.plan)
        messages: list[ChatMessage] = [self._message(prompt)]
        schema = story.schema_of("story", plan.shape)
        for attempt in range(1, _ATTEMPTS + 1):
            reply = await self._ask(self.writer, [*messages], schema)
            problems: list[Any] = []
            try:
                written = story.read_written(reply, plan.structure)
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
        rows = await asyncio.gather(*(self._answered(number) for number in sorted(self.kept)))
        for row, other in (rows, rows[::-1]) if len(rows) == 2 else ():
            for one in other["Right answers"]:
                verdicts, _ = answers.verdicts_of(row, one["text"], one["readings"])
                if failed := [name for name, passed in verdicts.items() if not passed]:
                    why = {"why": "is right for the other story of the pair", "fails": failed[0]}
                    row["Wrong answers"].append({**one, **why, "verdicts": verdicts})
        if plan.parts:  # what causes what in the story that is varied is not known
            rows = [{key: row[key] for key in row if key != "Proof"} for row in rows]
        return [row for row in rows if row["Right answers"]]

    async def _attempt(self, number: int, written: story.Written, attempt: int) -> list[Any]:
        """Check and read a story; return what its writer has to mend."""
        structure, text = self.plan.both[number], (written.text, written.second)[number]
        if self.kept:  # what is kept settled the facts
            written, *_ = next(iter(self.kept.values()))
        told = {name: fact.told for name, fact in written.facts.items()}
        more: dict[str, Any] = {"text": text, "facts": told}
        if problems := [*story.problems_of(written, text, structure)]:
            return self._reject(number, attempt, "by rule", problems, more)
        template = self.templates["write-read"]
        asked = [story_question(template, structure, written, text, name) for name in self.readers]
        pairs = zip(self.readers.values(), asked, strict=True)
        replies = await asyncio.gather(*(self._ask(r, q.prompt, q.schema) for r, q in pairs))
        read = [one.read(*two) for one, *two in zip(asked, replies, self.readers, strict=True)]
        if unread := [one for one in read if isinstance(one, str)]:
            return self._reject(number, attempt, "a reader's reply", unread, more)
        readings = [one for one in read if not isinstance(one, str)]
        more["readings"] = [one._asdict() for one in readings]
        rows = [row for one in readings for row in one.rows]
        found: list[tuple[str, ...]] = [("untold", n) for one in readings for n in one.untold]
        if found := found or disagreements(structure, rows):
            ((kind, _),) = Counter(entry[0] for entry in found).most_common(1)
            facts, away = written.facts, dict.fromkeys(found)
            taken = [(how, told[n], [facts[c].opposite for c in case]) for how, n, *case in away]
            return self._reject(number, attempt, f"read as '{kind}'", taken, more)
        senses = [(one.sense, one.why) for one in readings if one.sense != "sane"]
        odd = [f"it is {sense}, says a reader: {why}" for sense, why in senses]
        if len(odd) * 2 > len(readings) or any(one.sense == "absurd" for one in readings):
            return self._reject(number, attempt, "called odd", odd, more)
        self.kept[number] = written, text, readings
        self.made.counts["kept", str(attempt)] += 1
        return []

    async def _answered(self, number: int) -> dict[str, Any]:
        """Return a kept story with the answers that are read as planned."""
        written, text, readings = self.kept[number]
        told = [row for one in readings for row in one.rows]
        row = story.story_row(self.plan.both[number], written, text, told, self._id(number))
        read = zip(self.readers, readings, strict=True)
        senses = [{"reader": reader, "sense": one.sense} for reader, one in read]
        row["Proof"] |= {"writer": str(self.writer), "senses": senses}
        made: dict[str, list[dict[str, Any]]] = {"R": [], "W": []}
        plans = answers.answer_plans(situation_of(row))
        prompt, schema = answers.answers_prompt(self.templates["write-answers"], row, plans)
        messages: list[ChatMessage] = [self._message(prompt)]
        for _ in range(2):  # again, if no right answer is decided
            reply = await self._ask(self.writer, [*messages], schema)
            texts = read_json_object(reply).value or {}
            texted = [(plan, " ".join(str(texts.get(plan.label, "")).split())) for plan in plans]
            answered = [(plan, text) for plan, text in texted if text]
            replied = await asyncio.gather(*(self._replies(row, text) for _, text in answered))
            problems: list[str] = []
            for (plan, text), replies in zip(answered, replied, strict=True):
                known, reasons = answers.verdicts_of(row, text, replies)
                if known and not (known[plan.fails] if plan.fails else not all(known.values())):
                    kept = {"text": text, "why": plan.why, "verdicts": known, "readings": replies}
                    kept |= {"fails": plan.fails} if plan.fails else {}
                    made[plan.label[0]].append(kept)
                problems += [f"{plan.label}: {why}" for why in reasons if not plan.fails]
            if made["R"]:
                break
            plans = [plan for plan in plans if not plan.fails]
            again = self.templates["write-answers-again"].render(problems=problems)
            messages += [ChatMessageAssistant(content=reply), self._message(again)]
        if made["R"]:
            row["Representative answer"] = made["R"][0]["text"]
        else:
            self._reject(number, 0, "no right answer", problems, row)
        return row | {"Right answers": made["R"], "Wrong answers": made["W"]}

    async def _replies(self, row: Mapping[str, Any], text: str) -> list[str]:
        """Return the first reader's replies about an answer, to the questions of `read.reader`."""
        replies: list[str] = []
        subject = subject_of(read_story(row), text)
        while asked := question({**subject, "readings": replies}):
            reader = next(iter(self.readers.values()))
            replies.append(await self._ask(reader, asked.prompt, asked.schema))
        return replies

    def _message(self, text: str) -> ChatMessageUser:
        # Two plans may be asked for in the same words.
        return ChatMessageUser(content=text, metadata={"plan": self._id(0)})

    def _id(self, number: int) -> str:
        return f"{self.plan.core}v{self.plan.variation + number}"

    async def _ask(
        self, model: Model, asked: str | list[ChatMessage], schema: ResponseSchema
    ) -> str:
        output = await answer(model, asked, GenerateConfig(response_schema=schema))
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
        self.made.add(stages.REJECTS, self.index, {**about, **more})
        return problems
