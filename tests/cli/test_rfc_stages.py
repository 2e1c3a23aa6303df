"""The building stages through the command line: label, calibrate, finalize, release, study."""

import csv
import json

import jsonschema
import pytest
from tests.support.lines import one_line, read_lines, write_lines

from contrafact.corpus.ledger import read_ledger
from contrafact.families.rfc.records import Rewrite
from contrafact.records import NewsItem

NEWS = [
    ("Brackwater Ferries gained 8% on Monday", "Fares rose due to demand, the company said."),
    ("Tallow & Finch recalls its kettles", "Profit fell after the recall of 2,000 kettles."),
    ("Grain ships leave Port Sable", "The strike ended on 12 May 2025."),
    ("Ostrava mill lifts its forecast", "Sales may improve modestly, managers said."),
]


def flipped(n, **more):
    pair = Rewrite.of(
        "flipping",
        f"Shares of Brackwater Ferries rose {n}% on Monday. Analysts at Tallow & Co are bullish.",
        f"Shares of Brackwater Ferries fell {n}% on Monday. Analysts at Tallow & Co are bearish.",
        article_id=f"n{n}",
        rewriter="rules",
    )
    return {**pair.model_dump(), **more}


@pytest.fixture
def bucketed(tmp_path):
    candidates = (["numerical", "flipping", "causal"], ["flipping"], ["numerical"], ["sentiment"])
    return write_lines(
        tmp_path / "bucketed.jsonl",
        [
            {**NewsItem.of(title, summary).model_dump(), "candidates": names}
            for (title, summary), names in zip(NEWS, candidates, strict=True)
        ],
    )


@pytest.fixture
def pairs(tmp_path):
    return write_lines(tmp_path / "pairs.jsonl", [flipped(n) for n in range(2, 9)])


FINALIZE = (
    *("rfc", "finalize", "pairs.jsonl"),
    *("--decisions", "decisions.jsonl", "--out", "final.jsonl"),
)


def decision(item, who, verdict, **more):
    about = {"item_id": item, "stage": "annotation", "decided_by": who, "decision": verdict}
    return about | {"when": "2026-01-01T10:00:00Z"} | more


def test_labelling_by_rules_alone_and_again(quick_contrafact, bucketed, tmp_path):
    command = ("rfc", "label", "bucketed.jsonl", "--out", "labelled.jsonl")
    result = quick_contrafact(*command, code=0)
    assert [row["manipulation"] for row in read_lines(tmp_path / "labelled.jsonl")] == [
        *("numerical", "flipping", "causal", "flipping", "sentiment")
    ]
    assert "struck out" in result.stdout
    files = {p: p.read_bytes() for p in tmp_path.glob("labelled.jsonl*")}
    assert quick_contrafact(*command).returncode == 0
    assert {p: p.read_bytes() for p in tmp_path.glob("labelled.jsonl*")} == files
    one = quick_contrafact(
        "rfc", "label", "bucketed.jsonl", "--per-article", "one", "--out", "o.jsonl"
    )
    assert "2 items of 4 articles" in one.stdout
    apart = read_lines(tmp_path / "o.jsonl.apart.jsonl")
    assert "no model was asked" in apart[0]["reason"]
    assert len(read_ledger(tmp_path / "o.jsonl.ledger.jsonl")) == 2 + 2 + 1


def test_a_model_is_asked_for_open_articles_once(quick_contrafact, bucketed, tmp_path, service):
    command = (
        *("rfc", "label", "bucketed.jsonl", "--per-article", "one", "--out", "o.jsonl"),
        *("--model", service.model, "--max-retries", "0"),
    )
    for _ in range(2):
        quick_contrafact(*command, env=service.environment, code=0)
    assert sum(service.stats()["answered"].values()) == 2
    (reason,) = {row["reason"] for row in read_lines(tmp_path / "o.jsonl.apart.jsonl")}
    assert "the model's reply has no label" in reason, "the stand-in answers with something else"
    other = quick_contrafact(*command[:-3], service.judge, *command[-2:], env=service.environment)
    assert "it differs in model" in one_line(other)


def test_a_call_that_fails_is_reported_and_made_again(quick_contrafact, tmp_path, service):
    titles = ("A doomed ferry gained 8% due to demand", "Another ferry gained 9% due to demand")
    rows = [
        {**NewsItem.of(title).model_dump(), "candidates": ["numerical", "causal"]}
        for title in titles
    ]
    write_lines(tmp_path / "in.jsonl", rows)
    for _ in range(2):
        result = quick_contrafact(
            *("rfc", "label", "in.jsonl", "--per-article", "one", "--out", "o.jsonl"),
            *("--model", service.model, "--max-retries", "0"),
            env=service.environment,
        )
        assert result.returncode == 1
        assert "1 call failed" in result.stderr
        assert "Traceback" not in result.stderr
    stats = service.stats()
    assert sum(stats["answered"].values()) == 1
    assert stats["met"]["500"] >= 2
    reasons = [row["reason"] for row in read_lines(tmp_path / "o.jsonl.apart.jsonl")]
    assert "the call failed" in reasons[0]


