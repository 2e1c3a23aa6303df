"""The studies with people: agreement on rewrites (table 3) and human baselines (table 7).

RFC-BENCH, sections 2.2.3 and 3.3, appendix F. The same number of items is drawn from each
manipulation; figures are of that sample, and the percentage is also weighted back to all.

- ``agreement``: is the manipulation the right one, and does the rewrite keep its rules? (Figures 9
  and 10 count who answered what: table ``confusion``.)
- ``detect``: is the paragraph unmanipulated? Every item is one member of a pair; half of each
  manipulation's items are unmanipulated, and no two items come from one pair.
- ``diagnose``: which manipulation?
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from contrafact.families.rfc.data import load_pairs
from contrafact.families.rfc.labels import FALSE, MANIPULATION_SPELLINGS, TRUE
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.family.published import published_table
from contrafact.family.study import Question, StudySpec, StudyTable

if TYPE_CHECKING:
    import pandas as pd


def _pairs(path: Path) -> "pd.DataFrame":
    import pandas as pd

    pairs = load_pairs(path, originals=True)
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


def _published(kind: str) -> Sequence[StudyTable | str]:
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
        by={"category": MANIPULATIONS},
        reference="gold",
        published=partial(_published, kind),
    )


_KEY = ("item", "kind", "pair_id", "article_id", "category", "gold", "probability", "check")

AGREEMENT = _of_pairs(
    "agreement",
    "whether rewrites are good",
    ("claimed_manipulation", "original", "rewritten"),
    (Question("category_correct"), Question("rewrite_valid")),
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
