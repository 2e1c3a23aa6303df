"""Texts that are no answer are found, and edits are left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.degenerate import (
    BOTH,
    CUT,
    EQUAL_SIDES,
    FOREIGN,
    OF_ANSWER,
    OF_ANY,
    OF_INPUT,
    OF_OTHER,
    OF_PROMPT,
    OPEN,
    REFUSAL,
    Batch,
    Shown,
    across,
    copied_share,
    languages,
    runs,
    words,
)

HEADLINE = "Harbour lenders raise mortgage rates after the bank of Merrowland tightens"
OTHER = "Ostrava mill reopens under new owners"
BATCH = Batch([HEADLINE, OTHER, "Copper slips as the smelters of Tarn reopen"])
PROMPT = f"""Write what could follow. The situation takes an adverse turn.
Headline: Velda port strike ends
{{"risk_counterfactual": "Velda port strike flares up again, choking exporters and banks"}}
<news>{HEADLINE}</news>"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("HARBOUR lenders raise mortgage rates, after the Bank of Merrowland tightens.", OF_INPUT),
        (OTHER, OF_OTHER),
        ("Velda port strike flares up again, choking exporters and banks", OF_PROMPT),
        ("Velda port strike flares up again, choking exporters and farmers", OF_PROMPT),
        ("The situation takes an adverse turn", OF_PROMPT),
        ("What could follow the headline: the situation turns adversely", OF_PROMPT),
        ('{"risk_counterfactual": "..."}', OF_PROMPT),
        ("Harbour lenders raise mortgage rates after the bank", OF_INPUT),
        ("Harbour lenders raised mortgage rates after the bank", OF_INPUT),
        ("Ostrava mill reopens under new owners, a spokesman said", OF_OTHER),
        ("Los bancos suben las tasas de las hipotecas y el mercado se hunde con ellos", FOREIGN),
        ("Банки повышают ставки", FOREIGN),
        ("港口銀行提高抵押貸款利率", FOREIGN),
        ("Harbour lenders cut mortgage rates after the bank of Merrowland tightens", None),
        ("Harbour lenders raise mortgage rates, choking exporters and banks", None),
        ("Harbour lenders raise rates", None),
        ("The situation of harbour lenders takes an adverse turn", None),
    ],
)
def test_every_kind_of_no_answer_has_its_reason(text, reason):
    assert BATCH.reason(text, HEADLINE, shown=[(PROMPT, "")]) == reason


GOOD = [
    (HEADLINE, "Harbour lenders stop lending"),
    (OTHER, "Ostrava mill hires again after its reopening"),
    ("Copper slips as the smelters of Tarn reopen", "Copper rebounds as Tarn's smelters strike"),
]


def test_what_a_system_says_of_three_inputs_and_more_fits_any():
    said = "Everybody gains as conditions improve"
    strange = ["Velda port strike ends", "Norwind Bank cuts its key rate", "Talmora Steel hires"]
    by_chance = ("Talmora sees conditions worsen", said)
    answers = [*GOOD, *((one, said) for one in strange), by_chance]
    assert across(answers) == [None] * 3 + [OF_ANY] * 4
    assert across(answers[::-1]) == [OF_ANY] * 4 + [None] * 3
    other_words = [
        (one, f"{word} gains lie ahead") for one, word in zip(strange, "ABC", strict=True)
    ]
    assert across([*GOOD, *other_words]) == [None] * 3 + [OF_ANY] * 3
    assert across([*GOOD, *other_words[:2]]) == [None] * 5
    assert across([*GOOD * 20, *other_words]) == [None] * 60 + [OF_ANY] * 3
    many = [(f"{one} {number}", text) for number in range(20) for one, text in GOOD]
    assert across([*many, *other_words]) == [None] * 60 + [OF_ANY] * 3


