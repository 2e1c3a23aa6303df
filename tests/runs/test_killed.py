"""Killed at random, again and again, and finished: nothing that was answered is asked for again.

Calls are counted at the server. Of what it answered only the calls that were under way at a kill
may be asked for once more, and the record of the work says how many those were.
"""

import json
import random
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from contrafact.records import NewsItem

CONNECTIONS = 4
PAIR_SERVER = Path(__file__).parents[1] / "support" / "pair_server.py"
KILLS = {"exam": 10, "rfc rewrite": 10}
"""Times that a command is killed, three if it is not named."""


def headlines(folder):
    rows = [{"headline": f"Harrow Mills unit {n} lifts its dividend"} for n in range(16)]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def outputs(folder):
    rows = [
        {"headline": f"Harrow Mills unit {n} lifts its dividend", "side": side, "text": text}
        for n in range(16)
        for side, text in (("risk", f"Lenders fear for {n}"), ("opportunity", f"Orders of {n}"))
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def articles(folder):
    kinds = ("numerical", "flipping", "sentiment", "causal")
    rows = [
        {
            "title": f"Norrick Steel's shares in {place} rise",
            "summary": f"The shares rose {n + 12}% to $31 due to demand for pipes in {place}.",
            "manipulation": kinds[n % 4],
        }
        for n, place in enumerate(f"Port {letter}ora" for letter in "ABCDEFGHIJKLMNOP")
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def unlabelled(folder):
    rows = [
        NewsItem.of(f"Ferry {n} gained 8% due to demand").model_dump()
        | {"candidates": ["numerical", "causal"]}
        for n in range(16)
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


MODEL, JUDGE = ("--model", "openai-api/fake/writer"), ("--judge", "openai-api/fake/judge")
NO_FLUENCY = ("--fluency-model", "none")
COMMANDS = {
    "run": (
        headlines,
        ("run", "finforce", "--data", "in.jsonl", *MODEL, *JUDGE, *NO_FLUENCY),
    ),
    "score": (outputs, ("score", "finforce", "in.jsonl", *JUDGE, *NO_FLUENCY)),
    "generate": (headlines, ("generate", "in.jsonl", *MODEL, *JUDGE)),
    "rfc label": (
        unlabelled,
        ("rfc", "label", "in.jsonl", "--per-article", "one", *MODEL),
    ),
    "exam": (None, ("exam", *JUDGE, "--n", "20")),
    "rfc rewrite": (
        articles,
        ("rfc", "rewrite", "in.jsonl", *MODEL, *JUDGE, "--seed", "3"),
    ),
}

SUFFIXES = {"exam": ".json", "generate": ".csv", "rfc label": ".jsonl", "rfc rewrite": ".jsonl"}
"""What each command's file is called; the others write a folder."""


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_no_answered_call_is_asked_again(
    quick_contrafact, start_contrafact, start_service, tmp_path, name
):
    inputs, command = COMMANDS[name]
    kills = KILLS.get(name, 3)
    if inputs is not None:
        inputs(tmp_path)
    suffix = SUFFIXES.get(name, "")
    end = ("--max-connections", str(CONNECTIONS), "--out")
    chance = random.Random(name)
    with (
        start_service("0.15", server=PAIR_SERVER)
        if name == "rfc rewrite"
        else start_service("--latency", "0.15")
    ) as service:

        def asked():
            return Counter(service.stats()["answered"])

        whole = quick_contrafact(*command, *end, f"whole{suffix}", env=service.environment)
        assert whole.returncode == 0, whole.stderr
        once = asked()
        service.forget()
        for _ in range(kills):
            before = asked().total()
            wanted = before + chance.randint(1, once.total() // (kills + 1))
            with start_contrafact(*command, *end, f"cut{suffix}", env=service.environment) as cut:
                while asked().total() < wanted:
                    assert cut.poll() is None, "it ended before it could be killed"
                    time.sleep(0.01)
                cut.kill()
            time.sleep(0.3)  # what was under way is answered to nobody
        result = quick_contrafact(*command, *end, f"cut{suffix}", env=service.environment)
        found = asked()
        if not suffix:
            again = quick_contrafact(*command, *end, "cut", env=service.environment)
            assert "no model was called" in again.stdout and asked() == found
    assert result.returncode == 0, result.stderr
    assert found.keys() == once.keys()
    # An answer without a word is asked for a second time at once, and kept by nobody.
    repeated = sum(count - 1 for key, count in found.items() if once[key] == 1)
    assert repeated <= kills * CONNECTIONS
    cut, uncut = tmp_path / f"cut{suffix}", tmp_path / f"whole{suffix}"
    if suffix:
        assert cut.read_bytes() == uncut.read_bytes().replace(b"whole.", b"cut.")
        for path in tmp_path.glob(f"whole{suffix}.*.jsonl"):  # what was dropped or set apart
            if not path.name.endswith((".ledger.jsonl", ".answers.jsonl")):
                other = path.with_name(path.name.replace("whole", "cut"))
                assert other.read_bytes() == path.read_bytes()
    else:
        assert not (cut / "cache").exists()
        for table in ("items", "verdicts"):
            first, second = (pd.read_parquet(out / f"{table}.parquet") for out in (cut, uncut))
            pd.testing.assert_frame_equal(first, second)
    hidden = [path.name for path in tmp_path.rglob(".*")]
    assert not [name for name in hidden if name.endswith(".part") or "draft" in name]
