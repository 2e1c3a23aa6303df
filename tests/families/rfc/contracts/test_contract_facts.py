"""Arithmetic is found whatever words say it, and a change of words alone is no fact."""

import pytest

from contrafact.families.rfc.contracts import check_pair

# For each relation: figures that agree, others that agree, and some that do not; ten phrasings.
RELATIONS = {
    "a difference": (
        ("1,254", "1,118", "136"),
        ("2,090", "1,880", "210"),
        ("2,090", "1,880", "270"),
        (
            "Sales were €{a} million (prior year: €{b} million), €{c} million more.",
            "Sales came to €{a} million, after €{b} million, a gain of €{c} million.",
            "At €{a} million, sales were €{c} million above the €{b} million of the year before.",
            "Sales rose by €{c} million to €{a} million; they were €{b} million a year ago.",
            "Sales: €{a} million (last year €{b} million; difference €{c} million).",
            "It sold goods for €{a} million, €{c} million more than the €{b} million in 2024.",
            "Against €{b} million before, sales reached €{a} million, an extra €{c} million.",
            "From €{b} million sales climbed to €{a} million, which is €{c} million up.",
            "Sales stood at €{a} million, having been €{b} million, so €{c} million were added.",
            "Last year's €{b} million became €{a} million, €{c} million on top.",
        ),
    ),
    "a sum": (
        ("412", "238", "650"),
        ("690", "410", "1,100"),
        ("690", "410", "1,250"),
        (
            "Europe brought in ${a} million and Asia ${b} million, ${c} million between them.",
            "The group earned ${c} million: ${a} million in Europe and ${b} million in Asia.",
            "Of ${c} million in sales, ${a} million came from Europe and ${b} million from Asia.",
            "Europe's ${a} million and Asia's ${b} million make ${c} million.",
            "Sales of ${c} million (Europe ${a} million, Asia ${b} million) were a record.",
            "With ${a} million from Europe and ${b} million from Asia, sales reached ${c} million.",
            "Europe sold ${a} million, Asia ${b} million; the group sold ${c} million.",
            "Sales in Europe of ${a} million and in Asia of ${b} million added up to ${c} million.",
            "The ${c} million consist of ${a} million (Europe) and ${b} million (Asia).",
            "Europe ${a} million, Asia ${b} million, group ${c} million.",
        ),
    ),
    "a change": (
        ("503,000", "443,156", "13.5"),
        ("905,000", "739,000", "22.5"),
        ("905,000", "739,000", "26.5"),
        (
            "Deliveries were {a} (prior year: {b}), a plus of {c}%.",
            "Deliveries rose {c}% to {a} from {b}.",
            "Deliveries rose to {a}, up {c}% from {b}.",
            "At {a}, deliveries were {c}% above the {b} of last year.",
            "Deliveries: {a} (last year {b}, change {c}%).",
            "The maker delivered {a} cars after {b} cars, {c}% more.",
            "From {b} cars deliveries grew by {c}% to {a} cars.",
            "The maker delivered {a} cars, against {b} cars in 2024, an increase of {c}%.",
            "Deliveries of {a} cars compare with {b} cars, which is {c}% growth.",
            "Deliveries climbed from {b} to {a}, or {c}%.",
        ),
    ),
    "a part": (
        ("164", "1,254", "13.1"),
        ("290", "1,930", "15.0"),
        ("290", "1,930", "19.2"),
        (
            "Operating profit was ${a} million on sales of ${b} million, a margin of {c}%.",
            "Operating profit of ${a} million equals {c}% of sales of ${b} million.",
            "On sales of ${b} million the firm made ${a} million, {c}% of it.",
            "The firm kept ${a} million, or {c}%, of its ${b} million in sales.",
            "Sales were ${b} million and operating profit ${a} million; the margin came to {c}%.",
            "Sales: ${b} million, operating profit ${a} million ({c}%).",
            "With a margin of {c}%, sales of ${b} million left ${a} million.",
            "The firm turned ${b} million of sales into ${a} million of profit ({c} percent).",
            "Out of ${b} million, ${a} million ({c}%) stayed as profit.",
            "Operating profit reached ${a} million and {c}% of the ${b} million in sales.",
        ),
    ),
    "a product": (
        ("225", "18", "12.5"),
        ("363", "30", "12.1"),
        ("450", "30", "12.1"),
        (
            "The company sold {c} million shares at ${b} each, raising ${a} million.",
            "The company raised ${a} million by selling {c} million shares for ${b} a share.",
            "At ${b} a share, {c} million shares brought in ${a} million.",
            "The sale of {c} million shares for ${b} each brought ${a} million.",
            "Priced at ${b}, the {c} million shares were worth ${a} million.",
            "The offer of {c} million shares at ${b} is worth ${a} million.",
            "Investors paid ${a} million for {c} million shares, ${b} apiece.",
            "It placed {c} million new shares at ${b}; proceeds were ${a} million.",
            "Proceeds: ${a} million ({c} million shares at ${b}).",
            "With {c} million shares sold at ${b}, proceeds came to ${a} million.",
        ),
    ),
}


