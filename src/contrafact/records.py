"""Frozen records that all families share.

Ids are content hashes, so that the same input has the same id in every run.
"""

import hashlib
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SkipValidation,
    model_validator,
)

__all__ = [
    "CALLED",
    "CAUSES",
    "CRITERIA",
    "CUT_OFF",
    "DOMAINS",
    "FILTERED",
    "GRAPHS",
    "MANIPULATIONS",
    "REASONED",
    "REFUSED",
    "SIDES",
    "TOO_LONG",
    "Criterion",
    "Edit",
    "ForwardPair",
    "Headline",
    "Manipulation",
    "NewsItem",
    "Output",
    "Rewrite",
    "Side",
    "Story",
    "Verdict",
    "content_id",
]

Side = Literal["risk", "opportunity"]
SIDES: tuple[Side, Side] = ("risk", "opportunity")
CRITERIA: tuple[str, str] = ("forward_compatibility", "directionality")

Manipulation = Literal["numerical", "flipping", "sentiment", "causal"]
MANIPULATIONS: tuple[Manipulation, ...] = ("numerical", "flipping", "sentiment", "causal")

GRAPHS: tuple[str, ...] = ("chain", "collider", "correlated", "diamond", "fork", "hybrid")
DOMAINS: tuple[str, ...] = (
    "Health and Medicine",
    "Engineering",
    "History and Geography",
    "Economics and Finance",
    "Arts and Entertainment",
    "Science and Technology",
    "Human Activities and Behavior",
)

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
"""How a reason begins of what is invalid for no fault of its form, and its cause in tables."""


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


_PLAIN = PlainSerializer(lambda one: dict(one.items()), return_type=dict[str, Any])


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
    date: str | None = Field(
        default=None, description="When it was published, as it was given: a day or a moment."
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
        date: str | None = None,
        reference: "ForwardPair | None" = None,
    ) -> Self:
        """Return the headline with the id that its text gives it."""
        return cls(
            id=content_id(text, prefix="h"),
            text=text,
            category=category,
            description=description,
            date=date,
            reference=reference,
        )


class ForwardPair(_Record):
    """What could happen next: one adverse and one favourable continuation of a headline."""

    risk: str = Field(description="The counterfactual in which market conditions get worse.")
    opportunity: str = Field(description="The counterfactual in which they get better.")

    def side(self, side: Side) -> str:
        """Return the counterfactual of one side."""
        return self.risk if side == "risk" else self.opportunity


class Output(_Record):
    """What a method made of one item: a text, or the reason why there is none."""

    text: str | None = Field(description="The text that is judged; none where it is invalid.")
    invalid: str | None = Field(default=None, description="The reason, where it is.")
    degenerate: str | None = Field(
        default=None,
        description="Why the text is no answer though it can be read, where it is none.",
    )
    reply: str | None = Field(default=None, description="The model's last reply, as it came.")
    repairs: tuple[str, ...] = Field(
        default=(), description="Names of the repairs that reading the reply took, in order."
    )
    trace: Mapping[str, Any] = Field(
        default_factory=dict, description="What the method kept of its way there (steps, graph, …)."
    )

    @model_validator(mode="after")
    def _text_or_reason(self) -> Self:
        if (self.text is None) == (self.invalid is None):
            raise ValueError("an output has a text, or is invalid with a reason")
        return self


class Criterion(_Record):
    """One question that a judge answers about one text with true or false."""

    name: str = Field(description="The field's name of the criterion, e.g. 'directionality'.")
    template: str = Field(description="The prompt template that asks it, named as in the pack.")
    text: str = Field(default="", description="The statement that it checks, where an item has it.")


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


