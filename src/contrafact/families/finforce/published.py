"""The published figures of FIN-FORCE: tables 2, 14 and 15, figure 3, and the agreement study.

They are data (``published/*.csv``, ``facts.json``), typed in from the paper as printed. Shares
are percentages and perplexities are GPT-2's, as the paper has them. ``residuals`` computes every
derived column again from the others; nothing printed fails to reproduce within its rounding.

The arithmetic between the columns (sections 3.5, 4 and B.4) has one definition each, on numbers,
columns and arrays of bootstrap replicates alike: a report's figures and this check call the same
four functions.
"""

from importlib.resources import files
from io import StringIO
from typing import Literal, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "PublishedFacts",
    "PublishedScope",
    "average",
    "change",
    "delta_perplexity",
    "overall",
    "published_changes",
    "published_facts",
    "published_rows",
    "residuals",
]

Figure = TypeVar("Figure", float, "pd.Series[float]", NDArray[np.float64])

PublishedScope = Literal["overall", "risk", "opportunity"]
_SCOPES: tuple[PublishedScope, ...] = ("overall", "risk", "opportunity")
_COLUMNS = (
    "perplexity",
    "delta_perplexity",
    "forward_compatibility",
    "directionality",
    "average",
)
_HALF_UNIT = 0.005  # everything is printed with two decimals


class PublishedFacts(BaseModel):
    """What the paper says about its own figures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paper: str = Field(description="The paper's name of itself.")
    headlines: int = Field(description="Headlines in the benchmark (section 3.3).")
    headline_perplexity: float = Field(description="Their mean perplexity (footnote 4).")
    fluency_model: str = Field(description="The model that scored fluency (footnote 4).")
    judge: str = Field(description="The model that judged (section 3.5).")
    draws: int = Field(description="Few-shot draws averaged (captions of tables 2, 14, 15).")
    study_samples: int = Field(description="Samples in the human agreement study (section 3.5).")
    study_agreement: dict[str, float] = Field(
        description="Labels on which judge and annotators agree, in percent, by criterion."
    )
    tables: dict[str, str] = Field(description="Where each set of figures is printed.")


def delta_perplexity(perplexity: Figure, headline_perplexity: Figure) -> Figure:
    """Return Δ perplexity: the mean over counterfactuals minus the mean over headlines.

    Negative is better: the counterfactuals read more fluently than the news (section 3.5).
    """
    return perplexity - headline_perplexity


def average(forward_compatibility: Figure, directionality: Figure) -> Figure:
    """Return FwdCompat-Dir Avg., the mean of the two judged scores (section 5)."""
    return (forward_compatibility + directionality) / 2


def overall(risk: Figure, opportunity: Figure) -> Figure:
    """Return the overall figure, the mean of the two sides' figures (appendix B.4)."""
    return (risk + opportunity) / 2


def change(figure: Figure, reference: Figure) -> Figure:
    """Return ``figure`` minus ``reference``, as few-shot minus zero-shot in figure 3."""
    return figure - reference


def _text(name: str) -> str:
    folder = files("contrafact.families.finforce") / "published"
    return (folder / name).read_text(encoding="utf-8")


def published_facts() -> PublishedFacts:
    """Return the paper's judge, fluency model, sizes and agreement figures."""
    return PublishedFacts.model_validate_json(_text("facts.json"))


def published_rows(scope: PublishedScope) -> pd.DataFrame:
    """Return the rows of table 2 (overall), 14 (risk) or 15 (opportunity), in printed order.

    Columns: ``system`` (as printed; FS is few-shot), ``model``, ``method`` (named as by
    ``--method``), ``perplexity``, ``delta_perplexity``, and in percent
    ``forward_compatibility``, ``directionality``, ``average``.
    """
    return pd.read_csv(StringIO(_text(f"{scope}.csv")))


def published_changes() -> pd.DataFrame:
    """Return figure 3: few-shot minus zero-shot by ``model``, with the sign written out.

    The figure prints magnitudes with a mark for better or worse; here a better perplexity is a
    negative change and a better score a positive one. Scores are percentage points.
    """
    return pd.read_csv(StringIO(_text("changes.csv")))


def residuals() -> pd.DataFrame:
    """Recompute every derived figure from the others it follows from.

    Returns:
        One row per derived figure: ``where`` (table or figure), ``row``, ``column``, ``printed``,
        ``computed``, ``residual`` (printed minus computed) and ``tolerance``, the largest
        residual that rounding to two decimals can leave.
    """
    facts = published_facts()
    tables = {scope: published_rows(scope).set_index("system") for scope in _SCOPES}
    found: list[dict[str, str | float]] = []

    def note(
        where: str, row: str, column: str, printed: float, computed: float, inputs: float
    ) -> None:
        found.append(
            {
                "where": facts.tables[where],
                "row": row,
                "column": column,
                "printed": printed,
                "computed": computed,
                "residual": printed - computed,
                "tolerance": _HALF_UNIT * (1 + inputs),
            }
        )

    for scope in _SCOPES:
        for system, line in tables[scope].iterrows():
            delta = delta_perplexity(float(line["perplexity"]), facts.headline_perplexity)
            note(scope, str(system), "delta_perplexity", float(line["delta_perplexity"]), delta, 2)
            mean = average(float(line["forward_compatibility"]), float(line["directionality"]))
            note(scope, str(system), "average", float(line["average"]), mean, 1)
    for column in _COLUMNS:
        sides = overall(tables["risk"][column], tables["opportunity"][column])
        for system, both in sides.items():
            printed = float(tables["overall"][column].loc[str(system)])
            note("overall", str(system), column, printed, float(both), 1)
    by_method = published_rows("overall").set_index(["model", "method"])
    for _, line in published_changes().iterrows():
        few, zero = (by_method.loc[(line["model"], m)] for m in ("few-shot", "zero-shot"))
        for column in ("perplexity", "forward_compatibility", "directionality"):
            moved = change(float(few[column]), float(zero[column]))
            note("changes", str(line["model"]), column, float(line[column]), moved, 2)
    return pd.DataFrame(found)
