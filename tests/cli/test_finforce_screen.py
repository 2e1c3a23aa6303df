"""``contrafact finforce screen`` and ``release``: raw headlines in, a released set out."""

import csv
import hashlib
import json

import pytest
from tests.support.lines import one_line, read_lines, write_lines

from contrafact.families.finforce.data import CATEGORIES
from contrafact.families.finforce.release import row_schema
from contrafact.families.finforce.screen import (
    SheetDecision,
    category_meanings,
    outcome_of,
    proposal_by_rule,
    proposal_from_reply,
    screening_rules,
)

RATE = "Bank of Korea lowers its policy rate by 25 basis points"
PRICES = "Norvania's inflation slows to 3.1% in May"
COLUMN = "Opinion: The trouble with cheap money"
OPEN = "Veltra and Nordax end their quarrel over valves"
DOOMED = "Nordax goes on with doomed talks"

FOR = [
    (RATE, CATEGORIES[0]),
    ("ECB holds rates and says little", CATEGORIES[0]),
    (PRICES, "Macroeconomic indicators"),
    ("Unemployment rate in Norvania rises to 5%", "Labour & employment"),
    ("Short interest in Veltra Corp. grows by 20%", "Financial markets & asset performance"),
    ("Veltra shares tumble to a low of the year", "Financial markets & asset performance"),
    ("Nordax LLC Trims Stake in Veltra (NYSE:VLT)", "Financial markets & asset performance"),
    ("Veltra (LON:VLT) Trading 4.2% Higher", "Financial markets & asset performance"),
    ("Nordax completes acquisition of a valve maker", "Corporate strategy & operations"),
    ("Norvania imposes tariffs on steel", "Geopolitical & regulatory developments"),
]
AGAINST = [
    COLUMN,
    "Podcast: a week in bonds",
    "How to save for a house",
    "5 cheap stocks to buy now",
    "Industrial pump market to reach $40 billion by 2031",
    "7 reasons to sell your gold",
    "Guest post: the trouble with cheap money",
    "The 5 best dividend stocks right now",
    "Weekly horoscope for the thrifty",
    "Up 3%",
]
NEITHER = [
    OPEN,
    "Could the ECB cut its rate again?",
    "Analysts expect the Fed to cut rates in June",
    "Inflation may slow in May, economists say",
    "Veltra shares fall as inflation rises",  # two categories
    "Veltra shares jump after profits double",  # the price, or the profits?
    "ECB to seek ways to help small banks",
    "Week ahead: ECB holds rates, Veltra shares fall",
    "Inflation slows: what to watch this week",
]


@pytest.mark.parametrize(("headline", "category"), FOR)
def test_a_headline_whose_form_leaves_no_doubt_is_proposed_by_rule(headline, category):
    proposal = proposal_by_rule(headline)
    assert proposal is not None
    assert proposal.market_event is True
    assert proposal.category == category
    assert proposal.labelled_by.startswith("rule:")
    assert proposal.why


@pytest.mark.parametrize("headline", AGAINST)
def test_what_reports_no_event_is_refused_by_rule_with_a_reason(headline):
    proposal = proposal_by_rule(headline)
    assert proposal is not None
    assert proposal.market_event is False
    assert proposal.why


@pytest.mark.parametrize("headline", NEITHER)
def test_where_there_is_doubt_the_rules_are_silent(headline):
    assert proposal_by_rule(headline) is None


def test_every_rule_decides_something_here():
    shown = {p.labelled_by for h in [*AGAINST, *(h for h, _ in FOR)] if (p := proposal_by_rule(h))}
    rules = screening_rules()
    assert {f"rule:{rule.name}" for rule in (*rules.against, *rules.in_favour)} <= shown


def test_the_categories_of_the_prompt_are_the_benchmarks():
    assert tuple(name for name, _ in category_meanings()) == CATEGORIES


@pytest.mark.parametrize(
    ("reply", "event", "category"),
    [
        (
            '{"reason": "r", "event_status": true, "material_relevance": true, '
            '"category": "Labor and Employment"}',
            True,
            "Labour & employment",
        ),
        ('{"event_status": true, "material_relevance": false, "category": null}', False, None),
        ('{"event_status": "False", "material_relevance": "true"}', False, None),
        ('{"event_status": true, "material_relevance": true, "category": "Sport"}', None, None),
        ('{"event_status": true, "material_relevance": true, "category": null}', None, None),
        ('{"event_status": 1, "material_relevance": true}', None, None),
        ("It is a market event.", None, None),
    ],
)
def test_a_reply_is_read_strictly_and_an_invalid_one_leaves_the_headline_open(
    reply, event, category
):
    proposal = proposal_from_reply(reply, "m")
    assert proposal.market_event is event
    assert proposal.category == category
    assert (proposal.labelled_by == "nobody") == (event is None)
    assert ("invalid reply of m" in proposal.why) == (event is None)


