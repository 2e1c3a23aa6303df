"""The human study: responses for people to rate, and a comparison of their ratings with the judge.

CoBe, appendix C.3: 100 responses, three raters, strict majority. The paper drew at random from the
responses of one system; here every system gets its share, stories are not repeated before all have
been drawn (each in a random phrasing and draw), and figures are of the sample as drawn. Responses
with an open verdict can be drawn, too.
"""

from dataclasses import replace
from pathlib import Path

from contrafact.families.cobe.data import CRITERION_NAMES
from contrafact.family.published import published_facts
from contrafact.family.study import Question, StudySpec, StudyTable, spread_over


def _published() -> list[StudyTable | str]:
    study = published_facts("contrafact.families.cobe")["study"]
    return [
        "Published, on {items} other responses with another judge and {raters} other raters: "
        "accuracy {accuracy:.0%}, precision {precision:.1%}, recall {recall:.1%}, F1 {f1:.2f}, "
        "kappa {judge_kappa:.2f}; raters: Fleiss' kappa {fleiss_kappa:.2f}, unanimous "
        "{unanimous:.0%} (CoBe, appendix C.3).".format(**study)
    ]


STUDY = StudySpec(
    summary="whether edits of stories are valid",
    noun="responses",
    task="cobe",
    shown={"original_text": "story", "request": "query", "response": "text"},
    questions=(
        Question(
            "judgement",
            ("yes", "no", "other"),
            spellings={
                **dict.fromkeys(("y", "true", "t", "1", "1.0", "correct"), "yes"),
                **dict.fromkeys(("n", "false", "f", "0", "0.0", "wrong"), "no"),
                **dict.fromkeys(("o", "?", "unsure"), "other"),
            },
            wanted="Yes, No or Other",
            verdict="judge_verdict",
            criterion="correct",
        ),
    ),
    guidelines=Path(__file__).with_name("study_guidelines.txt"),
    key=(
        *("item", "system", "model", "method", "judge", "draw", "sample_id", "phrasing"),
        *("domain", "graph", "judge_verdict", "probability", "check"),
    ),
    pool=lambda items: items[items["text"].notna() & items["judge"].notna()],
    choose=spread_over("sample_id"),
    labels=("judge", "system", "draw", "sample_id", "phrasing"),
    published=_published,
)

CRITERIA = replace(
    STUDY,
    summary="whether edits of stories are valid, and which criteria they pass",
    shown={
        **STUDY.shown,
        **{name: name for name in ("unchanged", "changed", "numerical", "latent")},
    },
    questions=(
        *STUDY.questions,
        *(
            Question(name, verdict=f"judge_{name}", criterion=name, optional=True)
            for name in CRITERION_NAMES
        ),
    ),
    guidelines=Path(__file__).with_name("study_criteria.txt"),
    key=(
        *(name for name in STUDY.key if name not in ("probability", "check")),
        *("kind", *(f"judge_{name}" for name in CRITERION_NAMES), "probability", "check"),
    ),
    published=None,
)
"""The same with every criterion that the judge was asked, to correct its rates."""