class NewsItem(_Record):
    """A news article as a source gives it: its title and its summary, and where it is from."""

    id: str = Field(description="Content hash of title and summary.")
    title: str = Field(description="The title as it was given.")
    summary: str = Field(default="", description="The lead or summary that came with it.")
    ticker: str | None = Field(default=None, description="The stock it was found under.")
    date: str | None = Field(
        default=None,
        description="Day of publication, YYYY-MM-DD; as it was given where no day can be read.",
    )
    url: str | None = Field(default=None, description="Where the article is.")
    source: str | None = Field(default=None, description="The publisher or feed.")
    category: str | None = Field(default=None, description="Its market category, where known.")

    @classmethod
    def of(cls, title: str, summary: str = "", **fields: str | None) -> Self:
        """Return the item with the id that its title and summary give it."""
        identity = content_id(title, summary, prefix="n")
        return cls.model_validate({"id": identity, "title": title, "summary": summary, **fields})

    @property
    def paragraph(self) -> str:
        """Title and summary as one paragraph, the text that is manipulated."""
        title, summary = " ".join(self.title.split()), " ".join(self.summary.split())
        if not title or not summary:
            return title or summary
        return f"{title} {summary}" if title[-1] in ".!?:;…" else f"{title}. {summary}"


class Edit(_Record):
    """One replacement in a text: what stood where, what stands there now, and why."""

    start: int = Field(ge=0, description="Where the replaced words begin in the original.")
    end: int = Field(ge=0, description="Where they end.")
    before: str = Field(description="The replaced words: original[start:end].")
    after: str = Field(description="What stands there now.")
    why: str = Field(description="The rule that made the edit.")


class Rewrite(_Record):
    """A paragraph and its manipulated version."""

    id: str = Field(description="Content hash of both texts and the manipulation.")
    article_id: str = Field(description="The article it comes from; everything clusters by it.")
    manipulation: Manipulation = Field(description="What was done to the original.")
    original: str = Field(description="The paragraph as it was published (label: true).")
    rewritten: str = Field(description="The manipulated paragraph (label: false).")
    rewriter: str = Field(default="", description="'rules', or 'model:' and the model's name.")
    edits: tuple[Edit, ...] = Field(default=(), description="What was replaced by what, where.")
    attempts: int = Field(default=1, ge=1, description="How many tries it took.")
    ticker: str | None = Field(default=None, description="The stock the article was found under.")
    date: str | None = Field(
        default=None,
        description="Day of publication, YYYY-MM-DD; as it was given where no day can be read.",
    )
    url: str | None = Field(default=None, description="Where the article is.")
    category: str | None = Field(default=None, description="Its market category, where known.")

    @classmethod
    def of(
        cls, manipulation: Manipulation, original: str, rewritten: str, **fields: object
    ) -> Self:
        """Return the pair with the id that its contents give it."""
        identity = content_id(original, rewritten, manipulation, prefix="p")
        both = {"manipulation": manipulation, "original": original, "rewritten": rewritten}
        return cls.model_validate({"id": identity, **both, **fields})


class Story(_Record):
    """A scenario, a hypothetical change of it asked in three ways, and how edits are judged."""

    id: str = Field(description="Core set and variation, as in '307v8'.")
    core_set_id: int = Field(ge=0, description="The story that this one varies.")
    variation_id: int = Field(ge=0, description="Which variation of it this is.")
    domain: str = Field(description="What it is about, in the file's spelling.")
    text: str = Field(description="The scenario as it happened.")
    queries: tuple[str, str, str] = Field(description="The same change, asked in three phrasings.")
    answer: str = Field(default="", description="One valid edit; many are possible.")
    unchanged: str = Field(default="", description="E1: what is not downstream and stays.")
    changed: str = Field(default="", description="E2: what is downstream and changes.")
    numerical: str | None = Field(default=None, description="E4: which way quantities move.")
    latent: str | None = Field(default=None, description="E5: what is not stated and stays.")
    other_criteria: tuple[str, ...] = Field(
        default=(), description="Criteria of no known kind; kept, and not asked."
    )
    graph: str | None = Field(default=None, description="The type of its causal graph, if stated.")
    failure_modes: tuple[int, ...] = Field(
        default=(), description="The failure modes of appendix B.1, 1 to 7, that it probes."
    )
    proof: Annotated[SkipValidation[Mapping[str, Any]], _PLAIN] | None = Field(
        default=None, repr=False, description="What its criteria follow from, where that is known."
    )
