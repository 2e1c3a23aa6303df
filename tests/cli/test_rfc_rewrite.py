"""``contrafact rfc rewrite``: pairs out, in order, with what was dropped and the ledger."""

from collections import Counter
from pathlib import Path

import pytest
from tests.support.lines import one_line, read_lines, write_lines

ROWS = [
    ("numerical", "Norrick Steel shares rise", "The shares rose 12% to $31 on Tuesday."),
    ("causal", "Norrick Steel names a chief", "She begins in May."),
    ("flipping", "Norrick Steel shares rise", "The shares rose 12% to $31 on Tuesday."),
    ("sentiment", "Norrick Steel sees growth", "Sales rose on solid demand, and may improve."),
]


def write(path: Path, rows=ROWS) -> Path:
    lines = [
        {"title": t, "summary": s, "manipulation": m, "ticker": "NRK", "evidence": {"n": n}}
        for n, (m, t, s) in enumerate(rows)
    ]
    return write_lines(path, lines)


def replayed(pair: dict) -> str:
    text = pair["original"]
    for edit in reversed(pair["edits"]):
        assert text[edit["start"] : edit["end"]] == edit["before"]
        text = text[: edit["start"]] + edit["after"] + text[edit["end"] :]
    return text


def test_pairs_what_was_dropped_and_the_ledger(quick_contrafact, tmp_path):
    write(tmp_path / "in.jsonl", [*ROWS, (*ROWS[0][:1], "Norrick Steel climbs", "It rose 9%.")])
    done = quick_contrafact("rfc", "rewrite", "in.jsonl", "--out", "pairs.jsonl", code=0)
    assert "5 rows: 2 rewritten, 3 dropped; written to pairs.jsonl" in done.stderr
    assert "flipping, sentiment, causal need --model M" in done.stderr
    pairs = read_lines(tmp_path / "pairs.jsonl")
    for pair in pairs:
        assert replayed(pair) == pair["rewritten"] != pair["original"]
        assert (pair["manipulation"], pair["rewriter"]) == ("numerical", "rules")
        assert pair["ticker"] == "NRK"
        assert pair["passed"] is True
    assert [pair["evidence"]["n"] for pair in pairs] == [0, 4]
    dropped = read_lines(tmp_path / "pairs.jsonl.dropped.jsonl")
    assert {row["reason"] for row in dropped} == {
        "rules write numerical pairs only; this one needs a model"
    }
    events = read_lines(tmp_path / "pairs.jsonl.ledger.jsonl")
    assert [event["decision"] for event in events] == ["kept", *["dropped"] * 3, "kept"]
    assert events[4]["item_id"] == pairs[1]["id"]
    quick_contrafact("rfc", "check", "pairs.jsonl", "--out", "checked.jsonl", code=0)


def test_a_title_and_a_text_are_both_read_and_carried_to_the_check(quick_contrafact, tmp_path):
    row = {"title": "Norrick Steel reports", "manipulation": "numerical"}
    text = "The shares rose 12% to $31 on Tuesday."
    write_lines(tmp_path / "in.jsonl", [{**row, "text": text}])
    quick_contrafact("rfc", "rewrite", "in.jsonl", "--out", "pairs.jsonl", code=0)
    (pair,) = read_lines(tmp_path / "pairs.jsonl")
    assert pair["original"] == f"Norrick Steel reports. {text}" and "$31" not in pair["rewritten"]
    assert pair["title"] == "Norrick Steel reports" and "text" not in pair
    del pair["original"]
    write_lines(tmp_path / "apart.jsonl", [{**pair, "text": text}])
    for file in ("pairs.jsonl", "apart.jsonl"):
        quick_contrafact("rfc", "check", file, "--out", f"{file}.checks", code=0)
    assert read_lines(tmp_path / "pairs.jsonl.checks") == read_lines(
        tmp_path / "apart.jsonl.checks"
    )
    write_lines(tmp_path / "bad.jsonl", [{**pair, "text": 7}])
    done = quick_contrafact("rfc", "check", "bad.jsonl", code=2)
    assert "there is no 'original'" in done.stdout + done.stderr


def test_one_seed_one_result_and_a_finished_one_is_left_alone(quick_contrafact, tmp_path):
    write(tmp_path / "in.jsonl")
    for out in ("a.jsonl", "b.jsonl"):
        quick_contrafact("rfc", "rewrite", "in.jsonl", "--seed", "5", "--out", out)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    stamp = (tmp_path / "a.jsonl").stat().st_mtime_ns
    again = quick_contrafact("rfc", "rewrite", "in.jsonl", "--seed", "5", "--out", "a.jsonl")
    assert "nothing is left to do" in again.stdout
    assert (tmp_path / "a.jsonl").stat().st_mtime_ns == stamp
    other = quick_contrafact("rfc", "rewrite", "in.jsonl", "--seed", "6", "--out", "a.jsonl")
    assert "seed" in one_line(other)
    quick_contrafact("rfc", "rewrite", "in.jsonl", "--seed", "6", "--out", "c.jsonl")
    assert (tmp_path / "c.jsonl").read_bytes() != (tmp_path / "a.jsonl").read_bytes()


NEWS = [
    ("flipping", "Norrick Steel shares rise", "The shares rose 12% to $31 on strong demand."),
    ("sentiment", "Norrick Steel shares rise", "The shares rose 12% to $31 on strong demand."),
    ("causal", "Norrick Steel shares rise", "The shares rose 12% to $31 due to demand for pipes."),
    ("numerical", "Norrick Steel shares rise", "The shares rose 12% to $31 on strong demand."),
]


