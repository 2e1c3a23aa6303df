"""Words of financial news: all that the rules look for are found, whole and in any form."""

import pytest

from contrafact.text.words.lexicon import spots, term_forms


def found(text, name):
    return [(text[start:end], term) for of, term, start, end in spots(text) if of == name]


# What the paper lists, one line for each list; the lists may hold more, never less.
PAPER = {
    "directional": """
    rise rises rose rising climb climbed climbing gain gains gained jump jumped jumping soar
    soared soaring surge surged surging rally rallied rallying accelerate accelerated
    accelerating strengthen strengthened strengthening speed_up rebound rebounded rebounding
    recover recovered recovering improve improving boost boosted boosting support supported beat
    beats beating top tops topped topping exceeded_expectations above_expectations
    ahead_of_estimates above_estimates stronger-than-expected beats_consensus
    surpassed_forecasts raise_guidance raised_guidance lifted_guidance strong_guidance
    raised_estimates higher_estimates upgrade upgraded upgrading bullish optimistic_outlook
    positive_outlook robust_outlook upbeat_guidance strong strong_performance strength solid
    robust resilient stable impressive encouraging notable significant substantial optimism
    optimistic enthusiasm confidence better-than-feared mixed_results investor_confidence
    upbeat_tone bullish_tone sentiment_improved market_reacted_positively risk-on strong_quarter
    impressive_guidance exceeded solid_results robust_demand improved_margins positive_sentiment
    expand upbeat tailwinds
    fall falls fell falling drop dropped dropping lose loses losses decline declining plunge
    plunged plunging slump slumped slumping tumble tumbled tumbling retreat retreating slip
    slipped slipping decelerate decelerated slowing slow slowed weaken weakened weakening
    slow_down deteriorate deteriorating soften softening weigh_on drag pressure pressured hurt
    undermine miss misses missed missing lag lags lagged lagging fell_short_of_expectations
    below_expectations below_estimates missed_estimates weaker-than-expected misses_consensus
    fell_short_of_forecasts cut_guidance cutting_guidance slashed_guidance weak_guidance
    trimmed_estimates lower_estimates downgrade downgraded downgrading bearish
    pessimistic_outlook negative_outlook soft_outlook downbeat_guidance weak weak_performance
    weakness soft fragile shaky vulnerable volatile underwhelming disappointing limited marginal
    insignificant pessimism pessimistic fear concern caution worse-than-feared
    clear_disappointment investor_concern cautious_tone bearish_tone sentiment_deteriorated
    market_sold_off risk-off weak_quarter underwhelming_guidance fell_short
    disappointing_results weak_demand soft_demand contracting_margins negative_sentiment
    contract headwinds
""",
    "kpi": """
    revenue sales EPS earnings profit net_income margin margins gross_margin operating_margin
    guidance forecast outlook price_target target_price rating subscribers users MAU DAU units
    shipments bookings orders deliveries ARR MRR cash_flow free_cash_flow FCF cost costs expense
    expenses opex capex growth year-over-year YoY quarter-over-quarter QoQ same-store_sales
    comparable_sales
""",
    "hedge": """
    may might could potential potentially possibly appears appear appears_to seems seemed
    seems_to expected_to set_to poised_to likely unlikely suggests suggested suggesting
    indicates indicated indicating forecast forecasts forecasted forecasting project projects
    projected projection aim aims aimed aiming_to plan plans planned planning_to consider
    considers considered considering weighing on_track tracking guidance outlook
""",
    "mild": """
    solid steady stable resilient mixed muted soft tepid lukewarm limited modest slight slightly
    somewhat better_than_expected worse_than_expected in_line roughly_flat headwind headwinds
    tailwind tailwinds uncertainty pressures pressure
""",
    "extreme": """
    catastrophe catastrophic disaster meltdown collapse collapsing crash crashed crashing plunge
    plunged plunging skyrocket skyrocketed skyrocketing explode exploded exploding explosive
    freefall panic bloodbath rout existential_crisis devastating devastation unprecedented
    record_high record_highs historic_high historically_high
""",
    "connector": """
    because because_of since given_that considering_that in_that insofar_as inasmuch_as due_to
    owing_to on_account_of as_a_result_of in_light_of in_view_of thanks_to therefore thus hence
    consequently accordingly as_a_result as_a_consequence in_consequence thereby result_in
    results_in resulted_in resulting_in lead_to leads_to led_to leading_to cause causes caused
    causing bring_about brings_about bringing_about brought_about end_up_in end_up_with
    ends_up_in ended_up_in trigger triggers triggered triggering driven_by fueled_by stems_from
    attributable_to in_response_to in_reaction_to so
""",
    "catalyst": """
    product_recall recall probe investigation lawsuit litigation regulatory_action
    regulatory_fine regulatory_penalty fine fines penalty sanction sanctions guidance_cut
    guidance_raise lifted_guidance slashed_guidance downgrade upgrade price_target outlook
    forecast outage breach hack cyberattack strike walkout layoff layoffs acquisition merger
    deal supply_shortage supply_disruption supply_glut delay postpone halt suspend defect
    safety_issue recertification earnings_miss earnings_beat EPS margins
""",
    "reaction": """
    shares_rise shares_rose shares_rally rallied jump jumped surge surged gain gained
    shares_fall fell drop dropped slump slumped plunge plunged sink slide tumble tumbled
    stock_spike soar stock_jump stock_drop sell-off rout rally market_rebound market_sell-off
    market_turmoil volatility
""",
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_lists_are_whole(name):
    for word in PAPER[name].split():
        text = word.replace("_", " ")
        assert text in [spelled for spelled, _ in found(text, name)], text


@pytest.mark.parametrize("text", ["surge", "up", "above", "higher", "more"])
def test_what_says_a_direction_only_with_other_words_is_no_term(text):
    assert [term for _, term in found(text, "directional")] == ["surge"] * (text == "surge")
    assert not found(text, "extreme")


def test_terms_match_whole_words_alone():
    odd = "An enterprise uprises; the surprise of gainsayers, topsoil, dropout."
    assert not list(spots(odd))
    assert found("price-target, net\n  income; free cash  flow", "kpi") == [
        ("price-target", "price target"),
        ("net\n  income", "net income"),
        ("free cash  flow", "free cash flow"),
    ]
    assert found("net, income", "kpi") == [("income", "income")]
    assert found("free - cash flow", "kpi") == [("cash flow", "cash flow")]
    assert found("risk–off, risk‑off", "directional") == [
        ("risk–off", "risk-off"),
        ("risk‑off", "risk-off"),
    ]


def test_within_a_list_the_longest_counts_and_lists_may_overlap():
    text = "It raised guidance."
    assert [(one.list, text[one.start : one.end]) for one in spots(text)] == [
        ("directional", "raised guidance"),
        ("kpi", "guidance"),
        ("hedge", "guidance"),
        ("catalyst", "raised guidance"),
    ]


@pytest.mark.parametrize(
    ("text", "list_", "count"),
    [
        ("The bank may wait", "hedge", 1),
        ("May we wait, the bank asked", "hedge", 1),
        ("Output rose in May", "hedge", 0),
        ("On May 4 output rose", "hedge", 0),
        ("It MAY wait", "hedge", 1),
        ("It pluſ a riſk: an İNCREASE", "directional", 1),
        ("It fell since costs rose", "connector", 1),
        ("It fell since 2019", "connector", 0),
        ("The most since March", "connector", 0),
        ("Costs rose, so it fell", "connector", 1),
        ("It fell so far this year", "connector", 0),
    ],
)
def test_what_only_looks_like_a_term_is_none(text, list_, count):
    assert len(found(text, list_)) == count


def test_a_text_of_a_megabyte_is_read_in_one_pass():
    text = "Shares climbed on strong demand; costs fell. " * 25_000
    matches = found(text, "directional")
    assert len(matches) == 3 * 25_000
    assert matches[-1] == ("fell", "fall")


def test_inflections_follow_spelling_and_the_list_of_exceptions():
    def forms(template):
        return list(term_forms(template))

    assert forms("slip/v") == ["slip", "slips", "slipped", "slipping"]
    assert forms("rally/v") == ["rally", "rallies", "rallied", "rallying"]
    assert forms("ease/v") == ["ease", "eases", "eased", "easing"]
    assert forms("miss/v") == ["miss", "misses", "missed", "missing"]
    assert "panicked" in forms("panic/v")
    assert {"falls short of", "fell short of", "fallen short of"} < set(forms("fall/v short of"))
    assert forms("sell-off/n") == ["sell-off", "sell-offs"]
    assert forms("risky/a") == ["risky", "riskier", "riskiest"]
    assert "shares rose" in forms("share/n rise/v")
