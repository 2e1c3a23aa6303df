"""Frozen records that all families share.

Ids are content hashes, so that the same input has the same id in every run.
"""

import hashlib
import unicodedata
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "CALLED",
    "CAUSES",
    "CUT_OFF",
    "FILTERED",
    "REASONED",
    "REFUSED",
    "TOO_LONG",
    "Criterion",
    "NewsItem",
    "Output",
    "Record",
    "Verdict",
    "content_id",
]

CUT_OFF = "cut off at the token limit"
FILTERED = "refused by the provider's content filter"
REFUSED = "refused by the model"
TOO_LONG = "prompt too long"
REASONED = "answered in its reasoning alone"
CALLED = "called a tool in place of an answer"
CAUSES = {
    CUT_OFF: "cut off",
    REFUSED: "refused",
    FILTERED: "filtered",
    TOO_LONG: "too long",
    REASONED: "reasoning only",
    CALLED: "tool call",
}
"""Beginnings of reasons for outputs without a proper reply, with their causes for tables."""


def content_id(*parts: str, prefix: str = "") -> str:
    """Return a stable id of the given texts: ``prefix`` and 12 hex digits of a SHA-256.

    Texts are normalised to Unicode NFC and stripped, so that the same text read from two
    file formats has one id. Lone surrogates hash as themselves.
    """
    digest = hashlib.sha256()
    for part in parts:
        text = unicodedata.normalize("NFC", part).strip()
        digest.update(text.encode("utf-8", "surrogatepass"))
        digest.update(b"\x1f")
    return prefix + digest.hexdigest()[:12]


class Record(BaseModel):
    """The base of all records: frozen, without extra fields, with texts unchanged."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)


class Output(Record):
    """A method's output for one item: a text, or the reason why there is none."""

    text: str | None = Field(description="The text to judge; None if the output is invalid.")
    invalid: str | None = Field(default=None, description="The reason why it is invalid.")
    degenerate: str | None = Field(
        default=None, description="Why a readable text is not an answer, if it is not."
    )
    reply: str | None = Field(default=None, description="The model's last reply, as it came.")
    repairs: tuple[str, ...] = Field(
        default=(), description="Names of the repairs that reading the reply took, in order."
    )
    trace: Mapping[str, Any] = Field(
        default_factory=dict, description="The method's intermediate results (steps, graph, …)."
    )

    @model_validator(mode="after")
    def _text_or_reason(self) -> Self:
        if (self.text is None) == (self.invalid is None):
            raise ValueError("an output has a text, or is invalid with a reason")
        return self


class Criterion(Record):
    """One question that a judge answers about one text with true or false."""

    name: str = Field(description="The field's name of the criterion, e.g. 'directionality'.")
    template: str = Field(description="The prompt template that asks it, named as in the pack.")
    text: str = Field(default="", description="The statement that it checks, if the item gives it.")


class Verdict(Record):
    """A judge's answer to one criterion about one text."""

    criterion: str = Field(description="The name of the criterion that was judged.")
    passed: bool | None = Field(description="The answer; None if the reply was invalid.")
    invalid: str | None = Field(default=None, description="Why the reply could not be read, if so.")
    judge: str = Field(description="The model that judged, or 'panel' for a majority.")
    reply: str = Field(default="", description="The judge's reply, as it came.")
    read: str | None = Field(
        default=None, description="Who read the text for a verifier: its grammar, or a reader."
    )

    @model_validator(mode="after")
    def _passed_or_invalid(self) -> Self:
        if (self.passed is None) == (self.invalid is None):
            raise ValueError("a verdict is either passed or failed, or invalid with a reason")
        return self


class NewsItem(Record):
    """A news article from a source: its title, its summary, and its origin."""

    id: str = Field(description="Content hash of title and summary.")
    title: str = Field(description="The title as it was given.")
    summary: str = Field(default="", description="The lead or summary that came with it.")
    ticker: str | None = Field(default=None, description="The stock, by its ticker.")
    date: str | None = Field(
        default=None,
        description="Day of publication, YYYY-MM-DD; as it was given where no day can be read.",
    )
    url: str | None = Field(default=None, description="Where the article is.")
    source: str | None = Field(default=None, description="The publisher or feed.")
    category: str | None = Field(default=None, description="Its market category, where known.")

    @classmethod
    def of(cls, title: str, summary: str = "", **fields: str | None) -> Self:
        """Return an item with the id made from its title and summary."""
        identity = content_id(title, summary, prefix="n")
        return cls.model_validate({"id": identity, "title": title, "summary": summary, **fields})

    @property
    def paragraph(self) -> str:
        """Title and summary as one paragraph, the text that is manipulated."""
        title, summary = " ".join(self.title.split()), " ".join(self.summary.split())
        if not title or not summary:
            return title or summary
        return f"{title} {summary}" if title[-1] in ".!?:;…" else f"{title}. {summary}"