def answer(decision, category=None, by="a"):
    return SheetDecision("h1", decision, category, by, None)


CORPORATE = "Corporate strategy & operations"
LABOUR, TRADE = "Labour & employment", "Supply chain & logistics"


@pytest.mark.parametrize(
    ("answers", "decision", "category"),
    [
        ([answer("yes")], "kept", TRADE),
        ([answer("yes", LABOUR)], "kept", LABOUR),
        ([answer("yes"), answer("no", by="b")], "hard case", None),
        ([answer("yes"), answer("yes", by="b"), answer("no", by="c")], "kept", TRADE),
        ([answer("yes"), answer("yes", LABOUR, by="b")], "hard case", None),
        ([answer("no"), answer("no", by="b"), answer("unsure", by="c")], "dropped", None),
        ([answer("unsure")], "hard case", None),
    ],
)
def test_the_majority_decides_and_ties_are_hard_cases(answers, decision, category):
    found = outcome_of(answers, TRADE)
    assert (found.decision, found.category) == (decision, category)


# Through the command line.


@pytest.fixture
def raw(tmp_path):
    texts = [RATE, PRICES, COLUMN, OPEN, PRICES.upper()]
    rows = [{"title": text, "summary": "More of it.", "date": "2025-05-02"} for text in texts]
    write_lines(tmp_path / "raw.jsonl", rows)
    return [*texts[:4]]


def fill(path, out, decisions, by):
    with path.open(newline="", encoding="utf-8") as stream:
        sheet = list(csv.DictReader(stream))
    for row in sheet:
        row["decision"], row["category"] = decisions.get(row["headline"], ("", ""))
        row["decided_by"] = by
    with out.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(sheet[0]))
        writer.writeheader()
        writer.writerows(sheet)


def test_without_a_model_what_the_rules_leave_is_open(quick_contrafact, raw, tmp_path):
    quick_contrafact("finforce", "screen", "raw.jsonl", "--out", "s.jsonl", code=0)
    found = {row["headline"]: row["market_event"] for row in read_lines(tmp_path / "s.jsonl")}
    assert found == {RATE: True, PRICES: True, COLUMN: False, OPEN: None}
    (gone,) = read_lines(tmp_path / "s.jsonl.dropped.jsonl")
    assert "the same text" in gone["dropped_because"]
    stages = [event["stage"] for event in read_lines(tmp_path / "s.jsonl.ledger.jsonl")]
    assert stages.count("screen (proposal)") == 4
    assert stages.count("screen (duplicates)") == 1


def test_a_model_is_asked_about_the_rest_alone(quick_contrafact, service, raw, tmp_path):
    command = ("finforce", "screen", "raw.jsonl", "--out", "s.jsonl", "--model", service.model)
    quick_contrafact(*command, env=service.environment, code=0)
    assert [*service.stats()["answered"].values()] == [1]
    row = read_lines(tmp_path / "s.jsonl")[3]
    assert row["headline"] == OPEN and row["market_event"] is True
    assert row["labelled_by"] == f"model:{service.model}"
    assert row["why"] == "a quarrel between firms ends"
    again = quick_contrafact(*command, env=service.environment)
    assert "no model was called" in again.stdout
    assert [*service.stats()["answered"].values()] == [1]


def test_failed_calls_are_tried_again_and_them_alone(
    quick_contrafact, start_service, raw, tmp_path
):
    with (tmp_path / "raw.jsonl").open("a") as stream:
        stream.write(json.dumps({"title": DOOMED}) + "\n")
    with start_service() as service:
        command = ("finforce", "screen", "raw.jsonl", "--out", "s.jsonl")
        command += ("--model", service.model, "--max-retries", "0")
        failed = quick_contrafact(*command, env=service.environment)
        assert failed.returncode == 1
        assert "1 of 6 headlines failed" in failed.stderr
        assert not (tmp_path / "s.jsonl").exists()
        service.mend()
        quick_contrafact(*command, env=service.environment, code=0)
        assert [*service.stats()["answered"].values()] == [1, 1]
    assert len(read_lines(tmp_path / "s.jsonl")) == 5