def rules_of(pair, kind="violations"):
    return {finding.rule for finding in getattr(pair, kind)}


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_relation_that_breaks_is_found_in_any_phrasing(relation):
    before, held, broken, phrasings = RELATIONS[relation]
    for phrasing in phrasings:
        texts = [
            phrasing.format(**dict(zip("abc", v, strict=True))) for v in (before, held, broken)
        ]
        assert "related-quantities" not in rules_of(check_pair("numerical", texts[0], texts[1]))
        assert "related-quantities" in rules_of(check_pair("numerical", texts[0], texts[2])), texts


@pytest.mark.parametrize(("gain", "broken"), [("305", False), ("415", True)])
def test_a_change_may_be_a_percentage_of_the_level_before_it(gain, broken):
    text = "Copper closed {}% higher at ${} a tonne, a gain of ${}."
    texts = text.format("1.8", "9,160", "162"), text.format("3.2", "9,845", gain)
    assert ("related-quantities" in rules_of(check_pair("numerical", *texts))) is broken


@pytest.mark.parametrize(
    ("way", "fails"), [("missed the consensus by 5", False), ("missed the 78", True)]
)
def test_by_how_much_a_forecast_was_missed_is_no_forecast(way, fails):
    text = "Adjusted profit of 83 cents a share {} cents{}; the outlook was {}."
    texts = (
        text.format("topped the 78", " expected", "raised"),
        text.format(way, " expected" * fails, "cut"),
    )
    assert ("contradiction" in rules_of(check_pair("flipping", *texts))) is fails


def test_rough_figures_that_happen_to_agree_are_left_to_a_person():
    check = check_pair(
        "numerical",
        "The ticket costs $40, the meal $30 and the programme $10.",
        "The ticket costs $80, the meal $50 and the programme $20.",
    )
    assert not check.violations
    assert "related-quantities" in rules_of(check, "review")


@pytest.mark.parametrize(
    ("original", "rewritten"),
    [
        ("Exports rose 5% and imports fell 3%.", "Exports fell 5% and imports rose 3%."),
        ("Goldman moved Ford to Buy from Sell.", "Goldman moved Ford to Sell from Buy."),
        (
            "Revenue beat estimates, but profit missed.",
            "Revenue missed estimates, but profit beat.",
        ),
    ],
)
def test_the_same_words_in_another_order_are_for_a_judge(original, rewritten):
    assert check_pair("flipping", original, rewritten).passed is None


@pytest.mark.parametrize(
    ("original", "rewritten", "passed"),
    [
        (
            "Sales eclipsed $1.00 billion, it said.",
            "Sales surpassed $2.00 billion, it stated.",
            True,
        ),
        ("Strong demand lifted sales 12%.", "Weak demand lifted sales 20%.", None),
        ("The fund bought 4,000 shares.", "The fund sold 7,000 shares.", None),
        ("The bank may cut 400 jobs.", "The bank will cut 700 jobs.", None),
        ("It expects at least 500 orders.", "It expects at most 900 orders.", None),
        ("The CFO said sales rose 4%.", "The CEO said sales rose 7%.", False),
        ("Moody's said defaults rose 4%.", "Fitch said defaults rose 7%.", False),
        ("Revenue rose 10% in May.", "Revenue rose 18 basis points in May.", False),
        ("Loans grew to 5 crore rupees.", "Loans grew to 5 lakh rupees.", False),
        ("Profit rose to $5.4 billion.", "Profit rose to $9.1 million.", False),
        ("Profit rose to $84 from $71.", "Profit rose to $132 from €112.", False),
        ("Stocks fell to 40 million tonnes.", "Stocks fell to 19 million barrels.", False),
        ("Orders hit a four-year high of 40.", "Orders hit a four-year low of 19.", False),
        ("It built 40 of its 737 model.", "It built 70 of its 1,300 model.", False),
        (
            "Rated BBB+, above BBB, it has $2 billion.",
            "Rated BBB, above BBB+, it has $3 billion.",
            False,
        ),
    ],
)
def test_a_changed_word_of_a_numerical_pair_is_a_fact_only_of_names_units_and_grades(
    original, rewritten, passed
):
    assert check_pair("numerical", original, rewritten).passed is passed


@pytest.mark.parametrize(
    ("original", "rewritten"),
    [
        (
            "The analyst upgraded the stock to Overweight from Equal Weight.",
            "The analyst downgraded the stock to Overweight from Equal Weight.",
        ),
        (
            "The firm raised its outlook to $2.10 to $2.20 from $1.90 to $2.00.",
            "The firm cut its outlook to $2.10 to $2.20 from $1.90 to $2.00.",
        ),
        (
            "Sales rose to 503,000 units, up 13.5% from 443,956.",
            "Sales fell to 411,000 units, up 13.5% from 443,956.",
        ),
    ],
)
def test_ratings_ranges_and_changes_that_go_the_other_way_are_contradictions(original, rewritten):
    assert "contradiction" in rules_of(check_pair("flipping", original, rewritten))


