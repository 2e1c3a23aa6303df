"""What the chapter of a report shows."""

from itertools import combinations
from typing import Any

import pandas as pd

from contrafact.family.report import Breakdown, Explorer, JudgedColumn, Measure, ReportSpec
from contrafact.text.diff import normalised_edit_distance

__all__ = ["SPEC", "diversity"]


def diversity(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per system and review: how far its texts are from each other, on average."""
    found: list[dict[str, Any]] = []
    for (system, sample), own in rows.groupby(["system", "sample_id"], sort=False):
        pairs = list(combinations(own["text"].dropna(), 2))
        if pairs:
            mean = sum(normalised_edit_distance(*pair) for pair in pairs) / len(pairs)
            found.append({"system": system, "sample_id": sample, "diversity": mean})
    return pd.DataFrame(found, columns=["system", "sample_id", "diversity"])


SPEC = ReportSpec(
    title="Reviews edited until their label flips",
    unit=("review", "reviews"),
    output=("edit", "edits"),
    measures=(
        Measure("flipped", "Flipped, by the judge", judged=True, compared="flip rate (judge)",
                phrase="flip rate by the judge"),
        Measure("flipped_by_classifier", "Flipped, by a classifier", compared="flip rate",
                phrase="flip rate by the classifier"),
        Measure("fluent", "Fluent", judged=True, compared="fluency"),
        Measure("edit_distance", "Edit distance", kind="number", better="low", forms=("all",),
                compared="edit distance"),
        Measure(
            "perplexity", "Perplexity", kind="number", better="low", forms=("all",), fluency=True
        ),
        Measure("diversity", "Diversity", kind="number", forms=("all",), units=diversity),
    ),
    columns={"label": str, "review": str},
    criteria=(JudgedColumn("flipped", "Flipped"), JudgedColumn("fluent", "Fluent")),
    breakdowns=(Breakdown("label"),),
    explorer=Explorer(before="review", where=("{sample_id}", "from {label} to {wanted}")),
    how=(
        ("Flipped", "The edited review's opinion is the wanted label: said by a judge, and by a "
         "classifier that was trained on the bundled reviews alone."),
        ("Edit distance", "Share of the characters that were changed; less is a smaller edit."),
        ("Diversity", "Mean edit distance between the texts that one system gave for one review."),
    ),
)  # fmt: skip
