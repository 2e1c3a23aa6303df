"""Killed and run again: it finishes, repeats no answered call, and gives the same tables."""

import time

import pandas as pd
import pytest
from inspect_ai.log import list_eval_logs, read_eval_log


def arguments(model, judge, out, *more):
    return (
        "run", "finforce", "--model", model, "--judge", judge, "--out", str(out),
        "--temperature", "0", *more,
    )  # fmt: skip


def kill_after(process, ready):
    """Kill a started command with SIGKILL once `ready` says so, return nothing."""
    with process:
        deadline = time.monotonic() + 600
        while process.poll() is None and not ready():
            assert time.monotonic() < deadline, "the run never came as far as to be killed"
            time.sleep(0.05)
        assert process.poll() is None, "the run ended before it could be killed"
        process.kill()


def answered_from_the_cache(run):
    """Return how many calls of a run were replayed, by its newest log."""
    log = read_eval_log(list_eval_logs(str(run / "logs"))[0])
    events = [event for sample in log.samples for event in sample.events if event.event == "model"]
    return sum(event.cache == "read" for event in events)


@pytest.mark.slow
def test_a_killed_run_of_the_embedded_model_gives_the_same_tables(
    quick_contrafact, start_contrafact, chance_weights, tmp_path
):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    (tmp_path / "weights.gguf").symlink_to(chance_weights)
    model = "embedded/./weights.gguf"  # by path, as people name their own files
    more = (
        "--limit", "2", "--fluency-model", "none", "--method", "few-shot", "--max-tokens", "250",
        "--temperature", "1", "--seed", "1",
    )  # fmt: skip
    assert quick_contrafact(*arguments(model, model, whole, *more)).returncode == 0
    cache = killed / "cache"
    command = arguments(model, model, killed, *more)
    kill_after(
        start_contrafact(*command), lambda: sum(1 for p in cache.rglob("*") if p.is_file()) >= 2
    )
    result = quick_contrafact(*command)
    assert result.returncode == 0, result.stderr
    assert answered_from_the_cache(killed) > 0
    for name in ("items.parquet", "verdicts.parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(whole / name), pd.read_parquet(killed / name))
    for table in sorted((whole / "tables").glob("*.csv")):
        assert table.read_text() == (killed / "tables" / table.name).read_text(), table.name


def test_a_folder_with_another_run_is_not_touched(quick_contrafact, service, tmp_path):
    more = ("--limit", "1", "--fluency-model", "none")
    command = arguments(service.model, service.judge, "run", *more)
    assert quick_contrafact(*command, env=service.environment).returncode == 0
    before = {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}
    other = quick_contrafact(*command, "--seed", "5", env=service.environment)
    assert other.returncode == 2
    assert "holds another run (it differs in seed" in other.stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    taken = quick_contrafact(
        *arguments(service.model, service.judge, "mine"), env=service.environment
    )
    assert taken.returncode == 2
    assert "not a run folder" in taken.stderr
    assert before == {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}


@pytest.mark.parametrize("torn", [b"", b"PK", None], ids=["empty", "junk", "half"])
def test_a_log_that_a_killed_run_left_torn_is_set_aside(
    quick_contrafact, service, tmp_path, torn, monkeypatch
):
    service.make_known(monkeypatch)
    run = tmp_path / "run"
    command = ("run", "rfc-detect", "--model", service.model, "--limit", "2", "--out", str(run))
    assert quick_contrafact(*command).returncode == 0
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"finished"', '"running"', 1))
    for log in run.glob("*logs/*.eval"):
        data = log.read_bytes()
        log.write_bytes(data[: len(data) // 2] if torn is None else torn)
    (run / "items.parquet").unlink()
    again = quick_contrafact(*command)
    assert again.returncode == 0 and "set aside" in again.stderr, again.stderr
    assert len(pd.read_parquet(run / "items.parquet")) and [*run.glob("logs/*.damaged")]
