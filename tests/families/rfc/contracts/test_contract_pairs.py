"""The contracts on pairs of our own writing: the sound pass, the faulty break the rule named."""

import tomllib
from pathlib import Path
from runpy import run_path

import pytest

from contrafact.families.rfc.contracts import CONTRACTS, check_pair
from contrafact.families.rfc.records import MANIPULATIONS

HERE = Path(__file__).parent
thresholds = run_path(str(HERE.parents[3] / "tools" / "contract_tables.py"))["thresholds"]


def cases():
    for manipulation in MANIPULATIONS:
        text = (HERE / f"pairs_{manipulation}.toml").read_text(encoding="utf-8")
        for a, article in enumerate(tomllib.loads(text)["article"]):
            for r, (breaks, rewritten) in enumerate(article["rewrites"]):
                name = f"{manipulation}-{a}-{r}-{breaks or 'sound'}"
                title = article.get("title", "")
                yield pytest.param(
                    manipulation, article["original"], rewritten, breaks, title, id=name
                )


@pytest.mark.parametrize(
    ("manipulation", "original", "rewritten", "breaks", "title"), list(cases())
)
def test_sound_pairs_pass_and_faulty_ones_break_their_rule(
    manipulation, original, rewritten, breaks, title
):
    check = check_pair(manipulation, original, rewritten, title=title)
    rules = {violation.rule for violation in check.violations}
    if breaks:
        assert breaks in rules
    else:
        assert not check.violations
    by_facts = manipulation == "numerical" and not any(one.unchecked for one in check.review)
    undecided = True if by_facts else None
    assert check.passed is (False if rules else undecided)


def test_spans_lie_in_their_texts():
    for case in cases():
        manipulation, original, rewritten, *_ = case.values
        check = check_pair(manipulation, original, rewritten)
        for finding in (*check.violations, *check.review):
            for span, text in (
                (finding.original_span, original),
                (finding.rewritten_span, rewritten),
            ):
                assert span is None or 0 <= span[0] < span[1] <= len(text)


def test_every_rule_explains_itself():
    for rules in CONTRACTS.values():
        for rule in rules:
            assert rule.statement.endswith("."), rule.path
            assert rule.paper, rule.path
            assert all(origin for _, _, origin in thresholds(rule)), rule.path


def test_an_unknown_manipulation_is_refused():
    with pytest.raises(ValueError, match="no manipulation 'tilted'"):
        check_pair("tilted", "Shares rose.", "Shares fell.")