def test_figures_of_a_replaced_cause_go_with_it_and_those_of_the_effect_stay():
    original = "Output fell 8% in May because a six-week strike at the port halted two plants."
    cause = "Output fell 8% in May because a nine-day lack of chips idled three lines."
    effect = "Output fell 9% in May because a six-week strike at the port halted two plants."
    assert check_pair("causal", original, cause).passed is None
    assert "number-changed" in rules_of(check_pair("causal", original, effect))


def test_two_words_of_an_event_slipped_in_are_shown_to_a_person():
    text = (
        "Shares of the Danish brewer Carlholm {} 5% in early trading in Copenhagen on Monday{}, "
        "while the wider market and most of the other makers of food were little changed."
    )
    check = check_pair(
        "flipping", text.format("rose", ""), text.format("fell", " amid a boardroom dispute")
    )
    assert check.passed is None
    assert "content-added" in rules_of(check, "review")


SHARES = (
    "Retail made up {} of sales and wholesale {}.",
    "Women hold {} of the seats and men {}.",
    "It owns {} of the venture, its partner {}.",
    "{} of clients stayed and {} left.",
    "With {} in cash and {} in bonds, the portfolio is cautious.",
    "Shares: {} domestic, {} foreign.",
)


@pytest.mark.parametrize("phrasing", SHARES)
def test_parts_of_a_whole_stay_within_it_whatever_the_words(phrasing):
    original = phrasing.format("62%", "38%")
    assert "related-quantities" in rules_of(
        check_pair("numerical", original, phrasing.format("71%", "54%"))
    )
    assert check_pair("numerical", original, phrasing.format("29%", "71%")).passed is True


@pytest.mark.parametrize(
    "phrasing",
    ["Turnout reached {}.", "The stake was raised to {}.", "China buys {} of its output."],
)
def test_no_share_is_beyond_the_whole(phrasing):
    check = check_pair("numerical", phrasing.format("62%"), phrasing.format("186%"))
    assert "impossible-value" in rules_of(check)


@pytest.mark.parametrize("manipulation", ["flipping", "sentiment", "causal"])
@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("$1.85 from $1.60", "$1.85 from €1.60"),
        ("61 million tonnes", "61 million barrels"),
        ("£600 million to £800 million", "£600 million to €800 million"),
    ],
)
def test_units_stay_where_only_figures_are_compared(manipulation, was, now):
    text = "The maker may raise its modest forecast to {} because demand is {}."
    check = check_pair(manipulation, text.format(was, "firm"), text.format(now, "brisk"))
    assert "number-changed" in rules_of(check)


def test_a_fall_to_a_higher_count_contradicts_itself_though_one_count_has_no_unit():
    text = "Purchases {} to 5.1 million tonnes in the season to June from 4.6 million before."
    check = check_pair("flipping", text.format("rose"), text.format("fell"))
    assert "contradiction" in rules_of(check)


def test_an_office_in_two_words_stays():
    text = "{} Ruth Aldous said profit {} 10%."
    original, rewritten = (
        text.format("Finance director", "rose"),
        text.format("Chief executive", "fell"),
    )
    assert "identifier-changed" in rules_of(check_pair("flipping", original, rewritten))


def test_only_a_title_that_is_given_is_one():
    original = "Norrick Steel shares climb after report. The shares rose 12% on Tuesday in Oslo."
    left = "Norrick Steel shares climb after report. The shares fell 12% on Tuesday in Oslo."
    title = "Norrick Steel shares climb after report"
    assert "not-reversed" in rules_of(check_pair("flipping", original, left, title=title))
    for other in ("", "Another title", "Norrick Steel shares"):
        assert check_pair("flipping", original, left, title=other).passed is None


@pytest.mark.parametrize(
    ("manipulation", "original", "why"),
    [
        ("sentiment", "Sales of Osmery Foods may plunge 3%, it said.", "extreme language: plunge"),
        ("sentiment", "Sales of Osmery Foods may surge 3%, it said.", "extreme language: surge"),
        ("sentiment", "The mayor may open the fair on Monday.", "no financial term"),
        ("sentiment", "Sales of Osmery Foods were 3 million.", "no hedge and no mild expression"),
        ("flipping", "The mayor opened the fair on Monday.", "no directional term"),
        ("causal", "The mayor opened the fair on Monday.", "no causal connector"),
        ("flipping", "Sales were up 10% in May.", ""),
        ("causal", "Sales fell because of soft demand.", ""),
    ],
)
def test_what_the_printed_lists_of_a_category_lack_is_for_a_person(manipulation, original, why):
    check = check_pair(manipulation, original, f"{original[:-1]} indeed.")
    found = [one.message for one in check.review if one.rule == "category"]
    assert check.passed is None and len(found) == bool(why)
    assert not why or why in found[0]
