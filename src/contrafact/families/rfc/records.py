"""The records of RFC-BENCH: four manipulations, and a paragraph with its manipulated version."""

from typing import Literal, Self

from pydantic import Field

from contrafact.records import Record, content_id

__all__ = ["MANIPULATIONS", "Edit", "Manipulation", "Rewrite"]

Manipulation = Literal["numerical", "flipping", "sentiment", "causal"]
MANIPULATIONS: tuple[Manipulation, ...] = ("numerical", "flipping", "sentiment", "causal")


class Edit(Record):
    """One replacement in a text: the old words and their place, the new words, and the rule."""

    start: int = Field(ge=0, description="Where the replaced words begin in the original.")
    end: int = Field(ge=0, description="Where they end.")
    before: str = Field(description="The replaced words: original[start:end].")
    after: str = Field(description="The new words.")
    why: str = Field(description="The rule that made the edit.")


class Rewrite(Record):
    """A paragraph and its manipulated version."""

    id: str = Field(description="Content hash of both texts and the manipulation.")
    article_id: str = Field(description="The article it comes from; everything clusters by it.")
    manipulation: Manipulation = Field(description="What was done to the original.")
    original: str = Field(description="The paragraph as it was published (label: true).")
    rewritten: str = Field(description="The manipulated paragraph (label: false).")
    rewriter: str = Field(default="", description="'rules', or 'model:' and the model's name.")
    edits: tuple[Edit, ...] = Field(default=(), description="The replacements, in order.")
    attempts: int = Field(default=1, ge=1, description="The number of tries.")
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
        """Return the pair, with a hash of its contents as its id."""
        identity = content_id(original, rewritten, manipulation, prefix="p")
        both = {"manipulation": manipulation, "original": original, "rewritten": rewritten}
        return cls.model_validate({"id": identity, **both, **fields})
