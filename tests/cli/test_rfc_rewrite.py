"""``contrafact rfc rewrite``: pairs out, in order, with what was dropped and the ledger."""

import json
import signal
import time
from pathlib import Path

import pytest

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
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def replayed(pair: dict) -> str:
    text = pair["original"]
    for edit in reversed(pair["edits"]):
        assert text[edit["start"] : edit["end"]] == edit["before"]
        text = text[: edit["start"]] + edit["after"] + text[edit["end"] :]
    return text


def one_line(result) -> str:
    assert result.returncode == 2, result.stderr
    (line,) = result.stderr.strip().splitlines()
    return line


def test_pairs_what_was_dropped_and_the_ledger(quick_contrafact, tmp_path):
    write(tmp_path / "in.jsonl")
    done = quick_contrafact("rfc", "rewrite", "in.jsonl", "--out", "pairs.jsonl")
    assert done.returncode == 0, done.stderr
    assert "4 rows: 3 rewritten, 1 dropped; written to pairs.jsonl" in done.stderr
    pairs = read(tmp_path / "pairs.jsonl")
    assert [pair["manipulation"] for pair in pairs] == ["numerical", "flipping", "sentiment"]
    for pair in pairs:
        assert replayed(pair) == pair["rewritten"] != pair["original"]
        assert pair["rewriter"] == "rules"
        assert pair["ticker"] == "NRK"
    assert [pair["evidence"]["n"] for pair in pairs] == [0, 2, 3]
    assert pairs[0]["article_id"] == pairs[1]["article_id"] != pairs[2]["article_id"]
    (dropped,) = read(tmp_path / "pairs.jsonl.dropped.jsonl")
    assert dropped["reason"] == "states no explicit cause"
    events = read(tmp_path / "pairs.jsonl.ledger.jsonl")
    assert [event["decision"] for event in events] == ["kept", "dropped", "kept", "kept"]
    assert events[2]["item_id"] == pairs[1]["id"]


def test_the_pairs_pass_the_check_of_their_own_command_line(quick_contrafact, tmp_path):
    write(tmp_path / "in.jsonl")
    assert quick_contrafact("rfc", "rewrite", "in.jsonl", "--out", "p.jsonl").returncode == 0
    checked = quick_contrafact("rfc", "check", "p.jsonl", "--out", "checked.jsonl")
    assert checked.returncode == 0, checked.stderr


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


@pytest.mark.slow
def test_killed_and_run_again_it_ends_in_the_same_bytes(
    quick_contrafact, start_contrafact, tmp_path
):
    rows = [
        ("numerical", f"Norrick Steel shares rise {n}%", f"Sales grew {n + 1}% to ${n} million.")
        for n in range(3, 70)
    ]
    write(tmp_path / "in.jsonl", rows)
    command = ("rfc", "rewrite", "in.jsonl", "--seed", "9", "--workers", "1", "--out")
    assert quick_contrafact(*command, "whole.jsonl").returncode == 0
    journal = tmp_path / ".cut.jsonl.part"
    with start_contrafact(*command, "cut.jsonl") as process:
        while process.poll() is None:
            if journal.exists() and journal.read_bytes().count(b"\n") > 10:
                process.kill()
                break
            time.sleep(0.01)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "cut.jsonl").exists()
    assert quick_contrafact(*command, "cut.jsonl").returncode == 0
    for name in ("", ".dropped.jsonl"):
        cut, whole = (tmp_path / f"{stem}.jsonl{name}" for stem in ("cut", "whole"))
        assert cut.read_bytes() == whole.read_bytes()


def test_a_model_is_asked_again_at_most_so_often(quick_contrafact, service, tmp_path):
    write(tmp_path / "in.jsonl", ROWS[:1])
    arguments = ("rfc", "rewrite", "in.jsonl", "--rewriter", "model", "--model", service.model)
    done = quick_contrafact(
        *arguments, "--attempts", "2", "--out", "p.jsonl", env=service.environment
    )
    assert done.returncode == 0, done.stderr
    # The stand-in knows nothing of rewriting: both its replies break the contract.
    assert read(tmp_path / "p.jsonl") == []
    (dropped,) = read(tmp_path / "p.jsonl.dropped.jsonl")
    assert dropped["attempts"] == 2
    assert dropped["violations"]
    stats = service.stats()
    assert sum(stats["answered"].values()) == 2
    assert stats["settings"]["writer: temperature"] == [0.1]
    assert stats["settings"]["writer: top_p"] == [0.3]
    (event,) = read(tmp_path / "p.jsonl.ledger.jsonl")
    assert event["by"] == f"model:{service.model}"


def test_failed_calls_are_made_by_the_next_run(quick_contrafact, start_service, tmp_path):
    write(tmp_path / "in.jsonl", [ROWS[0], ("numerical", "A doomed firm", "Sales fell 4%.")])
    with start_service() as service:
        arguments = ("rfc", "rewrite", "in.jsonl", "--rewriter", "model", "--model", service.model)
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
        (("in.jsonl", "--rewriter", "model"), "--rewriter model needs a model"),
        (("in.jsonl", "--model", "openai/x"), "--model is not used"),
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