def test_a_model_is_asked_again_at_most_so_often(quick_contrafact, pair_service, tmp_path):
    write(tmp_path / "in.jsonl", NEWS[3:])
    model = f"{pair_service.model}-copy"
    done = quick_contrafact(
        *("rfc", "rewrite", "in.jsonl", "--model", model, "--attempts", "2", "--out", "p.jsonl"),
        env=pair_service.environment,
    )
    assert done.returncode == 0, done.stderr
    assert read_lines(tmp_path / "p.jsonl") == []
    (dropped,) = read_lines(tmp_path / "p.jsonl.dropped.jsonl")
    assert dropped["attempts"] == 2
    assert dropped["violations"]
    stats = pair_service.stats()
    assert sum(stats["answered"].values()) == 2
    assert stats["settings"]["writer-copy: temperature"] == [0.1]
    assert stats["settings"]["writer-copy: top_p"] == [0.3]
    (event,) = read_lines(tmp_path / "p.jsonl.ledger.jsonl")
    assert event["by"] == f"model:{model}"


@pytest.mark.parametrize(
    ("judge", "fault", "kept", "undecided"),
    [
        (None, "half", 3, 3),
        ("judge", "half", 0, 0),  # a judge fails what only meaning is against, to the last try
        ("judge", "sound", 3, 0),
        ("judge-lost", "half", 3, 3),
        ("judge", "name", 0, 0),
    ],
)
def test_meaning_is_a_judges(
    quick_contrafact, pair_service, tmp_path, judge, fault, kept, undecided
):
    write(tmp_path / "in.jsonl", NEWS[:3])
    judges = () if judge is None else ("--judge", f"openai-api/fake/{judge}")
    command = ("rfc", "rewrite", "in.jsonl", "--model", f"{pair_service.model}-{fault}", *judges)
    done = quick_contrafact(*command, "--out", "p.jsonl", env=pair_service.environment, code=0)
    pairs = read_lines(tmp_path / "p.jsonl")
    assert len(pairs) == kept
    assert sum(pair["passed"] is None for pair in pairs) == undecided
    assert (" undecided: " in done.stderr) == bool(undecided)
    reasons = {pair.get("undecided", "").partition(" on ")[0] for pair in pairs} - {""}
    if undecided:
        assert reasons == {"no verdict" if judge else "no judge was asked what it means"}
    for row in read_lines(tmp_path / "p.jsonl.dropped.jsonl"):
        rules = {violation["rule"] for violation in row["violations"]}
        assert (fault == "half") == any(rule.startswith("meaning-") for rule in rules)


def test_yields_are_told_by_kind_and_try(quick_contrafact, pair_service, tmp_path):
    firms = ("Norrick", "Tallow", "Oakmere", "Brindle", "Sable", "Ostrava", "Merrow", "Tern")
    rows = [
        (kind, f"{firm} shares rise", text)
        for firm in firms
        for kind, _, text in (NEWS[0], NEWS[1], NEWS[2])
    ]
    write(tmp_path / "in.jsonl", rows)
    command = (
        *("rfc", "rewrite", "in.jsonl", "--model", pair_service.model),
        *("--judge", pair_service.judge, "--out", "p.jsonl"),
    )
    done = quick_contrafact(*command, env={**pair_service.environment, "COLUMNS": "200"}, code=0)
    pairs = read_lines(tmp_path / "p.jsonl")
    assert {pair["passed"] for pair in pairs} == {True}
    for kind in ("flipping", "sentiment", "causal"):
        tries = Counter(pair["attempts"] for pair in pairs if pair["manipulation"] == kind)
        assert len(tries) > 1, "the stand-in makes faults in its first two tries"
        told = ", ".join(f"{n}: {tries[n]}" for n in sorted(tries))
        (line,) = [one for one in done.stderr.splitlines() if one.strip().startswith(kind)]
        assert told in line


def test_failed_calls_are_made_by_the_next_run(quick_contrafact, start_service, tmp_path):
    write(tmp_path / "in.jsonl", [ROWS[0], ("numerical", "A doomed firm", "Sales fell 4%.")])
    with start_service() as service:
        arguments = ("rfc", "rewrite", "in.jsonl", "--model", service.model)
        options = ("--attempts", "1", "--max-retries", "0", "--out", "p.jsonl")
        done = quick_contrafact(*arguments, *options, env=service.environment)
        assert done.returncode == 1
        assert "1 of 2 rows failed" in done.stderr
        assert not (tmp_path / "p.jsonl").exists()
        quick_contrafact(*arguments, *options, env=service.environment)
        assert sum(service.stats()["answered"].values()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("in.jsonl", "--judge", "openai/x"), "--judge has no effect without --model"),
        (("in.jsonl", "--bands", "in.jsonl"), "in.jsonl: is not a calibration"),
        (("nowhere.jsonl",), "no such file"),
        (("bad.jsonl",), "bad.jsonl:2: unknown manipulation 'sarcasm'"),
    ],
)
def test_bad_usage_is_reported_in_one_line(quick_contrafact, tmp_path, arguments, message):
    write(tmp_path / "in.jsonl")
    write(tmp_path / "bad.jsonl", [ROWS[0], ("sarcasm", "Prices rise", "By 3%.")])
    result = quick_contrafact("rfc", "rewrite", *arguments, "--out", "p.jsonl")
    assert message in one_line(result)
    assert not (tmp_path / "p.jsonl").exists()
