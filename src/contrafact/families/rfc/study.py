"""The studies with people: agreement on rewrites (table 3) and human baselines (table 7).

RFC-BENCH, sections 2.2.3 and 3.3, appendix F. The same number of items is drawn from each
manipulation; figures are of that sample, and the percentage in all is also weighted back.

- ``agreement``: is the manipulation the right one, and does the rewrite keep its rules?
- ``detect``: is the paragraph unmanipulated? Every item is one member of a pair, of each
  manipulation half are unmanipulated, and no two items come from one pair.
- ``diagnose``: which manipulation?
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.families.rfc.labels import FALSE, MANIPULATION_SPELLINGS, TRUE
from contrafact.family.study import AnsweredStudy, Question, StudyItem, StudySpec, StudyTable
from contrafact.records import MANIPULATIONS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DETECT", "DIAGNOSE"]

OVERALL = "overall"
_GOLD = "gold"

_PRINTED = {"category_correct": ("true", "mis"), "rewrite_valid": ("pass", "fail")}
"""What figures 9 and 10 call the answers."""

_FIGURES = ("percent", "macro_f1", "kappa", "ac1")


def _pairs(path: Path) -> "pd.DataFrame":
    import pandas as pd

    from contrafact.families.rfc.data import load_pairs

    pairs = load_pairs(path)
    if not pairs:
        raise InputError("there are no pairs to draw from", file=path)
    if any(not pair.original for pair in pairs):
        raise InputError(
            "some pairs have no original to show",
            hint="give them back with `contrafact rfc hydrate`",
        )
    columns = {
        "pair_id": [pair.id for pair in pairs],
        "article_id": [pair.article_id for pair in pairs],
        "category": pd.Categorical([pair.manipulation for pair in pairs], MANIPULATIONS),
        "original": [pair.original for pair in pairs],
        "rewritten": [pair.rewritten for pair in pairs],
    }
    return pd.DataFrame(columns).assign(gold="")


def _members(drawn: "pd.DataFrame") -> "pd.DataFrame":
    original = drawn["place"] % 2 == 0
    return drawn.assign(
        paragraph=drawn["original"].where(original, drawn["rewritten"]),
        gold=original.map({True: TRUE, False: FALSE}),
    )


def _tables(study: AnsweredStudy, questions: Sequence[Question]) -> list[StudyTable]:
    """Return the figures per step, pair of raters and category.

    A row has ``step``, two people or a person and what is right (``rater``, ``other``),
    ``category`` ("overall" for all), ``n``, and ``percent`` (of equal answers; against what is
    right the accuracy), ``macro_f1`` over the answers that occur, ``kappa`` (Cohen), ``ac1``
    (Gwet), and ``weighted``: the percentage weighted back to all by inverse probability. A figure
    is NaN where it is undefined, as kappa where both gave one and the same answer.
    """
    import pandas as pd

    rows = []
    for question in questions:
        given, verdicts = study.given(question.name), study.verdicts(question.name)
        compared = [(one, _GOLD, verdicts) for one in given if verdicts] + [
            (one, other, given[other]) for one, other in combinations(given, 2)
        ]
        for one, other, second in compared:
            for category in (*MANIPULATIONS, OVERALL):
                own = [
                    item
                    for item in study.items
                    if category in (OVERALL, item["category"])
                    and item.name in given[one]
                    and item.name in second
                ]
                if own:
                    about = {"step": question.name, "rater": one, "other": other}
                    pairs = [(given[one][item.name], second[item.name]) for item in own]
                    figures = _figures(study, own, pairs, question.answers)
                    rows.append(about | {"category": category, "n": len(own)} | figures)
    nothing = "Nobody answered an item that somebody else answered: nothing to compare."
    title = "{step}: {rater} and {other}"
    shares, frame = ("percent", "weighted"), pd.DataFrame(rows)
    return [StudyTable("figures", title, frame, shares, _FIGURES[1:], nothing, _FIGURES)]


def _agreement_tables(study: AnsweredStudy) -> list[StudyTable]:
    """Return the figures of agreement, and who answered what to the same items (figures 9 and 10).

    ``confusion`` has one row per step, two people, category ("overall" for all) and answer of the
    first; its other columns count the answers of the second to these items.
    """
    import numpy as np
    import pandas as pd

    from contrafact.family.display import MatrixChart

    rows: list[dict[str, Any]] = []
    charts = []
    for question in AGREEMENT.questions:
        panels = []
        for one, other in combinations(given := study.given(question.name), 2):
            for category in (*MANIPULATIONS, OVERALL):
                both = [
                    (given[one][item.name], given[other][item.name])
                    for item in study.items
                    if category in (OVERALL, item["category"])
                    and item.name in given[one].keys() & given[other].keys()
                ]
                about = {"step": question.name, "rater": one, "other": other, "category": category}
                counts = [[both.count((a, b)) for b in question.answers] for a in question.answers]
                if not both:
                    continue
                panels.append((f"{one} / {other}: {category}", _PRINTED[question.name], counts))
                for answer, line in zip(question.answers, counts, strict=True):
                    counted = dict(zip(question.answers, line, strict=True))
                    rows.append(about | {"rater_says": answer} | counted)
        if panels:
            charts.append(
                MatrixChart(
                    question.name,
                    f"Two people's answers: {question.name.replace('_', ' ')}",
                    "The first by line, the second by column.",
                    [(name, names, np.array(counts, float)) for name, names, counts in panels],
                    _PRINTED[question.name],
                )
            )
    figures = _tables(study, AGREEMENT.questions)
    title = "{step}: answers of {rater} (lines) and of {other} (columns)"
    return [*figures, StudyTable("confusion", title, pd.DataFrame(rows), charts=tuple(charts))]


def _figures(
    study: AnsweredStudy,
    items: Sequence[StudyItem],
    pairs: Sequence[tuple[str, str]],
    answers: Sequence[str],
) -> dict[str, float]:
    from contrafact.stats.agreement import cohen_kappa, gwet_ac1, percent_agreement
    from contrafact.stats.classification import classification

    percent, kappa, ac1 = (
        study.coefficient(function, items, pairs)
        for function in (percent_agreement, cohen_kappa, partial(gwet_ac1, categories=answers))
    )
    matched = classification(
        [right for _, right in pairs],
        [left for left, _ in pairs],
        answers,
        [item.cluster for item in items],
        level=study.level,
        resamples=study.resamples,
        rng=study.rng,
    )
    weighted = study.weighted_mean(items, [left == right for left, right in pairs])
    return (
        percent.columns("percent")
        | matched.figures["f1", "valid"].columns("macro_f1")
        | kappa.columns("kappa")
        | ac1.columns("ac1")
        | weighted.columns("weighted")
    )


def _published(kind: str) -> Sequence[StudyTable | str]:
    from contrafact.family.published import published_table

    paper = "contrafact.families.rfc"
    if kind == "agreement":
        title = "Published: two annotators on other rewrites (RFC-BENCH, table 3)"
        frame = published_table(paper, "agreement")
        coefficients = ("macro_f1", "cohen_kappa", "gwet_ac1")
        return [StudyTable("", title, frame, ("accuracy",), coefficients)]
    title = "Published: accuracy of other people on other items (RFC-BENCH, table 7)"
    human = published_table(paper, "human")
    own = human[human["task"].eq(f"rfc-{kind}")]
    return [StudyTable("", title, own, ("overall", *MANIPULATIONS))]


def _of_pairs(
    kind: str,
    summary: str,
    shown: Sequence[str],
    questions: tuple[Question, ...],
    pool: "Callable[[pd.DataFrame], pd.DataFrame]" = lambda pairs: pairs,
    assign: "Callable[[pd.DataFrame], pd.DataFrame] | None" = None,
    tables: Callable[[AnsweredStudy], Sequence[StudyTable]] | None = None,
) -> StudySpec:
    return StudySpec(
        summary=summary,
        noun="items",
        load=_pairs,
        source="Pairs with their originals.",
        shown={column: "category" if column.startswith("claimed") else column for column in shown},
        questions=questions,
        guidelines=Path(__file__).with_name(f"study_{kind}.txt"),
        key=_KEY,
        pool=pool,
        strata=("category",),
        each=True,
        n=20,
        assign=assign,
        cluster="article_id",
        allowed={"category": MANIPULATIONS},
        reference=_GOLD,
        tables=tables or partial(_tables, questions=questions),
        published=partial(_published, kind),
    )


_KEY = ("item", "kind", "pair_id", "article_id", "category", "gold", "probability", "check")

AGREEMENT = _of_pairs(
    "agreement",
    "whether rewrites are good",
    ("claimed_manipulation", "original", "rewritten"),
    (Question("category_correct"), Question("rewrite_valid")),
    tables=_agreement_tables,
)
DETECT = _of_pairs(
    "detect",
    "whether a paragraph is manipulated",
    ("paragraph",),
    (Question("label", verdict="gold"),),
    assign=_members,
)
DIAGNOSE = _of_pairs(
    "diagnose",
    "how it is manipulated",
    ("original", "rewritten"),
    (
        Question(
            "manipulation", MANIPULATIONS, MANIPULATION_SPELLINGS, passes=False, verdict="gold"
        ),
    ),
    pool=lambda pairs: pairs.assign(gold=pairs["category"].astype(str)),
)