def test_calibration_says_what_the_examples_say(quick_contrafact, tmp_path):
    rows = [flipped(n, valid=True) for n in range(2, 12)]
    rows.append(
        {**flipped(40), "rewritten": flipped(40)["original"] + " So they say.", "valid": False}
    )
    write_lines(tmp_path / "examples.jsonl", rows)
    quick_contrafact("rfc", "calibrate", "examples.jsonl", "--out", "calibration.json", code=0)
    (found,) = json.loads((tmp_path / "calibration.json").read_text())["manipulations"]
    assert 0.9 <= found["band"][0] <= 1.0 <= found["band"][1] <= 1.1
    assert found["valid"] == 10


@pytest.mark.slow
def test_from_decisions_to_a_release_and_back(quick_contrafact, pairs, tmp_path):
    given = read_lines(pairs)
    decisions = [
        decision(row["id"], who, "fail" if (n, who) == (0, "ben") else "pass", why="")
        for n, row in enumerate(given[:-1])
        for who in ("ann", "ben")
    ]
    write_lines(tmp_path / "decisions.jsonl", decisions)
    quick_contrafact(*FINALIZE, code=0)
    final = read_lines(tmp_path / "final.jsonl")
    hard = read_lines(tmp_path / "final.jsonl.hard.jsonl")
    dropped = read_lines(tmp_path / "final.jsonl.dropped.jsonl")
    assert [row["id"] for row in final] == [row["id"] for row in given[1:-1]]
    assert [row["id"] for row in hard] == [given[0]["id"]]
    assert [row["id"] for row in dropped] == [given[-1]["id"]]
    with (tmp_path / "final.jsonl.retention.csv").open() as stream:
        table = {row["category"]: row for row in csv.DictReader(stream)}
    assert (table["flipping"]["before"], table["flipping"]["retained"]) == ("7", "5")
    before = (tmp_path / "final.jsonl").read_bytes()
    assert quick_contrafact(*FINALIZE).returncode == 0
    assert (tmp_path / "final.jsonl").read_bytes() == before

    command = ("rfc", "release", "final.jsonl", "--name", "demo", "--out", "release")
    result = quick_contrafact(*command, code=0)
    assert "5 pairs and 1 hard cases" in result.stdout
    released = (tmp_path / "release" / "pairs.jsonl").read_text(encoding="utf-8")
    assert "rose" not in released
    assert quick_contrafact(*command).returncode == 0

    news = [{"title": row["original"], "summary": ""} for row in given]
    write_lines(tmp_path / "news.jsonl", news)
    result = quick_contrafact(
        *("rfc", "hydrate", "release/pairs.jsonl", "--news", "news.jsonl", "--out", "again.jsonl")
    )
    assert result.returncode == 0, result.stderr
    assert [row["id"] for row in read_lines(tmp_path / "again.jsonl")] == [
        row["id"] for row in final
    ]


def test_an_experts_wording_is_kept_against_a_rule_and_says_so(quick_contrafact, pairs, tmp_path):
    first, second = read_lines(pairs)[:2]
    new = {row["id"]: row["rewritten"].replace("%", "5%") for row in (first, second)}
    assert all(new[row["id"]] != row["rewritten"] for row in (first, second))
    decisions = [
        decision(row["id"], who, "pass") for row in (first, second) for who in ("ann", "ben")
    ]
    revised = {"stage": "expert-review", "rewritten": new[first["id"]], "why": "it is so"}
    decisions.append(decision(first["id"], "eve", "revise", **revised))
    write_lines(tmp_path / "pairs.jsonl", [first, second | {"rewritten": new[second["id"]]}])
    write_lines(tmp_path / "d.jsonl", decisions)
    result = quick_contrafact(
        "rfc", "finalize", "pairs.jsonl", "--decisions", "d.jsonl", "--out", "final.jsonl"
    )
    assert result.returncode == 0, result.stderr
    assert "1 of them are kept by an expert's decision, against a rule" in result.stdout
    (kept,) = read_lines(tmp_path / "final.jsonl")
    assert (kept["reviewed_id"], kept["rewritten"]) == (first["id"], new[first["id"]])
    assert kept["against_rules"][0].startswith("number-changed ('")
    assert kept["review"].endswith("; eve: it is so")
    (hard,) = read_lines(tmp_path / "final.jsonl.hard.jsonl")
    assert hard["id"] == second["id"] and "but it breaks number-changed" in hard["reason"]


def test_a_poor_audit_stops_everything(quick_contrafact, pairs, tmp_path):
    rows = [
        decision(
            row["id"], "eve", "fail" if n < 2 else "pass", stage="audit", inclusion_probability=0.5
        )
        for n, row in enumerate(read_lines(pairs))
    ]
    write_lines(tmp_path / "decisions.jsonl", rows)
    result = quick_contrafact(*FINALIZE)
    assert result.returncode == 1
    assert "under 80% in flipping" in result.stderr
    assert not (tmp_path / "final.jsonl").exists()
    assert quick_contrafact(*FINALIZE, "--audit-floor", "0.7").returncode == 0


