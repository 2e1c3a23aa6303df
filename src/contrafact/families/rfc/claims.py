"""Claims that people have labelled: true, false or, in some data, not enough information.

Fact-checking data are so (Fin-Fact; the COLING 2025 challenge on financial misinformation, whose
fields are ``ID``, ``claim``, ``label`` and others): a label for each row, and neither a pair nor a
manipulation. Every claim is a cluster of its own.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from contrafact.corpus.news_items import day_of
from contrafact.errors import InputError
from contrafact.families.rfc.labels import FALSE, NEI, TRUE
from contrafact.files.fields import column_of, columns_found, fold_row, value_of
from contrafact.records import content_id
from contrafact.text.delimit import replace_surrogates

__all__ = ["CLAIM_FIELDS", "Claim", "claim_label", "is_claim", "read_claim"]

CLAIM_FIELDS = ("claim", "label")
"""What a claim is read from, besides the fields that pairs have too."""

LABEL_SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys((TRUE, "t", "supported", "supports"), TRUE),
    **dict.fromkeys((FALSE, "f", "refuted", "refutes"), FALSE),
    **dict.fromkeys(
        (NEI, "nei", "not enough info", "not enough evidence", "insufficient information"), NEI
    ),
}
"""What files write for the labels, in lower case."""


class Claim(BaseModel):
    """A claim with its label; it stands where pairs stand, and has neither member nor kind."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="The file's, or a content hash.")
    rewritten: str = Field(description="The claim.")
    label: str = Field(description="true, false or not enough information.")
    category: str | None = Field(default=None, description="Its category, where known.")
    ticker: str | None = Field(default=None, description="The stock that it is about.")
    date: str | None = Field(default=None, description="When it was made, YYYY-MM-DD.")
    manipulation: ClassVar[None] = None
    original: ClassVar[str] = ""

    @property
    def article_id(self) -> str:
        """The cluster, which is the claim."""
        return self.id


def is_claim(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a claim with its label, by its columns."""
    columns = fold_row(row)
    has = {name: column_of(columns, name) is not None for name in (*CLAIM_FIELDS, "manipulation")}
    return has["claim"] and has["label"] and not has["manipulation"]


def claim_label(value: object) -> str | None:
    """Return the label that a file's field names, or None if it names none."""
    plain = " ".join(str(value).replace("_", " ").replace("-", " ").split()).casefold()
    return LABEL_SPELLINGS.get(plain.rstrip("."))


def read_claim(row: Mapping[str, Any]) -> tuple[Claim, str]:
    """Return the claim that a row holds, and its label as it was found."""
    columns = fold_row(row)
    text, found = value_of(columns, "claim"), value_of(columns, "label")
    if not isinstance(text, str):
        problem = "the claim is missing" if text is None else f"no text: {str(text)[:40]!r}"
        raise InputError(
            f"{problem} (found: {columns_found(row)})", hint="fill it in, or leave the row out"
        )
    label = None if found is None else claim_label(found)
    if label is None:
        problem = "the label is missing" if found is None else f"'{str(found)[:40]}' is no label"
        raise InputError(problem, hint=f"write {TRUE}, {FALSE} or {NEI} (NEI)")
    more = {name: value_of(columns, name) for name in ("category", "ticker")}
    date = value_of(columns, "date")
    own = value_of(columns, "id")
    return (
        Claim(
            id=content_id(text, label, prefix="c") if own is None else replace_surrogates(str(own)),
            rewritten=replace_surrogates(text),
            label=label,
            date=None if date is None else day_of(str(date)),
            **{name: None if one is None else str(one) for name, one in more.items()},
        ),
        str(found),
    )
