"""``contrafact rfc ledger``: attrition, and the errors that audits suggest."""

import csv

import pytest
from tests.support.lines import one_line, write_lines


def event(item, stage, decision, manipulation, **fields):
    return {
        "item_id": item,
        "article_id": item,
        "manipulation": manipulation,
        "stage": stage,
        "decision": decision,
        "by": "rule:x",
        "when": "2025-05-02T08:00:00+00:00",
        "why": "",
        **fields,
    }


@pytest.fixture
def build(tmp_path):
    rewritten = [
        event(f"p{n}", "rewrite", "dropped" if n % 4 == 0 else "kept", label, why="no quantity")
        for n, label in enumerate(["numerical"] * 40 + ["causal"] * 20)
    ]
    audited = [
        event(
            f"p{n}",
            "audit",
            "revised" if n == 1 else "kept",
            "numerical",
            by="person:b",
            inclusion_probability=0.2,
        )
        for n in (1, 2, 3, 5, 6, 7)
    ]
    write_lines(tmp_path / "r.ledger.jsonl", rewritten)
    write_lines(tmp_path / "a.ledger.jsonl", audited)


def test_articles_are_counted_by_month_and_manipulation(quick_contrafact, build, tmp_path):
    rows = [
        {"id": "a", "manipulation": "causal", "date": "2025-05-03"},
        {"id": "a", "manipulation": "flipping", "date": "2025-05-03"},
        {"id": "b", "candidates": ["causal", "numerical"], "date": "June 2, 2025"},
        {"id": "p", "article_id": "a", "manipulation": "causal", "date": "2025-05-03"},
        {"id": "c", "manipulation": "causal", "date": "soon"},
    ]
    write_lines(tmp_path / "rows.jsonl", rows)
    ledger = ("rfc", "ledger", "r.ledger.jsonl", "--out", "tables", "--dates")
    done = quick_contrafact(*ledger, "rows.jsonl", code=0)
    assert "Articles by month" in done.stdout
    assert (tmp_path / "tables" / "months.csv").read_text().splitlines() == [
        "month,all,causal,flipping,numerical",
        "2025-05,1,1,1,0",
        "2025-06,1,1,0,1",
        "no date,1,1,0,0",
    ]
    write_lines(tmp_path / "odd.jsonl", [{"date": "2025-05-03"}])
    assert "odd.jsonl:1: no field 'id'" in quick_contrafact(*ledger, "odd.jsonl", code=2).stderr


def test_it_shows_what_each_stage_left_and_the_rate_of_errors(quick_contrafact, build, tmp_path):
    result = quick_contrafact(
        "rfc", "ledger", "r.ledger.jsonl", "a.ledger.jsonl", "--out", "tables"
    )
    assert result.returncode == 0, result.stderr
    with (tmp_path / "tables" / "attrition.csv").open() as stream:
        found = {(row["stage"], row["category"]): row for row in csv.DictReader(stream)}
    assert found[("rewrite", "all")]["items"] == "60"
    assert found[("rewrite", "numerical")]["dropped"] == "10"
    assert float(found[("rewrite", "causal")]["retention"]) == 0.75
    assert found[("audit", "all")]["revised"] == "1"
    with (tmp_path / "tables" / "audit.csv").open() as stream:
        rates = list(csv.DictReader(stream))
    assert [row["category"] for row in rates] == ["numerical", "all"]
    assert float(rates[0]["error_rate"]) == pytest.approx(1 / 6)
    assert float(rates[0]["error_rate_low"]) < 1 / 6 < float(rates[0]["error_rate_high"])
    assert "rewrite dropped 15: no quantity" in result.stdout
    assert "16.7%" in result.stdout
    again = quick_contrafact("rfc", "ledger", "r.ledger.jsonl", "a.ledger.jsonl", "--out", "tables")
    assert again.stdout == result.stdout


def test_without_an_audit_it_says_that_there_is_none(quick_contrafact, build):
    result = quick_contrafact("rfc", "ledger", "r.ledger.jsonl", code=0)
    assert "so the errors left cannot be estimated" in result.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "x.jsonl: no such file"),
        ("", "x.jsonl: holds no events"),
        ('{"item_id": "a"}\n', "x.jsonl:1: is not a ledger event: stage"),
        (
            '{"item_id": "a", "stage": "x", "decision": "kept", "by": "rule:x", '
            '"manipulation": "numerics"}\n',
            "x.jsonl:1: is not a ledger event: manipulation",
        ),
        ("nonsense\n", "x.jsonl:1: is not a ledger event"),
    ],
)
def test_what_is_no_ledger_is_reported_in_one_line(quick_contrafact, tmp_path, content, message):
    if content is not None:
        (tmp_path / "x.jsonl").write_text(content)
    result = quick_contrafact("rfc", "ledger", "x.jsonl")
    assert message in one_line(result)