def test_another_set_is_kept_out(quick_contrafact, tmp_path):
    titles = [PRICES, "Maria Keller takes over at Nordax in spring"]
    write_lines(tmp_path / "raw.jsonl", [{"title": title} for title in titles])
    write_lines(tmp_path / "old.jsonl", [{"headline": PRICES.replace("May", "may")}])
    command = ("finforce", "screen", "raw.jsonl", "--out", "s.jsonl", "--against", "old.jsonl")
    quick_contrafact(*command, code=0)
    assert [row["headline"] for row in read_lines(tmp_path / "s.jsonl")] == titles[1:]
    (gone,) = read_lines(tmp_path / "s.jsonl.dropped.jsonl")
    assert "of the other set" in gone["dropped_because"]


def test_what_people_took_is_released_in_the_benchmarks_shape(quick_contrafact, raw, tmp_path):
    quick_contrafact("finforce", "screen", "raw.jsonl", "--out", "s.jsonl")
    sheet = tmp_path / "s.jsonl.sheet.csv"
    quarrel = "Corporate strategy and operations"
    fill(sheet, tmp_path / "a.csv", {RATE: ("yes", ""), OPEN: ("yes", quarrel)}, "anna")
    fill(sheet, tmp_path / "b.csv", {RATE: ("yes", ""), PRICES: ("no", "")}, "ben")
    release = ("finforce", "release", "s.jsonl", "--decisions", "a.csv", "--decisions", "b.csv")
    quick_contrafact(*release, "--out", "out", "--version", "1.2.0", code=0)
    folder = tmp_path / "out"
    assert json.loads((folder / "headlines.json").read_text()) == [
        {"headline": RATE, "classification": "market_event", "category": CATEGORIES[0]},
        {"headline": OPEN, "classification": "market_event", "category": CORPORATE},
    ]
    released = read_lines(folder / "headlines.jsonl")
    assert [row["reviewed_by"] for row in released] == [2, 1]
    assert all(set(row) == set(row_schema()["required"]) for row in released)
    assert "More of it" not in "".join(p.read_text() for p in folder.iterdir())
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert json.loads((folder / "schema.json").read_text()) == row_schema()
    assert "market-events 1.2.0" in (folder / "README.md").read_text()
    ledger = {e["item_id"]: e["decision"] for e in read_lines(tmp_path / "out.ledger.jsonl")}
    assert sorted(ledger.values()) == ["dropped", "kept", "kept"]
    check = quick_contrafact("data", "check", "out/headlines.json", code=0)
    assert "Layout: benchmark; 2 rows" in check.stdout

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    quick_contrafact(*release, "--out", "again", "--version", "1.2.0")
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == before
    other = quick_contrafact(*release, "--out", "out", "--version", "1.3.0")
    assert other.returncode == 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_proposals_that_nobody_saw_enter_on_demand_and_are_marked(quick_contrafact, raw, tmp_path):
    quick_contrafact("finforce", "screen", "raw.jsonl", "--out", "s.jsonl")
    quick_contrafact("finforce", "release", "s.jsonl", "--unreviewed", "--out", "out", code=0)
    released = read_lines(tmp_path / "out" / "headlines.jsonl")
    assert [(row["headline"], row["reviewed_by"]) for row in released] == [(RATE, 0), (PRICES, 0)]
    assert "seen by nobody" in (tmp_path / "out" / "README.md").read_text()


def test_what_cannot_be_released_is_one_line(quick_contrafact, raw, tmp_path):
    quick_contrafact("finforce", "screen", "raw.jsonl", "--out", "s.jsonl")
    identity = read_lines(tmp_path / "s.jsonl")[0]["id"]

    def refused(*arguments):
        return one_line(quick_contrafact("finforce", "release", *arguments, "--out", "out"))

    for row, message in (
        ("h0,yes,anna,", "'h0' is not a headline"),
        ("ID,perhaps,anna,", "'perhaps' is not a decision"),
        ("ID,yes,,", "nobody is named"),
        ("ID,yes,anna,Sport", "'Sport' is not one of the ten categories"),
    ):
        (tmp_path / "d.csv").write_text(
            f"item_id,decision,decided_by,category\n{row.replace('ID', identity)}\n"
        )
        assert f"d.csv:2: {message}" in refused("s.jsonl", "--decisions", "d.csv")
    for arguments, message in (
        (("s.jsonl",), "no decisions are given"),
        (("raw.jsonl", "--unreviewed"), "is not a file of screened headlines"),
        (("s.jsonl", "--unreviewed", "--version", "one"), "'one' is not a version"),
        (("s.jsonl", "--unreviewed", "--name", "a/b"), "'a/b' is not a name"),
    ):
        assert message in refused(*arguments)
    assert not (tmp_path / "out").exists()
