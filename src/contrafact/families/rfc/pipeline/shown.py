"""A sentence that the demo rewrites by rule and checks."""

from collections.abc import Iterator

from contrafact.families.rfc.contracts import check_pair
from contrafact.families.rfc.pipeline.rewrite import assignment_of, rewrite_by_rules
from contrafact.family import Shown, ShownText

SENTENCE = (
    "Quill Bank reported a net profit of $96 million for the quarter, above the $90 million that "
    "analysts expected. Costs were down 3%."
)


def rewriting_example() -> Iterator[Shown]:
    """Yield a sentence, its numerical rewrite, and one with two figures exchanged, each checked."""
    assignment = assignment_of({"title": SENTENCE, "manipulation": "numerical"}, 0)
    made = rewrite_by_rules(assignment, seed=7, attempts=16)
    rewritten = made.rewritten or ""
    first, second = (edit.after for edit in made.edits[:2])
    spoiled = rewritten.replace(first, "\0").replace(second, first).replace("\0", second)
    yield ShownText("sentence", SENTENCE)
    for label, text in (("rewritten", rewritten), ("two figures exchanged", spoiled)):
        yield ShownText(label, SENTENCE, text, note=_checked(text))
    yield (
        "Rules wrote and checked it: every figure has to change, and the figures have to agree. "
        "For a text of yours: `cf.rewrite([text], seed=7)` in Python, or `contrafact rfc rewrite`."
    )


def _checked(text: str) -> str:
    check = check_pair("numerical", SENTENCE, text, title=SENTENCE)
    findings = (*check.violations, *check.review)
    verdict = {True: "passes", False: "fails", None: "undecided"}[check.passed]
    return ": ".join([verdict, *(finding.message for finding in findings[:1])])
