"""Directions turned round with the right inflection, and nonsense refused."""

import pytest

from contrafact.families.rfc.contracts import check_pair
from contrafact.families.rfc.pipeline.rules import NoRewrite, rewrite_by_rules


def flipped(text: str, seed: int = 1) -> str:
    result = rewrite_by_rules(text, "flipping", seed)
    assert not isinstance(result, NoRewrite), result.reason
    return result.rewritten


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        (
            "Norrick Steel beats estimates on strong demand.",
            "Norrick Steel misses estimates on weak demand.",
        ),
        (
            "Shares of Norrick Steel were up 4% at $31.",
            "Shares of Norrick Steel were down 4% at $31.",
        ),
        (
            "Brokers raised their target to $96 from $90.",
            "Brokers cut their target to $90 from $96.",
        ),
        (
            "Inflation rose to 3.1% in May from 2.7% in April.",
            "Inflation {fell|dropped|declined} to 2.7% in May from 3.1% in April.",
        ),
        ("Norrick Steel cut 500 jobs in May.", "Norrick Steel added 500 jobs in May."),
        (
            "Norrick Steel posted a loss of $5 million, and sales fell.",
            "Norrick Steel posted a profit of $5 million, and sales {rose|climbed|increased}.",
        ),
        (
            "The stock was upgraded to Buy from Hold on upbeat guidance.",
            "The stock was downgraded to Hold from Buy on downbeat guidance.",
        ),
        (
            "Shares fell on fears of inflation.",
            "Shares {rose|climbed|advanced|increased} on easing fears of inflation.",
        ),
        (
            "Shares rose as weak data stoked hopes of a rate cut.",
            "Shares {fell|dropped|slipped|declined} as strong data dampened hopes of a rate cut.",
        ),
        (
            "Stocks rose as fears of a ban eased.",
            "Stocks {fell|dropped|slipped|declined} as fears of a ban grew.",
        ),
        (
            "Stocks climbed as rate hike fears eased.",
            "Stocks {fell|dropped|slipped|declined} as rate hike fears grew.",
        ),
        (
            "Stocks fell despite strong sales.",
            "Stocks {rose|climbed|advanced|increased} despite weak sales.",
        ),
        (
            "Norrick shares fell despite the new listing.",
            "Norrick shares {rose|climbed|advanced|increased} amid the new listing.",
        ),
        (
            "The index fell below 60,000, to settle at 59,900.",
            "The index {rose|climbed|advanced|increased} above 60,000, to settle at 60,100.",
        ),
        (
            "Shares of Norrick rose after sales data.",
            "Shares of Norrick {fell|dropped|slipped|declined} after sales data.",
        ),
        (
            "Sales at Norrick rose less than expected.",
            "Sales at Norrick {fell|dropped|slipped|declined} less than expected.",
        ),
        ("Copper prices slid down 3%.", "Copper prices {rose|climbed|advanced|increased} up 3%."),
        ("An increase in sales lifted profits.", "A decrease in sales lowered profits."),
    ],
)
def test_directions_are_turned_round(original, expected):
    head, brace, rest = expected.partition("{")
    options = [expected]
    if brace:
        choices, _, tail = rest.partition("}")
        options = [head + choice + tail for choice in choices.split("|")]
    assert flipped(original) in options


@pytest.mark.parametrize(
    "text",
    [
        "Norrick Steel dropped its bid for Tallow & Finch.",
        "Norrick Steel raised $40 million from two funds.",
        "The high court of Merrowland heard the case this fall.",
        "Rising Sun Holdings hired a chief.",
    ],
)
def test_words_that_say_no_direction_are_left(text):
    assert isinstance(rewrite_by_rules(text, "flipping", 1), NoRewrite)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The bank cut rates to boost growth.", "purpose"),
        ("Sales did not rise in May.", "denied"),
        ("Prices rose less than 4%.", "measured against another"),
        ("Shares fell. The war went on.", "no opposite"),
        ("The bank added 500 jobs while hiring slowed.", "growth in jobs"),
        ("Shares fell as the crisis spread.", "no opposite"),
        ("The bank raised rates in its fight against inflation.", "no opposite"),
    ],
)
def test_what_would_turn_into_nonsense_is_refused_with_a_reason(text, reason):
    result = rewrite_by_rules(text, "flipping", 1)
    assert isinstance(result, NoRewrite)
    assert reason in result.reason


def test_numbers_are_kept_but_for_ends_that_trade_places():
    text = "Norrick Steel shares fell 3% to $31, and revenue dropped 8% to $1.2 billion."
    assert [w for w in flipped(text).split() if any(c.isdigit() for c in w)] == [
        w for w in text.split() if any(c.isdigit() for c in w)
    ]


def test_an_end_that_is_told_twice_trades_places_twice():
    text = "Unemployment falls to 4.1%. The rate fell to 4.1% in May from 4.3% in April."
    rewritten = flipped(text)
    assert rewritten.count("4.3%") == 2
    assert rewritten.endswith("from 4.1% in April.")


def test_signs_turn():
    text = "Copper prices fell in Merrowland, at -3.2% on the day."
    assert "+3.2%" in flipped(text)


def test_what_comes_out_keeps_its_contract():
    for text in (
        "Norrick Steel shares jumped 6% on Tuesday after strong results beat expectations.",
        "Copper prices slumped 4% in early trade as weak demand hurt orders at Norrick Steel.",
        "Unemployment in the island state of Merrowland fell to a 10-year low in May.",
    ):
        for seed in range(4):
            check = check_pair("flipping", text, flipped(text, seed))
            assert check.passed, check.violations
