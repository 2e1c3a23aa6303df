"""The journal: pieces of finished work outlive the process, and are taken into no other work."""

import asyncio
import subprocess
import sys
from datetime import date
from decimal import Decimal

import pytest

from contrafact.errors import InputError, WriteError
from contrafact.files.journal import Journal, hash_of, sidecar_path
from contrafact.models.asking import failure_cause


def test_answers_outlive_the_process_and_a_torn_line(tmp_path):
    path, facts = tmp_path / "answers.jsonl", {"model": "m"}
    with Journal(path, facts) as answers:
        answers.keep("a", "Causal")
        answers.keep("b", {"why": "404"})
    with path.open("ab") as stream:
        stream.write(b'{"key": "c", "ans')
    with Journal(path, facts) as answers:
        assert answers.known == {"a": "Causal", "b": {"why": "404"}}
        answers.keep("c", "Causal")
        answers.keep("c", "Flipping")
    with Journal(path, facts) as answers:
        assert answers.known["c"] == "Flipping"


def test_answers_to_something_else_are_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Journal(path, {"model": "m", "prompts": "1"}) as answers:
        answers.keep("a", "Causal")
    with (
        pytest.raises(InputError, match="it differs in model"),
        Journal(path, {"model": "other", "prompts": "1"}),
    ):
        pass
    path.write_text("not json\n")
    with pytest.raises(InputError, match="is damaged"), Journal(path, {}):
        pass


def of_output(out, **facts):
    return Journal.of_output(out, {"seed": 1, **facts}, what="`rfc rewrite`")


def done(out, **facts):
    with of_output(out, **facts) as journal:
        journal.keep("0", "a")
        out.write_text("a")
        journal.finish()


def test_a_finished_output_leaves_a_record_alone(tmp_path):
    out = tmp_path / "deep" / "out.jsonl"
    assert not of_output(out).finished()
    done(out)
    assert of_output(out).finished()
    assert sorted(path.name for path in out.parent.iterdir()) == [".out.jsonl.done", "out.jsonl"]
    out.unlink()
    assert not of_output(out).finished()


def test_a_damaged_record_is_reported(tmp_path):
    out = tmp_path / "out.jsonl"
    done(out)
    (tmp_path / ".out.jsonl.done").write_text("[1]\n")
    with pytest.raises(InputError, match=r"out\.jsonl\.done: is damaged"):
        of_output(out).finished()


def test_an_output_of_other_facts_is_refused_by_their_names(tmp_path):
    out = tmp_path / "out.jsonl"
    done(out)
    with pytest.raises(InputError) as caught:
        of_output(out, seed=2, model="m").finished()
    assert str(caught.value) == (
        f"{out}: holds the result of another `rfc rewrite` (it differs in model, seed); "
        "name another file with --out"
    )
    (tmp_path / "mine.jsonl").write_text("")
    with pytest.raises(InputError, match="exists, and no `rfc rewrite` has written it"):
        of_output(tmp_path / "mine.jsonl").finished()


def test_unfinished_work_goes_on_with_the_same_facts_and_with_no_others(tmp_path):
    out = tmp_path / "out.jsonl"
    with of_output(out) as journal:
        journal.keep("0", {"text": "half a \ud83d"})
    with pytest.raises(InputError, match=r"another `rfc rewrite` for it is not finished .*seed"):
        of_output(out, seed=2).finished()
    assert not of_output(out).finished()
    with of_output(out) as journal:
        assert journal.known == {"0": {"text": "half a \ud83d"}}
        journal.discard()
    assert not of_output(out, seed=2).finished()


def test_work_that_came_to_nothing_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), of_output(tmp_path / "out.jsonl"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line", ['{"answer": 1}', '{"key": "a"}', "[1]", '{"key": "a", "ans', "\x00\x00"]
)
def test_a_damaged_line_is_reported_with_the_file(tmp_path, line):
    path = tmp_path / "a.jsonl"
    with Journal(path, {}) as journal:
        journal.keep("k", 1)
    with path.open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(InputError, match=r"a\.jsonl: is damaged; remove it"), Journal(path, {}):
        pass


def test_what_cannot_be_written_leaves_whole_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    code = """
import resource, signal, sys
from contrafact.errors import InputError
from contrafact.files.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Journal(sys.argv[1], {}) as journal:
    journal.keep("short", "a")
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
    try:
        journal.keep("long", "b" * 1000)
    except InputError as error:
        print(error.problem)
    journal.keep("next", "c")
"""
    result = subprocess.run(
        [sys.executable, "-Bc", code, str(path)], capture_output=True, text=True, check=True
    )
    assert result.stdout == "cannot be written: file too large\n"
    with Journal(path, {}) as journal:
        assert journal.known == {"short": "a", "next": "c"}


def test_a_full_disk_ends_the_work_and_is_no_failure_of_a_piece(tmp_path, monkeypatch):
    full, asked = WriteError("cannot be written: no space left on device"), []

    async def work(key):
        asked.append(key)
        await asyncio.sleep(0)
        raise full

    with (
        Journal(tmp_path / "a.jsonl", {}) as journal,
        pytest.raises(WriteError, match="no space"),
    ):
        asyncio.run(journal.fill("abcdefgh", work, at_once=1))
    assert len(asked) < 8
    with pytest.raises(WriteError):
        failure_cause(full)


def test_a_piece_may_hold_dates_and_decimals(tmp_path):
    with Journal(tmp_path / "a.jsonl", {}) as journal:
        journal.keep("day", {"at": date(2025, 4, 18), "price": Decimal("1.20")})
    with Journal(tmp_path / "a.jsonl", {}) as journal:
        assert journal.known == {"day": {"at": "2025-04-18", "price": "1.20"}}


def test_work_is_done_once_by_key_so_much_at_a_time_and_failures_stay_open(tmp_path):
    begun, under_way, most, ended = [], 0, 0, []

    async def work(key):
        nonlocal under_way, most
        begun.append(key)
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        if key == "c" and fails:
            raise ConnectionError("gone")
        return key.upper()

    keys = ["a", "b", "c", "d", "e", "a"]
    with Journal(tmp_path / "a.jsonl", {}) as journal:
        journal.keep("a", "A")
        fails = True
        failures = asyncio.run(journal.fill(keys, work, at_once=2, each=ended.append))
        assert {key: str(error) for key, error in failures.items()} == {"c": "gone"}
        assert begun == ["b", "c", "d", "e"]
        assert most == 2
        assert sorted(ended) == ["a", "b", "c", "d", "e"]
    fails = False
    with Journal(tmp_path / "a.jsonl", {}) as journal:
        assert asyncio.run(journal.fill(keys, work, at_once=2)) == {}
        assert begun[4:] == ["c"]
        assert journal.known == {key: key.upper() for key in "abcde"}


def test_killed_in_the_middle_it_knows_every_piece_that_was_kept(tmp_path):
    path = tmp_path / "a.jsonl"
    code = """
import os, signal, sys
from contrafact.files.journal import Journal
with Journal(sys.argv[1], {}) as journal:
    for n in range(50):
        journal.keep(str(n), n)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    with Journal(path, {}) as journal:
        assert list(journal.known.values()) == list(range(50))


def test_names_and_hashes():
    assert str(sidecar_path("out/pairs.jsonl", "dropped")) == "out/pairs.jsonl.dropped.jsonl"
    assert hash_of({"a": 1, "b": [2]}) == hash_of({"b": (2,), "a": 1}) != hash_of({"a": 1})
    assert len(hash_of("\ud83d")) == 16
