"""Rewriting by a language model, through Inspect's model interface (RFC-BENCH, section 2.2.2).

If a proposal breaks a fact, the model is asked again and told which; a proposal that keeps the
facts goes to the judges, if any are named, and the model is asked again if they find that it does
not mean what its manipulation requires. A proposal that they cannot decide is kept as undecided.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contrafact.errors import InputError, value_problem
from contrafact.families.rfc.contracts import Check, Options, check_pair
from contrafact.families.rfc.contracts.prose import unread_language
from contrafact.families.rfc.judging import UNDECIDED, Judging, settled
from contrafact.families.rfc.labels import LENGTH_BANDS, Bands
from contrafact.families.rfc.pipeline.edits import RewriteOutcome, between
from contrafact.families.rfc.pipeline.rewrite import Assignment, refused, seed_of
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.files.atomic import os_problem
from contrafact.files.config import read_toml
from contrafact.judges.replies import answer_text
from contrafact.models.asking import PlannedCall, answer, no_answer
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.text.delimit import delimit, replace_surrogates
from contrafact.text.diff import token_count

NOT_JUDGED = "no judge was asked what it means"
"""Why a rewrite that breaks no fact is undecided if no judge is named."""

TOKENIZERS = 2.0
"""How many times as many tokens as cl100k another tokenizer may need for a text (ours)."""

DELIMITERS = 16
"""Tokens allowed for the delimiters that a reply may repeat (ours)."""


class Decoding(BaseModel):
    """The decoding settings for one manipulation; for None, the provider's default applies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float | None = Field(default=None, ge=0, description="Sampling temperature.")
    top_p: float | None = Field(default=None, gt=0, le=1, description="Nucleus sampling.")
    frequency_penalty: float | None = Field(
        default=None, ge=-2, le=2, description="Penalty on tokens by how often they came before."
    )
    max_tokens: int | None = Field(default=None, ge=1, description="Longest reply, in tokens.")


def load_decoding(path: str | Path | None = None) -> dict[Manipulation, Decoding]:
    """Return decoding settings from a TOML file, by default those of section 2.2.2 (which seems to
    have swapped flipping and numerical).
    """
    source = path or files("contrafact.families.rfc.pipeline").joinpath("decoding.toml")
    try:
        text = Path(str(source)).read_text(encoding="utf-8")
        tables = read_toml(text, str(source))
    except FileNotFoundError:
        raise InputError("no such file", file=path, hint="check the path") from None
    except OSError as error:
        raise os_problem(error, str(path), doing="cannot be read") from error
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", file=path, hint="save it as UTF-8") from None
    if set(tables) != set(MANIPULATIONS):
        odd = sorted(set(tables) ^ set(MANIPULATIONS))
        raise InputError(
            f"has missing or unexpected tables: {', '.join(odd)}",
            file=path,
            hint=f"write one table for each of {', '.join(MANIPULATIONS)}",
        )
    try:
        return {name: Decoding.model_validate(tables[name]) for name in MANIPULATIONS}
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        problem = f"{place}: {value_problem(first)}"
        raise InputError(problem, file=path, hint="fix the setting") from None


def open_templates(pack: PromptPack) -> dict[str, PromptTemplate]:
    """Return the prompts that ask for a rewrite, by manipulation; ``feedback`` asks for another."""
    templates: dict[str, PromptTemplate] = {
        name: pack.template(f"rfc/rewrite-{name}", required={"paragraph"}) for name in MANIPULATIONS
    }
    required = {"violations", "paragraph"}
    return {**templates, "feedback": pack.template("rfc/rewrite-feedback", required=required)}


def planned_call(templates: Mapping[str, PromptTemplate], assignment: Assignment) -> PlannedCall:
    paragraph = assignment.item.paragraph
    prompt = templates[assignment.manipulation].render(paragraph=delimit(paragraph))
    return PlannedCall(prompt, reply_tokens=token_count(paragraph))


