"""Looking back: what counts as borne out, as open, as nobody's to say; and how often."""

import json
import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.corpus.related import Dated, Related, moment_of
from contrafact.errors import InputError
from contrafact.families.finforce.cards import LIKELIHOOD_RANGES
from contrafact.families.finforce.hindsight import (
    Match,
    Scenario,
    ScenarioNotes,
    load_scenarios,
    looked_at,
    matches_of,
    rates_of,
    stated_likelihood,
)
from contrafact.families.finforce.hindsight_page import calibration_points, hindsight_page, results
from contrafact.records import SIDES, NewsItem, Verdict

FACTS = {"window": 30, "last_day": "2025-06-01", "judges": ["j"], "candidates": 3}


def scenario(number, *, side="risk", day="2025-04-01", stated=None):
    said = stated_likelihood(stated) if stated is not None else ()
    text = f"Lenders of town {number} fail"
    return Scenario(f"c{number}", 1, f"Headline {number}", side, text, moment_of(day), *said)


def verdict(passed):
    reason = None if passed is not None else "mumbled"
    return Verdict(criterion="borne_out", passed=passed, invalid=reason, judge="j")


def looked(rows, *, last_day="2025-06-01"):
    """Args: scenarios with the verdicts on their matches."""
    matches, verdicts = [], {}
    for one, said in rows:
        for at, passed in enumerate(said):
            match = Match(one, NewsItem.of(f"News {one.id} {at}", date="2025-04-20"))
            matches.append(match)
            verdicts[match.key] = [verdict(passed)]
    scenarios = [one for one, _ in rows]
    return looked_at(scenarios, matches, verdicts, window=30, last_day=last_day)


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ([], "not borne out"),
        ([False, False], "not borne out"),
        ([False, True], "borne out"),
        ([None, True], "borne out"),
        ([None, False], "undecided"),
    ],
)
def test_one_match_bears_a_scenario_out_and_an_unread_one_leaves_it_open(verdicts, outcome):
    (one,) = looked([(scenario(1), verdicts)])
    assert one.outcome == outcome
    assert (one.borne_out_by is not None) == (outcome == "borne out")


def test_a_window_that_goes_beyond_the_news_is_open_whatever_was_found():
    rows = [(scenario(1), [True]), (scenario(2, day="2025-05-20"), [True])]
    found = looked(rows)
    assert [one.outcome for one in found] == ["borne out", "open"]
    whole = rates_of(found, control=False)[0]
    assert (whole.borne_out, whole.decided) == (1, 1)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.sampled_from(SIDES),
            st.sampled_from([None, *LIKELIHOOD_RANGES, 0.1, "35%"]),
            st.lists(st.sampled_from([True, False, None]), max_size=3),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_rates_count_every_closed_scenario_once(drawn):
    rows = [
        (Scenario(f"c{n}", 1, f"Headline {head}", side, "Lenders fail", moment_of("2025-04-01"),
                  *(stated_likelihood(word) or ())), said)
        for n, (head, side, word, said) in enumerate(drawn)
    ]  # fmt: skip
    found = looked(rows)
    rates = rates_of(found, control=False)
    for group in ("all", "side"):
        own = [one for one in rates if one.group == group]
        assert sum(one.decided + one.undecided for one in own) == len(rows)
        assert sum(one.borne_out for one in own) == sum(True in said for _, said in rows)
    for one in rates:
        if one.decided:
            assert one.hits.estimate == pytest.approx(one.borne_out / one.decided)
        assert one.strict.estimate <= (one.hits.estimate if one.decided else 0) + 1e-12
        assert one.strict.clusters <= 6
    assert json.dumps(results(found, rates, FACTS))
    assert "<h1>" in hindsight_page(found, rates, FACTS)


def test_intervals_resample_headlines():
    rows = [(scenario(n), [n % 2 == 0]) for n in range(20)]
    apart = rates_of(looked(rows), control=False)[0].hits
    same = [
        (Scenario(s.id, 1, f"Headline {n // 10}", s.side, s.text, s.moment), [n < 10])
        for n, (s, _) in enumerate(rows)
    ]
    together = rates_of(looked(same), control=False)[0].hits
    assert apart.clusters == 20 and together.clusters == 2
    assert apart.estimate == together.estimate == 0.5
    assert math.isnan(together.low) or together.high - together.low > apart.high - apart.low