def test_without_reviewers_pairs_are_undecided_and_say_so(quick_contrafact, pairs, tmp_path):
    command = ("rfc", "finalize", "pairs.jsonl", "--unreviewed", "keep", "--out", "f.jsonl")
    held = quick_contrafact(*command, code=0)
    assert "f.jsonl.review.jsonl: 7 pairs are undecided" in held.stdout
    assert read_lines(tmp_path / "f.jsonl") == []
    assert {row["passed"] for row in read_lines(tmp_path / "f.jsonl.review.jsonl")} == {None}
    result = quick_contrafact(*command, "--undecided", "keep", code=0)
    assert "7 of them were not reviewed" in result.stdout
    assert {row["review"] for row in read_lines(tmp_path / "f.jsonl")} == {"unreviewed"}
    marked = quick_contrafact("rfc", "release", "f.jsonl", "--out", "marked")
    assert "7 undecided pairs are among them" in marked.stdout
    assert "7 of the pairs are undecided" in (tmp_path / "marked" / "README.md").read_text()
    ledger = quick_contrafact("rfc", "ledger", "f.jsonl.ledger.jsonl")
    assert "finalize left 7 undecided" in ledger.stdout


def test_what_a_judge_found_decides_pairs(quick_contrafact, pairs, tmp_path):
    ids = [row["id"] for row in read_lines(pairs)]
    fault = {"rule": "meaning-reversed", "message": "'bearish' stands"}
    write_lines(
        tmp_path / "checks.jsonl",
        [
            {"id": ids[0], "passed": True, "violations": [], "review": []},
            {"id": ids[1], "passed": False, "violations": [fault], "review": []},
            {
                "id": ids[2],
                "passed": None,
                "violations": [],
                "review": [{"rule": "meaning-undecided", "message": "no verdict on reversed"}],
            },
        ],
    )
    result = quick_contrafact(
        *("rfc", "finalize", "pairs.jsonl", "--checks", "checks.jsonl", "--out", "f.jsonl"),
        *("--unreviewed", "keep", "--undecided", "keep"),
    )
    assert result.returncode == 0, result.stderr
    rows = read_lines(tmp_path / "f.jsonl")
    assert [row["passed"] for row in rows] == [True, *[None] * 5]
    assert rows[1]["undecided"] == "no verdict on reversed"
    (dropped,) = read_lines(tmp_path / "f.jsonl.dropped.jsonl")
    assert dropped["reason"] == "breaks meaning-reversed ('bearish' stands)"


def test_the_schema_of_decisions_is_printed(quick_contrafact):
    result = quick_contrafact("rfc", "finalize", "--schema")
    jsonschema.Draft202012Validator.check_schema(json.loads(result.stdout))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("label none.jsonl --out o.jsonl", "none.jsonl: no such file"),
        ("label twice.jsonl --out o.jsonl", "twice.jsonl:2: repeats line 1"),
        ("label pairs.jsonl --out o.jsonl", "pairs.jsonl:1: no field 'title'"),
        ("label bucketed.jsonl --out bucketed.jsonl", "is the input as well"),
        ("label bucketed.jsonl --out o.jsonl --model nosuch/m", "cannot use the model 'nosuch/m'"),
        ("calibrate pairs.jsonl", "pairs.jsonl:1: no field 'valid'"),
        ("finalize latin.jsonl --out o.jsonl", "latin.jsonl:2: is not UTF-8"),
        ("finalize wrong.jsonl --out o.jsonl", "wrong.jsonl:1: 'flopping' is not a manipulation"),
        (
            "finalize pairs.jsonl --decisions bad.jsonl --out o.jsonl",
            "bad.jsonl:1: there is no item",
        ),
        ("release pairs.jsonl --version one --out r", "'one' is not a version"),
        ("release pairs.jsonl --out pairs.jsonl", "pairs.jsonl: is a file"),
        ("release pairs.jsonl --out full", "full: holds something else"),
        (
            "hydrate twice.jsonl --news twice.jsonl --out o.jsonl",
            "twice.jsonl:1: ",
        ),
        ("study sample pairs.jsonl --out s.txt", "s.txt: a study's sheet is a CSV or"),
        ("study score none.csv", "none.csv: no such file"),
        ("study score note.csv none.csv", "none.csv: no such file"),
        ("study score note.csv", "note.csv: no key is next to this sheet"),
    ],
)
def test_what_is_wrong_is_reported_in_one_line(
    quick_contrafact, bucketed, pairs, tmp_path, command, message
):
    article = {"id": "a", "title": "It rose", "candidates": ["flipping"]}
    write_lines(tmp_path / "twice.jsonl", [article, article])
    write_lines(tmp_path / "wrong.jsonl", [flipped(2, manipulation="flopping")])
    write_lines(tmp_path / "bad.jsonl", [decision("p0", "ann", "pass")])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").write_text("mine")
    (tmp_path / "note.csv").write_text("item,answer\ni1,pass\n")
    good = json.dumps(flipped(2)).encode()
    (tmp_path / "latin.jsonl").write_bytes(good + b'\n{"id": "Soci\xe9t\xe9"}\n')
    assert message in one_line(quick_contrafact("rfc", *command.split()))
    assert not list(tmp_path.glob("o.jsonl"))
