"""Rewriting by a language model, through Inspect's model interface (RFC-BENCH, section 2.2.2)."""

import asyncio
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
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
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contrafact.errors import InputError
from contrafact.families.rfc.labels import LENGTH_BANDS
from contrafact.families.rfc.pipeline.rewrite import (
    Assignment,
    Outcome,
    Proposal,
    decided,
    refused,
    seed_of,
)
from contrafact.families.rfc.pipeline.rules.edits import between
from contrafact.files.atomic import os_problem
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.records import MANIPULATIONS, Manipulation
from contrafact.text.delimit import delimit, replace_surrogates
from contrafact.text.diff import token_count

__all__ = ["Decoding", "ModelRewriter", "load_decoding", "longest_reply"]

TOKENIZERS = 2.0
"""Times as many tokens as cl100k that another model's tokenizer may make of a text (ours)."""

DELIMITERS = 16
"""Tokens of the delimiters that a reply may repeat (ours)."""


class Decoding(BaseModel):
    """How the model decodes for one manipulation; what is not set is the provider's default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float | None = Field(default=None, ge=0, description="Sampling temperature.")
    top_p: float | None = Field(default=None, gt=0, le=1, description="Nucleus sampling.")
    frequency_penalty: float | None = Field(
        default=None, ge=-2, le=2, description="Penalty on tokens by how often they came before."
    )
    max_tokens: int | None = Field(default=None, ge=1, description="Longest reply, in tokens.")


def load_decoding(path: str | Path | None = None) -> dict[Manipulation, Decoding]:
    """Return each manipulation's decoding settings from a TOML file.

    The default file holds the settings as RFC-BENCH prints them under each category's heading in
    section 2.2.2, where those of flipping and numerical look swapped; see the file.

    Raises:
        InputError: the file is not TOML, lacks a manipulation, or sets something unknown.
    """
    source = path or files("contrafact.families.rfc.pipeline").joinpath("decoding.toml")
    try:
        text = Path(str(source)).read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except FileNotFoundError:
        raise InputError("no such file", file=path, hint="check the path") from None
    except OSError as error:
        raise os_problem(error, str(path), doing="cannot be read") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", file=path, hint="fix it") from None
    if set(tables) != set(MANIPULATIONS):
        odd = sorted(set(tables) ^ set(MANIPULATIONS))
        raise InputError(
            f"holds one table too many or too few: {', '.join(odd)}",
            file=path,
            hint=f"write one table for each of {', '.join(MANIPULATIONS)}",
        )
    try:
        return {name: Decoding.model_validate(tables[name]) for name in MANIPULATIONS}
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{place}: {first['msg']}", file=path, hint="fix the setting") from None


@dataclass(frozen=True)
class ModelRewriter:
    """A model that rewrites, asked again while the contract of the manipulation fails.

    Attributes:
        model: Any Inspect model.
        templates: The prompt of each manipulation (`open_templates`).
        feedback: The prompt that names the violations and asks again; without it the same
            question is asked again with another seed.
        decoding: Settings of each manipulation.
        seed: Seed of the whole rewriting; each try has its own, drawn from it.
        attempts: The most proposals for one row.
    """

    model: Model
    templates: Mapping[str, PromptTemplate]
    feedback: PromptTemplate | None
    decoding: Mapping[Manipulation, Decoding]
    seed: int = 0
    attempts: int = 3

    @staticmethod
    def open_templates(pack: PromptPack, *, feedback: bool = True) -> dict[str, PromptTemplate]:
        """Return the prompts of all manipulations, and ``feedback`` if it is given, checked."""
        templates: dict[str, PromptTemplate] = {
            name: pack.template(f"rfc/rewrite-{name}", required={"paragraph"})
            for name in MANIPULATIONS
        }
        if feedback:
            templates["feedback"] = pack.template(
                "rfc/rewrite-feedback", required={"violations", "paragraph"}
            )
        return templates

    async def rewrite(self, assignment: Assignment) -> Outcome:
        """Return what becomes of one row.

        Raises:
            Exception: a call failed for good, as Inspect raises it.
        """
        original, manipulation = assignment.item.paragraph, assignment.manipulation
        question = self.templates[manipulation].render(paragraph=delimit(original))
        messages: list[ChatMessage] = [ChatMessageUser(content=question)]
        tried: list[tuple[Mapping[str, Any], ...]] = []
        for attempt in range(1, self.attempts + 1):
            reply, problem = await self._ask(messages, assignment, attempt)
            if problem is not None:
                return Outcome(attempts=attempt, reason=problem)
            proposal = Proposal(reply, between(original, reply))
            violations = await asyncio.to_thread(decided, manipulation, original, proposal)
            if not violations:
                return Outcome(reply, proposal.edits, attempt)
            tried.append(violations)
            if self.feedback is not None:
                again = self.feedback.render(
                    paragraph=delimit(original),
                    violations=[delimit(str(violation["message"])) for violation in violations],
                )
                # Every round stays in sight: what an earlier proposal broke is not broken again.
                messages = [
                    *messages,
                    ChatMessageAssistant(content=reply or "(nothing)"),
                    ChatMessageUser(content=again),
                ]
        return refused(tried, self.attempts)

    async def _ask(
        self, messages: list[ChatMessage], assignment: Assignment, attempt: int
    ) -> tuple[str, str | None]:
        """Return the reply as one text, and why asking again is useless, if it is."""
        seed = seed_of(self.seed, assignment.item.id, assignment.manipulation, attempt)
        limit = {"max_tokens": longest_reply(assignment)}
        decoding = limit | self.decoding[assignment.manipulation].model_dump(exclude_none=True)
        config = GenerateConfig(**decoding, seed=seed % 2**31)
        output = await self.model.generate(messages, config=config)
        if output.stop_reason == "model_length":
            return "", "the prompt is too long for the model"
        if output.stop_reason == "content_filter":
            return "", "refused by the provider's content filter"
        return _bare(output.completion), None


def longest_reply(assignment: Assignment) -> int:
    """Return how many tokens a reply may have: what is longer cannot keep to the length band.

    A decoding file's ``max_tokens`` takes its place, for models that think before they write.
    """
    most = LENGTH_BANDS[assignment.manipulation][1] * token_count(assignment.item.paragraph)
    return ceil(TOKENIZERS * most) + DELIMITERS


def _bare(reply: str) -> str:
    """Return a reply without the delimiters that the prompt showed, as one line of text."""
    text = replace_surrogates(reply).strip()
    text = text.removeprefix("<news>").removesuffix("</news>").strip()
    # A blank line or a list marker is for the contract to judge; a wrapped line is no fault.
    lines = [line.strip() for line in text.splitlines()]
    marked = any(line.startswith(("-", "*", "#", "•")) for line in lines)
    return text if marked or "" in lines else " ".join(lines)
