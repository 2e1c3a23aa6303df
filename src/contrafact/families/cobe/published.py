"""The published figures of CoBe: tables 2 to 5 and appendix C.3.

They are data (``published/``), typed in from the paper as printed; shares are from 0 to 1. Figures
5 to 9 are drawings without numbers and have no place here. Where printed figures do not follow from
each other, ``notes.json`` says so; a test recomputes what follows.
"""

import json
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from contrafact.family.display import PublishedNote

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["published_facts", "published_notes", "published_rows"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedStudy(_Record):
    items: int = Field(description="Responses rated.")
    raters: int = Field(description="People who rated each.")
    accuracy: float = Field(description="Judge against the majority.")
    precision: float = Field(description="Of what the judge passes, the majority passes.")
    recall: float = Field(description="Of what the majority passes, the judge passes.")
    f1: float = Field(description="Their harmonic mean.")
    judge_kappa: float = Field(description="Cohen's kappa, judge and majority.")
    fleiss_kappa: float = Field(description="Among the raters.")
    unanimous: float = Field(description="Share of items on which all raters agree.")
    judge_with_raters: tuple[float, float, float] = Field(description="Cohen's kappa with each.")
    raters_12_13_23: tuple[float, float, float] = Field(description="Cohen's kappa of each two.")
    confusion: dict[str, int] = Field(description="Counts, judge against majority.")


class PublishedFacts(_Record):
    statistics: dict[str, float] = Field(description="Table 2.")
    domains: dict[str, float] = Field(description="Table 3: shares of stories.")
    graphs: dict[str, float] = Field(description="Table 4: shares of stories.")
    frontier_accuracy: float = Field(description="Mean of the three frontier models (abstract).")
    judge: str = Field(description="The judge of table 5.")
    study: PublishedStudy = Field(description="Appendix C.3.")


def published_rows() -> "pd.DataFrame":
    """Return table 5: ``model``, ``accuracy`` over the three phrasings, ``spread`` (its ±)."""
    import pandas as pd

    return pd.read_csv(StringIO(_text("performance.csv")))


def published_facts() -> PublishedFacts:
    """Return tables 2 to 4 and appendix C.3."""
    return PublishedFacts.model_validate_json(_text("facts.json"))


def published_notes() -> list[PublishedNote]:
    """Return what there is to say of printed figures."""
    return [PublishedNote.model_validate(one) for one in json.loads(_text("notes.json"))]


def _text(name: str) -> str:
    return (files("contrafact.families.cobe") / "published" / name).read_text(encoding="utf-8")