def test_texts_without_a_word_of_their_input_are_no_answer_only_where_they_repeat_each_other():
    apart = [
        ("Sterling slides", "Cheaper pound lifts exporters"),
        ("Norwind Bank cuts its key rate", "Savers flee deposits for gold"),
        ("Talmora Steel hires", "Smelter unions win a pay round that rivals must match"),
        ("Velda port strike ends", "Shipping lines refuse the new harbour dues"),
    ]
    assert across(apart) == [None] * 4
    assert across([("Durable order falls", "Orders for machines rebound")] * 3) == [None] * 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I'm sorry, but I cannot predict markets.", REFUSAL),
        ("Could you share more of the article?", REFUSAL),
        ("Not enough context to answer.", REFUSAL),
        ("Thanks! As a language model I must not speculate. Please consult an adviser.", REFUSAL),
        ("We cannot lend, say Harbour banks, and mortgages dry up", None),
        ("Risk: Harbour lenders fail. Opportunity: Harbour lenders merge.", BOTH),
        ("On the upside lenders earn more; on the downside borrowers default", BOTH),
        ("Either Harbour lenders win deposits, or they lose borrowers to rivals abroad", BOTH),
        ("Harbour lenders lose deposits while savers win", None),
        ("Mortgage rates may or may not hurt Harbour lenders", OPEN),
        ("The effect on Harbour lenders remains unclear and depends on many factors", OPEN),
        ("Lenders' shares could go up or down after this week", OPEN),
        ("Uncertainty over Merrowland's bank could choke Harbour lenders", None),
        ("Harbour lenders' rates lead to", CUT),
        ("Harbour lenders see losses in the second", CUT),
        ("Harbour lenders sell a second bond at half the cost of the first", None),
        ("Harbour lenders issue new bonds after strong demand for the first", None),
        ("Harbour lenders face a wave of defaults, forcing", CUT),
        ("Harbour lenders are hit by a sudden", CUT),
        ("Harbour lenders close branches as borro", CUT),
        ("Harbour lenders face (according to analysts", CUT),
        (f"{HEADLINE} mortgages", CUT),
        (f"{HEADLINE} further", None),
        ("Harbour lenders step in", None),
        ("Rates at Harbour lenders turn out lower than", CUT),
        ("HARBOUR lenders raise mortgage rates after bank of Merrowland tightens", OF_INPUT),
        ("N/A", REFUSAL),
        ('"I cannot predict what lenders will do"', REFUSAL),
        ("No meaningful risk can be identified.", REFUSAL),
        ("The information given is insufficient for a scenario.", REFUSAL),
        ("The headline is good news, so I will write a risk of twenty words.", REFUSAL),
        ("Write one risk for the following headline: Harbour lenders raise rates", REFUSAL),
        ("Sure! Here is an opportunity for the Harbour headline:", REFUSAL),
        ("Thanks to higher rates, Harbour lenders report record profits", None),
        ("A phase I trial at Tarn fails and headline inflation jumps", None),
        ('"I see no way out", says the head of a Harbour lender, and depositors flee', None),
        ("Lenders might shut branches, or the bank might soften its stance", BOTH),
        ("If rates rise, lenders fail; if rates fall, builders hire again", BOTH),
        ("Defaults may spread, but lower rates may also let owners refinance", BOTH),
        ("Lenders fail. On the bright side, house hunters find cheaper homes.", BOTH),
        ("Worse: lenders fail. Better: lenders merge and rates come down.", BOTH),
        ("The two sides agree on a merger, and Harbour shares reach a new high", None),
        ("If lenders pass on the rise, arrears climb to the highest since 2009", None),
        ("Lenders could be forced into a sale, and shareholders may lose everything", None),
        ("Depending on inflation, rates at Harbour lenders may firm or soften", OPEN),
        ("Rates may rise, fall or stay flat, which nobody can call with certainty", OPEN),
        ("Some lenders gain from such moves and others don't", OPEN),
        ("A lot turns on how Harbour lenders respond", OPEN),
        ("There is an equal chance of gains and of losses", OPEN),
        ("The rise might matter a lot or hardly at all", OPEN),
        ("An optimist sees cheaper homes, a pessimist a wave of arrears", BOTH),
        ("Big or small, lenders lose deposits and dozens merge", None),
        ("Whether or not the bank relents, Harbour lenders run short of deposits", None),
        ("Harbour lenders issue new shares at a steep", CUT),
        ("Harbour lenders cut jobs and lift margins by a surprisingly", CUT),
        ("Harbour lenders shut branches, giving struggling", CUT),
        ("Harbour lenders hold on to their monopoly", None),
        ("Harbour lenders cut jobs, and arrears climb by", CUT),
        ("Lenders lose savers, and after two mergers collapse,", CUT),
        ("Harbour lenders see their first loss since it", CUT),
        ("The bank gives up its cuts, sending mortgage rates", CUT),
        ("Harbour lenders merge and end up buying back", CUT),
        ("The bank loosens its rules, prompting foreign lenders", CUT),
        ("Bad loans give Harbour lenders no choice but to avoid", CUT),
        ("Harbour lenders fall behind the banks they had bargained with", None),
        ("Cheap credit brings the boom that Harbour lenders have waited for", None),
        ("Lenders cut rates, sending shares higher", None),
        ("Harbour lenders fail, dragging savers down with them", None),
        ("Harbour lenders win the deposits that rivals were counting on", None),
        ("Harbour lenders sell loans at whatever price they can get", None),
        ("Harbour lenders raise rates and pass costs on", None),
        ("Nobody can say they were not warned: Harbour lenders fail", None),
        ("Harbour lenders become the world's second-largest", CUT),
        ("Perhaps Harbour lenders gain, perhaps not", OPEN),
        ("Lenders might fail. At the same time, it might be a boon for savers.", BOTH),
        ("Lenders may lose deposits, and losses may shrink what they lend", None),
        ("Rates could head north or south from here", OPEN),
        ("The full effect on lenders won't be known for a year", OPEN),
        ("Harbour lenders close branches that had only recently", CUT),
        ("Fines could hit lenders, or savers could look past the probe", BOTH),
        ("The worst that can happen is a run; the best is a merger", BOTH),
        ("A lot could happen to Harbour lenders before the summer", OPEN),
        ("There could be an impact on Harbour lenders", OPEN),
        ("Harbour lenders fight a bill of the bank that would ban", CUT),
        ("Harbour lenders win the deposits that rivals could not hold", None),
        ("In one case lenders fail, in another they merge", BOTH),
    ],
)
def test_an_answer_that_declines_breaks_off_or_commits_to_nothing_is_none(text, reason):
    assert BATCH.reason(text, HEADLINE, directed=True) == reason
    if reason in (BOTH, OPEN):  # of a family whose texts need no side
        assert BATCH.reason(text, HEADLINE) is None