@dataclass(frozen=True)
class ModelRewriter:
    """A model that rewrites, and is asked again if facts or judges reject its proposal."""

    model: Model
    templates: Mapping[str, PromptTemplate]
    decoding: Mapping[Manipulation, Decoding]
    seed: int = 0
    attempts: int = 3
    options: Options = field(default_factory=Options)
    judges: Sequence[Model] = ()
    judging: Judging = field(default_factory=Judging)

    async def rewrite(self, assignment: Assignment) -> RewriteOutcome:
        """Return the outcome of a row: proposals are made until one passes."""
        original, manipulation = assignment.item.paragraph, assignment.manipulation
        question = self.templates[manipulation].render(paragraph=delimit(original))
        messages: list[ChatMessage] = [ChatMessageUser(content=question)]
        tried: list[tuple[Mapping[str, Any], ...]] = []
        for attempt in range(1, self.attempts + 1):
            output = await self._ask(messages, assignment, attempt)
            if problem := no_answer(output, cut=False):  # asking again is useless
                return RewriteOutcome(attempts=attempt, reason=problem)
            read = answer_text(output.completion)
            reply = _bare(read.text)
            unread = no_answer(output) or read.invalid
            violations: tuple[Mapping[str, Any], ...]
            if unread is not None and unread != "empty reply":
                violations = ({"rule": "unreadable", "message": f"the reply: {unread}"},)
            else:
                found = await self._decide(assignment, reply)
                if found.passed is not False:
                    why = unread_language(original) or NOT_JUDGED
                    if found.passed or self.judges:
                        open_ = [one.message for one in found.review if one.rule == UNDECIDED]
                        why = "" if found.passed else "; ".join(open_)
                    return RewriteOutcome(reply, between(original, reply), attempt, undecided=why)
                violations = tuple(one.as_row() for one in found.violations)
            tried.append(violations)
            again = self.templates["feedback"].render(
                paragraph=delimit(original),
                violations=[delimit(str(violation["message"])) for violation in violations],
            )
            # The model sees every round, so that it does not repeat an earlier fault.
            messages = [
                *messages,
                ChatMessageAssistant(content=reply or "(nothing)"),
                ChatMessageUser(content=again),
            ]
        return refused(tried, self.attempts)

    async def _decide(self, assignment: Assignment, reply: str) -> Check:
        """Return the check of a proposal by facts or, if they leave it open, by the judges too."""
        item, manipulation = assignment.item, assignment.manipulation
        original = item.paragraph
        facts = await asyncio.to_thread(
            check_pair, manipulation, original, reply, title=item.title, options=self.options
        )
        if not self.judges or not self.judging.asks(manipulation, facts):
            return facts
        judged = await self.judging.judge(self.judges, manipulation, original, reply)
        return settled(facts, judged, manipulation, original, reply)

    async def _ask(
        self, messages: list[ChatMessage], assignment: Assignment, attempt: int
    ) -> ModelOutput:
        seed = seed_of(self.seed, assignment.item.id, assignment.manipulation, attempt)
        limit = {"max_tokens": longest_reply(assignment, self.options.bands or LENGTH_BANDS)}
        decoding = limit | self.decoding[assignment.manipulation].model_dump(exclude_none=True)
        config = GenerateConfig(**decoding, seed=seed % 2**31)
        return await answer(self.model, messages, config)


def longest_reply(assignment: Assignment, bands: Bands = LENGTH_BANDS) -> int:
    """Return the most tokens that a reply within the length band can have."""
    most = bands[assignment.manipulation][1] * token_count(assignment.item.paragraph)
    return ceil(TOKENIZERS * most) + DELIMITERS


def _bare(reply: str) -> str:
    """Return a reply without the delimiters that the prompt showed, as one line of text."""
    text = replace_surrogates(reply).strip()
    text = text.removeprefix("<news>").removesuffix("</news>").strip()
    # A blank line or a list marker is for the contract to judge; a wrapped line is no fault.
    lines = [line.strip() for line in text.splitlines()]
    marked = any(line.startswith(("-", "*", "#", "•")) for line in lines)
    return text if marked or "" in lines else " ".join(lines)
