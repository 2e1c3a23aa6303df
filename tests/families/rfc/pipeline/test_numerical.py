"""Every figure changed in its range, and figures that belong together changed together."""

import re

import pytest

from contrafact.families.rfc.pipeline import numerical
from contrafact.families.rfc.pipeline.edits import RewriteOutcome
from contrafact.families.rfc.pipeline.numerical import rewrite_numerical
from contrafact.text.quantities import quantities


def figures(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def rewrites(text: str, seeds: int = 25) -> list[str]:
    results = [rewrite_numerical(text, seed) for seed in range(seeds)]
    assert not [r.reason for r in results if r.rewritten is None]
    return [result.rewritten for result in results]


@pytest.mark.parametrize(
    ("source", "holds"),
    [
        # half as large again at least, or less than half
        (
            "Shares of Norrick Steel rose 12% on Tuesday.",
            lambda new: 18 <= new <= 24 or new < 6,
        ),
        (
            "Norrick Steel raised its price target 10% to $110 from $100 on Tuesday.",
            lambda rate, new, old: (
                100 * (new - old) / old == pytest.approx(rate, abs=1)
                and {rate, new, old}.isdisjoint({10, 110, 100})
            ),
        ),
        (
            "EBITDA came to CHF 812 million on sales of CHF 3,944 million, a margin of 20.6%.",
            lambda part, whole, margin: (
                100 * part / whole == pytest.approx(margin, rel=0.02)
                and {part, whole, margin}.isdisjoint({812, 3944, 20.6})
            ),
        ),
        (
            "Norrick Steel sees sales growth of 10% to 14% next year.",
            lambda low, high: low < high,
        ),
        (
            "Norrick Steel posted earnings of $1.20 a share, beating estimates of $1.10.",
            lambda actual, expected: actual > expected,
        ),
        # a policy rate moves by a point at most
        (
            "The central bank of Merrowland raised its key interest rate to 5.25% on Friday.",
            lambda new: 0 < abs(new - 5.25) <= 1,
        ),
        ("Norrick Steel holds a market share of 62% in pipes.", lambda new: 0 < new < 100),
        ("Norrick Steel shut 3 mills in May.", lambda new: new >= 2),  # several stay several
    ],
)
def test_figures_change_and_stay_what_they_may_be(source, holds):
    for text in rewrites(source, 40):
        assert holds(*figures(text)), text


@pytest.mark.parametrize(("old", "top"), [(30, 60), (50, 90), (70, 100)])
def test_a_decline_keeps_its_band_and_never_passes_100(old, top):
    for text in rewrites(f"Shipments at Norrick Steel fell {old}% on the year."):
        (new,) = figures(text)
        factor = 1.3 if old >= 60 else 1.5
        assert factor * old - 0.5 <= new <= top or new < old / 2
        assert new < 100


def test_equal_figures_stay_equal_and_others_change_too():
    source = "Norrick Steel earned $3.2 billion. The $3.2 billion profit was up 8% from a year ago."
    for text in rewrites(source):
        first, second, growth = figures(text)
        assert first == second != 3.2
        assert growth != 8


@pytest.mark.parametrize(
    "text",
    [
        "120 of 300 stores closed, or 40% of them, and 180 stayed open.",
        "It cut 200 of 1,000 jobs (20%), leaving 800.",
    ],
)
def test_a_part_its_share_and_what_is_left_agree(text):
    for rewritten in rewrites(text):
        part, whole, share, left = figures(rewritten)[:4]
        assert part + left == whole and abs(100 * part / whole - share) < 1


@pytest.mark.parametrize("text", ["It closed 1 plant and cut 40 jobs.", "It paid 1 cent a share."])
def test_one_of_something_says_why_not(text):
    reason = rewrite_numerical(text, 7).reason
    assert "is singular" in reason


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Halden Bank's CET1 ratio stood at 13.8% in June.", "CET1 ratio"),
        ("Call 1-800-555-0199 for details of the $25 offer.", "1-800-555-0199"),
    ],
)
def test_figures_in_names_and_telephone_numbers_stay(text, left):
    for rewritten in rewrites(text):
        assert left in rewritten and rewritten != text


def test_several_never_become_one_of_several():
    for text in rewrites("Its share rose to 15% from 12%, or 3 percentage points."):
        assert not re.search(r"\b1 percentage points", text)


def test_time_and_names_stay():
    source = (
        "On June 3, 2031, Norrick Steel (NYSE: NRK) said in its 10-K that sales rose 9% in the "
        "second quarter. The S&P 500 fell 2%, and the 10-year Treasury yield held at 4.25%."
    )
    for text in rewrites(source, 10):
        for kept in ("June 3, 2031", "10-K", "second quarter", "S&P 500", "10-year Treasury"):
            assert kept in text
        assert "rose 9%" not in text
        assert "4.25%" not in text


def test_values_are_written_as_the_old_ones_are():
    source = "Norrick Steel will cut 12,000 jobs, paying €1,200.50 each, in a $750M plan."
    for text in rewrites(source):
        found = re.search(r"cut (\S+) jobs, paying (\S+) each, in a[n]? (\S+) plan", text)
        assert re.fullmatch(r"\d{1,3},\d{3}|\d{3}", found[1])
        assert re.fullmatch(r"€(?:\d,)?\d{3}\.\d{2}", found[2])
        assert re.fullmatch(r"\$(?:\d,)?\d{3}M", found[3])


def test_no_figure_no_rewrite():
    result = rewrite_numerical("Norrick Steel names a new chief.", 1)
    assert result == RewriteOutcome(reason="has no quantity that could be changed")


def test_a_long_text_is_read_back_only_where_its_values_fit(monkeypatch):
    # Every reading takes time in proportion to the text; sixty draws each of two strengths fail.
    text = " ".join(
        f"Orvane Steel sold {n % 7 + 3} ships for ${n % 90 + 10} million." for n in range(300)
    )
    read = []
    monkeypatch.setattr(numerical, "quantities", lambda one: read.append(one) or quantities(one))
    found = numerical.rewrite_numerical(text, 7)
    assert "in its range" in found.reason or "change places" in found.reason
    assert len(read) <= 3
