"""The human-model agreement study: what is drawn and asked, and its tables (FIN-FORCE, A.7).

The paper drew 500 counterfactuals at random from all its experiments. Here each system and side is
a stratum, so that every one is seen; the probability with which an item was drawn is kept, and the
figures are weighted back by it. Judge and annotators, then annotators among themselves, by
criterion:

- ``agreement``: the judge against each annotator, and on average over them: ``agreement``
  (weighted back to all counterfactuals by inverse inclusion probability, Hajek), ``unweighted``,
  ``kappa`` and ``ac1`` (weighted). The average of coefficients has no interval;
- ``majority``: the judge as a test of what most annotators say: ``sensitivity`` (of what they pass,
  the share that it passes) and ``specificity``, weighted, with the counts of items behind them and
  of those on which annotators were split;
- ``between``: every two annotators: ``agreement``, ``kappa`` and ``ac1``, weighted;
- ``marks``: the share of items marked with each optional error class, per annotator, weighted.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.family.study import (
    Answer,
    AnsweredStudy,
    Question,
    StudyItem,
    StudySpec,
    StudyTable,
)
from contrafact.records import CRITERIA

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from contrafact.stats.intervals import Interval

__all__ = ["STUDY"]

AVERAGE = "average"
"""What stands for the annotator in rows that average over them."""

_MARKS = ("trivial_consequences", "financially_unrealistic")
"""Figure 4's error classes that need a person's judgement; a blank is no answer."""
_ANSWERS = ("TRUE", "FALSE")


def _pool(items: "pd.DataFrame") -> "pd.DataFrame":
    judged = items[list(CRITERIA)].notna().any(axis=1)
    return items[items["text"].notna() & items["invalid_reason"].isna() & judged]


def _choose(stratum: "pd.DataFrame", size: int, rng: "np.random.Generator") -> Sequence[int]:
    return [int(place) for place in rng.choice(len(stratum), size=size, replace=False)]


def _tables(study: AnsweredStudy) -> list[StudyTable]:
    import pandas as pd

    items = {item.name: item for item in study.items}
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("agreement", "majority", "between", "marks")
    }
    for judge in dict.fromkeys(item["judge"] for item in study.items):
        for criterion in CRITERIA:
            own = [
                answer
                for answer in study.answers
                if answer.question == criterion and items[answer.item]["judge"] == judge
            ]
            if own:
                known = [one for one in own if criterion in items[one.item].verdicts]
                about = {"judge": judge, "criterion": criterion}
                rows["agreement"] += [about | row for row in _agreement(study, items, known)]
                rows["majority"].append(about | _majority(study, items, known))
    for criterion in CRITERIA:
        rows["between"] += [{"criterion": criterion} | row for row in _between(study, criterion)]
    for mark in _MARKS:
        for person, given in study.given(mark).items():
            of = [items[name] for name in given]
            share = study.weighted_mean(of, [answer == "TRUE" for answer in given.values()])
            row: dict[str, Any] = {"error_class": mark, "annotator": person, "n": len(of)}
            rows["marks"].append(row | share.columns("share"))
    titles = {
        "agreement": "Judge and annotators (95% intervals)",
        "majority": "Judge against the annotators' majority",
        "between": "Annotators among themselves",
        "marks": "Error classes that annotators marked",
    }
    shares = ("agreement", "unweighted", "sensitivity", "specificity", "share")
    return [
        StudyTable(name, titles[name], pd.DataFrame(own), shares, ("kappa", "ac1"))
        for name, own in rows.items()
    ]


def _agreement(
    study: AnsweredStudy, items: dict[str, StudyItem], answers: Sequence[Answer]
) -> list[dict[str, Any]]:
    """Return the judge against each annotator, then on average over them."""
    rows: list[dict[str, Any]] = []
    coefficients = []
    agrees: dict[str, list[bool]] = {}
    for person in study.people:
        own = [answer for answer in answers if answer.person == person]
        if not own:
            continue
        of = [items[answer.item] for answer in own]
        pairs = [(item.verdicts[a.question], a.answer) for item, a in zip(of, own, strict=True)]
        kappa, ac1 = _chance_corrected(study, of, pairs)
        coefficients.append((kappa.estimate, ac1.estimate))
        equal = [one == other for one, other in pairs]
        rows.append(
            {"annotator": person, "n": len(own)}
            | study.weighted_mean(of, equal).columns("agreement")
            | study.mean(of, equal).columns("unweighted")
            | kappa.columns("kappa")
            | ac1.columns("ac1")
        )
    for answer in answers:
        right = items[answer.item].verdicts[answer.question] == answer.answer
        agrees.setdefault(answer.item, []).append(right)
    if rows:
        means = [sum(own) / len(own) for own in agrees.values()]
        of = [items[name] for name in agrees]
        kappas, ac1s = zip(*coefficients, strict=True)
        rows.append(
            {"annotator": AVERAGE, "n": len(means)}
            | study.weighted_mean(of, means).columns("agreement")
            | study.mean(of, means).columns("unweighted")
            | {"kappa": sum(kappas) / len(kappas), "ac1": sum(ac1s) / len(ac1s)}
        )
    return rows


def _majority(
    study: AnsweredStudy, items: dict[str, StudyItem], answers: Sequence[Answer]
) -> dict[str, Any]:
    """Return the judge's sensitivity and specificity for what most annotators say."""
    from contrafact.stats.votes import majority

    votes: dict[str, list[str]] = {}
    verdicts: dict[str, str] = {}
    for answer in answers:
        votes.setdefault(answer.item, []).append(answer.answer)
        verdicts[answer.item] = items[answer.item].verdicts[answer.question]
    most = {name: majority(own) for name, own in votes.items()}
    passed, failed = ([name for name in most if most[name] == one] for one in _ANSWERS)
    sensitivity, specificity = (
        study.weighted_mean([items[name] for name in own], [verdicts[name] == one for name in own])
        for own, one in zip((passed, failed), _ANSWERS, strict=True)
    )
    return (
        sensitivity.columns("sensitivity")
        | {"passed": len(passed)}
        | specificity.columns("specificity")
        | {"failed": len(failed), "split": len(most) - len(passed) - len(failed)}
    )


def _between(study: AnsweredStudy, criterion: str) -> list[dict[str, Any]]:
    given = study.given(criterion)
    rows = []
    for one, other in combinations(given, 2):
        both = [i for i in study.items if i.name in given[one] and i.name in given[other]]
        if not both:
            continue
        pairs = [(given[one][item.name], given[other][item.name]) for item in both]
        kappa, ac1 = _chance_corrected(study, both, pairs)
        rows.append(
            {"annotator": one, "other": other, "n": len(both)}
            | study.weighted_mean(both, [a == b for a, b in pairs]).columns("agreement")
            | kappa.columns("kappa")
            | ac1.columns("ac1")
        )
    return rows


def _chance_corrected(
    study: AnsweredStudy, items: Sequence[StudyItem], pairs: Sequence[tuple[str, str]]
) -> "tuple[Interval, Interval]":
    """Return Cohen's kappa and Gwet's AC1 of two raters, weighted back."""
    from contrafact.stats.agreement import cohen_kappa, gwet_ac1

    kappa, ac1 = (
        study.coefficient(function, items, pairs, weighted=True)
        for function in (cohen_kappa, partial(gwet_ac1, categories=list(_ANSWERS)))
    )
    return kappa, ac1


def _published() -> list[StudyTable | str]:
    from contrafact.family.published import published_facts

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
    choose=_choose,
    order_first=True,
    labels=("judge", "system", "draw", "sample_id", "side"),
    tables=_tables,
    published=_published,
)