def test_the_answer_to_another_input_is_told_from_the_one_that_was_copied():
    copy = (HEADLINE, "Ostrava mill hires again after its reopening, they say")
    assert across([*GOOD, copy]) == [None] * 3 + [OF_ANSWER]
    assert across([copy, *GOOD]) == [OF_ANSWER] + [None] * 3
    # Of two alike headlines either may have the edit of the other.
    twin = ("Ostrava mill reopens after a fire", "Ostrava mill hires again after its reopening")
    assert across([*GOOD, twin]) == [None] * 4


def test_letters_without_capitals_are_not_judged_by_words():
    answers = [(f"港口銀行{n}", "利率上升 銀行紧缩") for n in range(5)]
    assert across(answers) == [None] * 5


def test_two_sides_that_say_the_same_are_one_text():
    text = "Harbour lenders stop lending"
    assert BATCH.reason(text, HEADLINE, other="Harbour lenders stop lending.") == EQUAL_SIDES
    assert BATCH.reason(text, HEADLINE, other="Harbour lenders lend again") is None


def test_an_edit_may_be_another_input_of_the_batch():
    twin = "Harbour lenders cut mortgage rates after the bank of Merrowland tightens"
    assert Batch([HEADLINE, twin]).reason(twin, HEADLINE) is None
    assert Batch([HEADLINE, OTHER]).reason(OTHER, HEADLINE, same=[OTHER]) is None


def test_a_draft_that_is_put_into_the_next_prompt_was_not_copied():
    draft = "Harbour lenders face a wave of defaults"
    exchanges = [("Draft a risk.", draft), (f"Improve this draft: {draft}", draft)]
    assert BATCH.reason(draft, HEADLINE, shown=exchanges) is None
    assert BATCH.reason(draft, HEADLINE, shown=exchanges[1:]) == OF_PROMPT


def test_signs_and_currencies_tell_texts_apart():
    assert words("GDP +1.2%") != words("GDP -1.2%")
    assert words("$5 bn") != words("€5 bn")
    assert words("Rates, at last: up!") == words("rates at last up")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Ölpreise fallen nach dem Treffen der Opec", {"de"}),
        ("Les prix du pétrole chutent dans le monde", {"fr"}),
        ("Цены на нефть падают", {"ru"}),
        ("12%", set()),
        ("Nikkei", set()),
    ],
)
def test_a_text_of_a_few_words_is_sure_of_no_language(text, codes):
    found = languages(text)
    assert sum(found.values()) == pytest.approx(1)
    assert {code for code, probability in found.items() if probability > 0.5} == codes


@pytest.mark.parametrize("text", ["12%", "S&P 500", "$", "Nikkei", "Öl", "\ud800", "Apple Inc."])
def test_what_is_too_short_for_any_language_is_not_foreign(text):
    assert BATCH.reason(text, HEADLINE) != FOREIGN


def test_a_terse_headline_is_taken_to_be_in_its_batch_language():
    german = Batch(["Die Börse fällt nach der Rede auf den tiefsten Stand", "Ölpreise fallen"])
    text = "Die Ölpreise stürzen ab, weil der Markt von den Exporteuren enttäuscht ist"
    assert german.reason(text, "Ölpreise fallen") is None
    assert BATCH.reason(text, "Oil slips") == FOREIGN


TEXT = st.text(max_size=80)


@given(text=TEXT, source=TEXT, prompt=TEXT)
def test_any_text_has_a_reason_or_none(text, source, prompt):
    found = Batch([source]).reason(text, source, shown=[(prompt, "")], other=prompt)
    assert found is None or isinstance(found, str)
    if words(text) and words(text) == words(source):
        assert found == OF_INPUT


@given(text=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=9).map(" ".join))
def test_what_a_prompt_holds_whole_is_copied_whole(text):
    assert copied_share(text, runs(f"x {text} y")) == 1.0
    assert copied_share(text, Shown([("", text), (text, "")])) == 0.0


LINE = st.lists(st.sampled_from("abc"), max_size=6).map(" ".join)


@given(exchanges=st.lists(st.tuples(LINE, LINE), max_size=4))
def test_what_was_shown_is_what_stands_in_a_prompt_and_in_no_reply_before(exchanges):
    shown, written = set(), set()
    for prompt, reply in exchanges:
        shown |= runs(prompt) - written
        written |= runs(reply) - shown
    asked = Shown(exchanges)
    every = {run for pair in exchanges for text in pair for run in runs(text)} | {("x",), ()}
    assert {run for run in every if run in asked} == shown
