"""FIN-FORCE in a training: what is asked, how replies are read, what checks say."""

import pytest

from contrafact.families.finforce.training import (
    TRAINING,
    check_pairs,
    pair_reply,
    read_headline,
    read_reply,
)
from contrafact.family.training import CheckedReply
from contrafact.training.evaluation import metrics_rows

HEADLINE = "Dunmar central bank raises its rate to 6% as food prices climb"
PAIR = {
    "risk": "Dunmar central bank's rate of 6% sinks housing shares as loan losses mount",
    "opportunity": "Dunmar central bank's rate of 6% steadies food prices and lifts bank profits",
}


def test_an_answer_is_read_back_as_it_was():
    assert read_reply(pair_reply(HEADLINE, PAIR)).answer == PAIR


# Built-in checks


def points(risk: str, opportunity: str, headline: str = HEADLINE) -> CheckedReply:
    text = pair_reply(headline, {"risk": risk, "opportunity": opportunity})
    return check_pairs([headline], [read_reply(text)])[0]


def test_a_good_pair_beats_its_faults_and_what_cannot_be_read_has_nothing():
    best = points(PAIR["risk"], PAIR["opportunity"])
    assert best.score > 7
    # Which way a text points is not for words to say.
    assert points(PAIR["opportunity"], PAIR["risk"]).score == pytest.approx(best.score)
    copied = points(HEADLINE, HEADLINE + " today")
    assert copied.values["forward"] == 0
    assert copied.score < best.score
    assert (
        points("Shoes are nice to have", PAIR["opportunity"]).score < best.score
    )  # off the subject
    assert points(f"Risk: {PAIR['risk']}", PAIR["opportunity"]).values["form"] == 0.5
    numbers = points(PAIR["risk"] + " by 40%", PAIR["opportunity"])
    assert numbers.values["forward"] == 0.5
    unread = check_pairs([HEADLINE], [read_reply("Sorry, I cannot do that.")])[0]
    assert (unread.score, unread.values) == (0, {})


def test_a_reply_that_has_to_be_repaired_loses_a_point():
    clean = pair_reply(HEADLINE, PAIR)
    whole, repaired = check_pairs(
        [HEADLINE] * 2, [read_reply(clean), read_reply(f"Here you are: {clean}")]
    )
    assert whole.score == pytest.approx(repaired.score + 1)


# New headlines


@pytest.mark.parametrize(
    ("text", "headline", "reason"),
    [
        (
            '"Brant Air halts its flights to Velmora"',
            "Brant Air halts its flights to Velmora",
            None,
        ),
        ("Headline: Osk Mills cuts its grain exports", "Osk Mills cuts its grain exports", None),
        ("<example>Osk Mills cuts grain exports</example>", "Osk Mills cuts grain exports", None),
        ("Osk Mills cuts grain exports\nIt said so.", "Osk Mills cuts grain exports", None),
        ("  ", "", "empty reply"),
        ("Shares fall", "Shares fall", "under 4 words"),
        ("Osk Mills <|im_end|> cuts grain exports", None, "holds a tag or invisible characters"),
        ("Osk Mills cuts grain as Osk Mills cuts grain", None, "says the same words twice"),
    ],
)
def test_a_headline_is_found_in_a_reply_or_refused_with_a_reason(text, headline, reason):
    found, why = read_headline(text)
    assert why == reason
    assert headline is None or found == headline


def test_a_headline_that_was_cut_off_is_none():
    assert read_headline("Osk Mills cuts its grain", ended=False)[1] == (
        "cut off at the token limit"
    )


def test_measures_of_valid_answers_stand_in_the_table_of_metrics():
    def reply(passed):
        values = {"valid": 1.0, "clean": 1.0, "score": 5.0}
        return {"values": values if passed is None else {**values, "subject": passed}}

    rows = metrics_rows(
        {"base": [reply(0.0), reply(1.0)], "warm-up": [reply(1.0), reply(None)]}, TRAINING, seed=0
    )
    assert [row["subject"] for row in rows] == [0.5, 1.0]
    assert [row["subject_n"] for row in rows] == [2, 1]
