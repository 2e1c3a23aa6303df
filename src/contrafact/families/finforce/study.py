"""The human-model agreement study: its sample and its questions (FIN-FORCE, A.7).

The paper drew 500 counterfactuals at random from all its experiments. Here each system and side is
a stratum, so that all are represented; each item's probability of being drawn is kept, and the
share of equal answers is weighted by it.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from contrafact.families.finforce.records import CRITERIA
from contrafact.family.published import published_facts
from contrafact.family.study import Question, StudySpec, StudyTable

if TYPE_CHECKING:
    import pandas as pd

_MARKS = ("trivial_consequences", "financially_unrealistic")
"""Figure 4's error classes that need a person's judgement; a blank counts as no answer."""
_ANSWERS = ("TRUE", "FALSE")


def _pool(items: "pd.DataFrame") -> "pd.DataFrame":
    judged = items[list(CRITERIA)].notna().any(axis=1)
    return items[items["text"].notna() & items["invalid_reason"].isna() & judged]


def _published() -> list[StudyTable | str]:
    facts = published_facts("contrafact.families.finforce")
    n, agreement = facts["study_samples"], facts["study_agreement"]
    figures = ", ".join(f"{name} {value:.1f}%" for name, value in agreement.items())
    return [
        f"Published, on {n:,} other counterfactuals with another judge and other "
        f"annotators: {figures} (FIN-FORCE, section 3.5)."
    ]


STUDY = StudySpec(
    summary="whether counterfactuals are plausible and directional",
    noun="counterfactuals",
    task="finforce",
    shown={"headline": "headline", "side": "side", "counterfactual": "text"},
    questions=(
        *(Question(c, _ANSWERS, verdict=f"judge_{c}", criterion=c) for c in CRITERIA),
        *(Question(name, _ANSWERS, optional=True) for name in _MARKS),
    ),
    guidelines=Path(__file__).with_name("study_guidelines.txt"),
    key=(
        *("item", "system", "model", "method", "judge", "draw", "sample_id", "side"),
        *(f"judge_{criterion}" for criterion in CRITERIA),
        *("probability", "check"),
    ),
    pool=_pool,
    strata=("system", "judge", "side"),
    n=500,
    choose=lambda stratum, size, rng: rng.choice(len(stratum), size, replace=False).tolist(),
    labels=("judge", "system", "draw", "sample_id", "side"),
    published=_published,
)