@pytest.mark.parametrize(
    ("value", "group", "low", "high"),
    [
        ("Very  likely", "very likely", 0.9, 1), ("unlikely", "unlikely", 0, 1 / 3),
        (0.35, "20 to 40%", 0.35, 0.35), ("35%", "20 to 40%", 0.35, 0.35),
        (1, "80 to 100%", 1, 1), ("0", "0 to 20%", 0, 0),
    ],
)  # fmt: skip
def test_a_likelihood_is_a_word_or_a_probability(value, group, low, high):
    assert stated_likelihood(value) == (group, pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize("value", ["perhaps", 35, -0.1, "nan", ""])
def test_what_is_neither_is_none(value):
    assert stated_likelihood(value) is None


def test_calibration_is_by_stated_likelihood():
    words = ["unlikely"] * 6 + ["likely"] * 6
    rows = [(scenario(n, stated=word), [n % 6 < (1 if word == "unlikely" else 4)])
            for n, word in enumerate(words)]  # fmt: skip
    points = calibration_points(rates_of(looked(rows), control=False))
    assert [(one.name, one.hits) for one in points] == [
        ("unlikely", pytest.approx(1 / 6)),
        ("likely", pytest.approx(4 / 6)),
    ]
    assert (points[0].low, points[0].high) == (0, pytest.approx(1 / 3))


def test_scenarios_of_generate_and_of_a_row_a_side_are_read(tmp_path):
    wide, notes = tmp_path / "wide.csv", ScenarioNotes()
    pd.DataFrame(
        {
            "headline": ["Up", "Down", "Flat"],
            "date": ["2025-04-01", "2025-04-02T10:00:00Z", "someday"],
            "risk_counterfactual": ["'=Up, then down", "Worse", "W"],
            "opportunity_counterfactual": ["More", None, "B"],
            "opportunity_counterfactual_2": ["Even more", None, None],
            "degenerate": [None, "risk repeats its input", None],
            "risk_likelihood": ["unlikely", "likely", None],
            "opportunity_likelihood": ["dunno", None, None],
        }
    ).to_csv(wide, index=False)
    found = load_scenarios(wide, notes)
    assert [(one.side, one.text, one.stated) for one in found] == [
        ("risk", "=Up, then down", "unlikely"),
        ("opportunity", "More", None),
        ("opportunity", "Even more", None),
    ]
    assert notes.undated == [4] and notes.empty == [3, 3, 3] and notes.unread == [2, 2]
    long = tmp_path / "long.jsonl"
    row = {
        "headline": "Up",
        "date": "2025-04-01",
        "side": "Risk",
        "text": "Down",
        "likelihood": 0.2,
    }
    long.write_text(json.dumps(row), encoding="utf-8")
    (one,) = load_scenarios(long)
    assert (one.side, one.text, one.stated) == ("risk", "Down", "20 to 40%")
    with pytest.raises(InputError, match="no scenario"):
        long.write_text('{"headline": "Up", "date": "2025-04-01"}', encoding="utf-8")
        load_scenarios(long)


def test_matches_are_later_and_the_control_is_earlier():
    news = [
        Dated(NewsItem.of(f"Lenders of town {n} fail, says day {day}", date=day), moment_of(day))
        for n, day in enumerate(("2025-03-20", "2025-04-01", "2025-04-10", "2025-06-10"))
    ]
    found = matches_of([scenario(1)], Related(news), window=30, count=3, control=True)
    assert [(one.news.date, one.control) for one in found] == [
        ("2025-04-10", False),
        ("2025-03-20", True),
    ]


def test_the_page_shows_hostile_text_as_text():
    one = Scenario("c", 1, "<script>x</script>", "risk", "a\u202eb", moment_of("2025-04-01"))
    page = hindsight_page(
        *[found := looked([(one, [True])]), rates_of(found, control=False)], FACTS
    )
    assert "<script>" not in page and "\u202e" not in page and "U+202E" in page


def test_scenarios_are_looked_back_on_through_the_command_line(quick_contrafact, writers, tmp_path):
    places = ("Norwind", "Talmora", "Ostrava", "Verdania", "Sundholm", "Karvia")
    pd.DataFrame(
        {
            "headline": [f"{place} cuts its key rate" for place in places],
            "date": "2025-04-01",
            "risk_counterfactual": [f"{place} cuts its key rate as banks fail" for place in places],
            "opportunity_counterfactual": [f"{place} lends more again" for place in places],
            "risk_likelihood": ["likely", "unlikely"] * 3,
        }
    ).to_csv(tmp_path / "scenarios.csv", index=False)
    titles = [(f"{place} banks fail", "2025-04-11") for place in places[:3]]
    titles += [("Nothing new under the sun", "2025-06-01"), ("Norwind banks fail", "2025-03-11")]
    pd.DataFrame(titles, columns=["title", "date"]).to_csv(tmp_path / "news.csv", index=False)
    command = (
        *("finforce", "hindsight", "scenarios.csv", "--news", "news.csv", "--control"),
        *("--judge", "openai-api/fake/judge", "--out", "back"),
    )
    done = quick_contrafact(*command, env=writers)
    assert done.returncode == 0, done.stderr
    whole = json.loads((tmp_path / "back" / "hindsight.json").read_text(encoding="utf-8"))
    rates = {one["name"]: one for one in whole["rates"]}
    assert whole["outcomes"]["open"] == 0
    assert rates["risk"]["borne_out"] == 3 and rates["risk"]["decided"] == 6
    assert rates["opportunity"]["borne_out"] == 0
    assert rates["risk"]["control_rate"]["estimate"] > 0
    rows = pd.read_csv(tmp_path / "back" / "hindsight.csv")
    assert rows.loc[rows["outcome"].eq("borne out"), "news_title"].tolist() == [
        title for title, _ in titles[:3]
    ]
    assert "<svg" in (tmp_path / "back" / "hindsight.html").read_text(encoding="utf-8")
    again = quick_contrafact(*command, env=writers)
    assert "no model was called" in again.stdout
    other = quick_contrafact(*command, "--window", "5", env=writers)
    assert other.returncode == 2 and "another `finforce hindsight`" in other.stderr
