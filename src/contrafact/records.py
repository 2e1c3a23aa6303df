"""The nouns: frozen records that every floor above passes around.

Ids are content hashes, so that the same input has the same id in every run.
"""

import hashlib
import unicodedata
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "CRITERIA",
    "SIDES",
    "Criterion",
    "ForwardPair",
    "Headline",
    "Side",
    "Verdict",
    "content_id",
]

Side = Literal["risk", "opportunity"]
SIDES: tuple[Side, Side] = ("risk", "opportunity")
CRITERIA: tuple[str, str] = ("forward_compatibility", "directionality")


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


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)


class Headline(_Record):
    """A market headline, as an analyst or a dataset gives it."""

    id: str = Field(description="Content hash of the text; the same headline has one id anywhere.")
    text: str = Field(description="The headline as it was given, delimiters and all.")
    category: str | None = Field(
        default=None, description="One of the ten market categories, in the benchmark's spelling."
    )
    description: str | None = Field(
        default=None, description="The lead paragraph that came with the headline, if any."
    )
    reference: "ForwardPair | None" = Field(
        default=None, description="Counterfactuals published with the headline, if any."
    )

    @classmethod
    def of(
        cls,
        text: str,
        *,
        category: str | None = None,
        description: str | None = None,
        reference: "ForwardPair | None" = None,
    ) -> Self:
        """Return the headline with the id that its text gives it."""
        return cls(
            id=content_id(text, prefix="h"),
            text=text,
            category=category,
            description=description,
            reference=reference,
        )


class ForwardPair(_Record):
    """What could happen next: one adverse and one favourable continuation of a headline."""

    risk: str = Field(description="The counterfactual in which market conditions get worse.")
    opportunity: str = Field(description="The counterfactual in which they get better.")

    def side(self, side: Side) -> str:
        """Return the counterfactual of one side."""
        return self.risk if side == "risk" else self.opportunity


class Criterion(_Record):
    """One question that a judge answers about one text with true or false."""

    name: str = Field(description="The field's name of the criterion, e.g. 'directionality'.")
    template: str = Field(description="The prompt template that asks it, named as in the pack.")


class Verdict(_Record):
    """A judge's answer to one criterion about one text."""

    criterion: str = Field(description="The name of the criterion that was judged.")
    passed: bool | None = Field(description="The answer; none where the reply was invalid.")
    invalid: str | None = Field(
        default=None, description="Why the reply could not be read, where it could not."
    )
    judge: str = Field(description="The model that judged, or 'panel' for a majority.")
    reply: str = Field(default="", description="The judge's reply, as it came.")

    @model_validator(mode="after")
    def _passed_or_invalid(self) -> Self:
        if (self.passed is None) == (self.invalid is None):
            raise ValueError("a verdict is either passed or failed, or invalid with a reason")
        return self
