"""What the words around a quantity say of it: movement, role, unit, outcome."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.quantities import Quantity, quantities
from contrafact.text.quantities.quantity import ROLES


def only(text: str) -> Quantity:
    (quantity,) = quantities(text)
    return quantity


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        # Verbs straight before the change.
        ("Veltrane shares rose 12%", "up"),
        ("Oskarra stock fell 8% on Monday", "down"),
        ("Revenue grew an estimated 5%", "up"),
        ("Profit slumped by nearly 30%", "down"),
        ("The index added 40 points", "up"),
        ("Shares slid as much as 7%", "down"),
        ("Costs increased by at least 3%", "up"),
        ("Dunmere cut 5,000 jobs", "down"),
        ("The lender laid off 300 workers", "down"),
        ("Employers added 12,000 jobs", "up"),
        ("Output contracted 2.5%", "down"),
        ("The stock edged higher by 0.3%", "up"),
        ("Copper ticked up 0.4%", "up"),
        ("Futures were down 1%", "down"),
        ("Bookings plummeted more than 45%", "down"),
        ("The rupee weakened about 0.2%", "down"),
        ("Shares are up (5%)", "up"),
        ("Sales rose sharply, and costs fell 4%", "down"),
        # Verbs with an object between.
        ("The central bank cut its policy rate by 25 basis points", "down"),
        ("Kelmar raised prices 6%", "up"),
        ("Veltrane trimmed staff by 4%", "down"),
        ("Oskarra boosted its dividend by 10%", "up"),
        ("The board slashed the budget of the rail unit by $40 million", "down"),
        # Nouns and adjectives.
        ("a 5% increase in revenue", "up"),
        ("a 12% drop in orders", "down"),
        ("a 75-basis-point rate hike", "up"),
        ("a quarter-point cut", "down"),
        ("an increase of 5%", "up"),
        ("a decline of $3 million", "down"),
        ("a gain of 0.8%", "up"),
        ("a fall in sales of 7%", "down"),
        ("GDP growth of 2%", "up"),
        ("12% year-on-year sales growth", "up"),
        ("Shares closed 2% lower", "down"),
        ("Volumes were 9% higher", "up"),
        ("Fuel bills are 8% more than a year ago", "up"),
        # Signs and words.
        ("Nasdaq -0.4%", "down"),
        ("Nasdaq +0.4%", "up"),
        ("Sales doubled", "up"),
        ("The dividend was halved", "down"),
        # What denies the movement.
        ("The bank did not raise rates by 25 bps", None),
        ("Shares failed to gain 2%", None),
        ("Prices never fell 5%", None),
        ("It ruled out cutting 300 jobs", None),
        # What only sounds like one.
        ("It signed up 40 dealers", None),
        ("Oskarra made a down payment of $2 million", None),
        ("The firm raised $60 million from investors", None),
        ("The raised stage seats 400 guests", None),
    ],
)
def test_changes_have_the_direction_the_sentence_gives(text: str, direction: str | None) -> None:
    assert only(text).direction == direction


@pytest.mark.parametrize(
    ("text", "direction", "is_level"),
    [
        ("Shares rose 12%", "up", False),
        ("Shares rose to $41", "up", True),
        ("Shares dropped below $100", "down", True),
        ("Inflation cooled to 3.1%", "down", True),
        ("Margins expanded by 50 bps", "up", False),
        ("Unemployment fell to a record 3.5%", "down", True),
        ("Dunmere lifted its forecast to 5.5%", "up", True),
        ("Oskarra cut its growth forecast to 2%", "down", True),
        ("Growth slowed to 1.1%", "down", True),
        ("Claims jumped towards 400,000", "up", True),
        ("Oskarra cut its 5% stake", "down", True),
        ("Rates rose by at least 10 basis points", "up", False),
        ("Gross margin was 40%", None, True),
        ("Inflation at -0.2 percent", None, True),
        ("Rates on hold at 5.25%", None, True),
        ("It may borrow up to $5bn", None, True),
        ("The rate was moved up to 5%", "up", True),
        ("The yield stood at 4.2%", None, True),
        ("a 25 bps step", None, False),
        ("Two-thirds of staff voted", None, True),
    ],
)
def test_levels_are_told_from_changes(text: str, direction: str | None, is_level: bool) -> None:
    quantity = only(text)
    assert (quantity.direction, quantity.is_level) == (direction, is_level)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Shares rose 5% to $41", [("up", False), ("up", True)]),
        ("Shares fell 3%, or $1.20, to $38.10", [("down", False), ("down", False), ("down", True)]),
        ("Revenue rose 5% and profit fell 3%", [("up", False), ("down", False)]),
        ("Sales climbed 4% and 6%", [("up", False), ("up", False)]),
        ("Debt rose $5 million in two years to $90 million", ["up", None, "up"]),
        ("Kelmar slid 3%. Its margin is 40%", [("down", False), (None, True)]),
        ("a 37% price drop, 24% unemployment", [("down", False), (None, True)]),
        ("up 10% compared to 4%", [("up", False), (None, True)]),
    ],
)
def test_one_movement_may_lead_several_quantities(text: str, expected: list[object]) -> None:
    found = quantities(text)
    if isinstance(expected[0], str):
        assert [q.direction for q in found] == expected
    else:
        assert [(q.direction, q.is_level) for q in found] == expected


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Veltrane shares rose 12%", "price"),
        ("a price target of $96", "price"),
        ("Brent at $80 a barrel", "price"),
        ("diesel costs Rs 97.45 a litre", "price"),
        ("the Sensex gained 1.2%", "price"),
        ("the Dow lost 300 points", "price"),
        ("EPS of $1.25", "eps"),
        ("earnings of $1.25 per share", "eps"),
        ("a loss of 12 cents a share", "eps"),
        ("quarterly revenue of $5.1 billion", "revenue"),
        ("same-store sales rose 3%", "revenue"),
        ("sales doubled", "revenue"),
        ("gross margin of 40%", "margin"),
        ("the operating margin narrowed 60 basis points", "margin"),
        ("its market share reached 14%", "share"),
        ("a 10% stake", "share"),
        ("20% of revenue", "share"),
        ("two-thirds of its staff", "share"),
        ("one in five households", "share"),
        ("capacity utilisation of 78%", "utilisation"),
        ("hotel occupancy fell to 61%", "utilisation"),
        ("an engagement rate of 4.5%", "engagement"),
        ("customer churn of 2%", "engagement"),
        ("the policy rate is 5.25%", "policy rate"),
        ("the repo rate is 6.5%", "policy rate"),
        ("The central bank kept interest rates at 4%", "policy rate"),
        ("The Fed may hike 50 bps", "policy rate"),
        ("the mortgage rate of 6.4%", "rate"),
        ("bond yields at 4.2%", "rate"),
        ("a tariff of 25%", "rate"),
        ("inflation of 3%", "inflation"),
        ("consumer price inflation (CPI) rate rose to 11%", "inflation"),
        ("consumer prices rose 0.4%", "inflation"),
        ("an unemployment rate of 4.1%", "unemployment"),
        ("jobless rate climbs to 5.4%", "unemployment"),
        ("GDP grew 2%", "gdp"),
        ("The economy shrank 4%", "gdp"),
        ("French growth was revised to 1.1% as the economy rebounded", "gdp"),
        ("a deficit of 3% of GDP", "percent"),
        ("unemployment claims rose 5%", "count"),
        ("1,200 jobs", "count"),
        ("shipments fell 14%", "count"),
        ("shares trade at 12x", "multiple"),
        ("12x leverage", "multiple"),
        ("it is paid three times over", "multiple"),
        ("a fine of $40 million", "money"),
        ("a $3 billion bailout of the economy", "money"),
        ("in two weeks", "duration"),
        ("a reading of 48.5", "number"),
        ("a chance of 30%", "percent"),
    ],
)
def test_roles_come_from_the_words_around(text: str, role: str) -> None:
    assert role in ROLES
    assert only(text).role == role


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("$5", "USD"),
        ("US$5", "USD"),
        ("C$5 million", "CAD"),
        ("€1,200.50", "EUR"),
        ("1.2bn pounds", "GBP"),
        ("HK$40", "HKD"),
        ("¥500", "JPY"),
        ("Rs 1,200 crore", "INR"),
        ("N2.7tn", "NGN"),
        ("SEK 40 million", "SEK"),
        ("5 million Canadian dollars", "CAD"),
        ("12 cents", "USD"),
        ("25 pence", "GBP"),
        ("9 paise", "INR"),
        ("a fastest 1,000-point climb", "points"),
        ("8,600+ Jobs", "jobs"),
        ("40 million crowns", None),
        ("3%", "%"),
        ("0.5 percentage points", "pp"),
        ("25 bps", "bps"),
        ("a quarter-point cut", "pp"),
        ("3x", "x"),
        ("two weeks", "weeks"),
        ("90-day pause", "days"),
        ("12,000 new jobs", "jobs"),
        ("two plants", "plants"),
        ("three western prefectures", "prefectures"),
        ("200,000 Square Feet", "square feet"),
        ("Dow drops 500 Points", "points"),
        ("four times", "times"),
        ("40 in total", None),
    ],
)
def test_units(text: str, unit: str | None) -> None:
    assert only(text).unit == unit


Links = list[tuple[str, int] | None]


@pytest.mark.parametrize(
    ("text", "links", "old", "direction"),
    [
        ("from $90 to $96", [("from-to", 1), ("from-to", 0)], 0, "up"),
        ("lowered from $96 to $90", [("from-to", 1), ("from-to", 0)], 0, "down"),
        # What the sentence says stands, even where the figures contradict it.
        ("lowered from $90 to $96", [("from-to", 1), ("from-to", 0)], 0, "down"),
        ("to $41 from $38.50", [("from-to", 1), ("from-to", 0)], 1, "up"),
        ("rates went from 5% in May to 4% in June", [("from-to", 1), ("from-to", 0)], 0, "down"),
        ("cooled to 3.1% in May, down from 3.4%", [("from-to", 1), ("from-to", 0)], 1, "down"),
        (
            "revenue of $5.1 billion, compared with $4.7 billion a year earlier",
            [("from-to", 1), ("from-to", 0)],
            1,
            "up",
        ),
        (
            "fell to $5 million, or 12 cents a share, from $8 million",
            [("from-to", 2), None, ("from-to", 0)],
            2,
            "down",
        ),
        ("10% to 14%", [("range", 1), ("range", 0)], None, None),
        (
            "guided to $3.10–3.30 from $2.90 to $3.10",
            [("range", 1), ("range", 0), ("range", 3), ("range", 2)],
            None,
            None,
        ),
        ("between 3 and 5 percent", [("range", 1), ("range", 0)], None, None),
        ("3-5%", [("range", 1), ("range", 0)], None, None),
        ("ranging from 2.6% to 2.7%", [("range", 1), ("range", 0)], None, None),
        ("fell between 3% and 10%", [("range", 1), ("range", 0)], None, "down"),
        ("rose $5 to $95", [None, None], None, "up"),
        ("5% of $40", [None, None], None, None),
        ("from $90. To $96", [None, None], None, None),
    ],
)
def test_pairs_are_linked(text: str, links: Links, old: int | None, direction: str | None) -> None:
    found = quantities(text)
    assert [q.link for q in found] == links
    assert [i for i, q in enumerate(found) if q.is_old] == ([] if old is None else [old])
    assert {q.direction for q in found} == {direction}
    if any(link and link[0] == "from-to" for link in links):
        assert all(q.is_level for q in found if q.link)


def test_growth_ranges_are_changes() -> None:
    assert [q.is_level for q in quantities("Dunmere expects sales growth of 10% to 14%")] == [
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "losses"),
    [
        ("a net loss of $5 million", [True]),
        ("a net profit of $5 million", [False]),
        ("posted a $5 million loss", [True]),
        ("lost $5 million last year", [True]),
        ("Loss narrowed to $3 million from $8 million", [True, True]),
        ("swung to a loss of $5 million from a profit of $3 million", [True, False]),
        ("shed $60 billion in market value", [False]),
        ("lost $60 billion in market value", [False]),
        ("job losses and a budget of $4 million", [False]),
        ("shares lost 4%", [False]),
    ],
)
def test_losses(text: str, losses: list[bool]) -> None:
    assert [q.is_loss for q in quantities(text)] == losses


@pytest.mark.parametrize(
    ("text", "estimates"),
    [
        ("EPS of $1.25 beat the $1.10 analysts had expected", [False, True]),
        ("revenue of $4bn missed estimates of $4.2bn", [False, True]),
        ("earnings of 40 cents topped the consensus of 36 cents", [False, True]),
        ("sales of $3bn fell short of the $3.3bn forecast", [False, True]),
        ("profit of $9m, better than expected", [False]),
        ("prices rose 0.4%, less than expected", [False]),
        ("a deficit that is expected to reach $32 billion", [False]),
        ("revenue of $4bn", [False]),
    ],
)
def test_estimates(text: str, estimates: list[bool]) -> None:
    assert [q.is_estimate for q in quantities(text)] == estimates


PIECES = [
    *("Veltrane shares ", "revenue ", "rose ", "fell ", "to ", "from ", "by ", "12%", "$41"),
    "$3bn",
    *(" and ", ", or ", ". ", " compared with ", " a year earlier", "between ", "5", "%", " jobs"),
    *("loss ", "beat ", "estimates of ", "not ", "up ", "40 bps", "two", " weeks", "doubled", "-"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_pairs_are_mutual_and_of_one_kind(text: str) -> None:
    found = quantities(text)
    for i, quantity in enumerate(found):
        assert text[quantity.start : quantity.end] == quantity.text
        assert quantity.role in ROLES
        if quantity.link is None:
            assert not quantity.is_old
            continue
        kind, j = quantity.link
        other = found[j]
        assert other.link == (kind, i)
        assert other.kind == quantity.kind
        assert other.role == quantity.role
        assert (quantity.is_old != other.is_old) == (kind == "from-to")


@pytest.mark.parametrize(
    "text",
    [
        "The U.S. lender Oskarra Inc. rose 5%",
        "Shares of Kelmar Co. on Jan. 4 rose 5%",
        "It rose vs. Dunmere Corp. by 5%",
    ],
)
def test_abbreviations_end_no_sentence(text: str) -> None:
    assert only(text).direction == "up"


def test_a_text_without_sentences_is_read_whole() -> None:
    text = "shares rose 5% while the others fell 3% and " * 200
    found = quantities(text)
    assert [q.value for q in found] == [5, 3] * 200
    assert sum(q.direction == ("up" if q.value == 5 else "down") for q in found) > 380
