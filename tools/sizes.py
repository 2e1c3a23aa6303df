"""What commands cost by the size of their input: a table of CPU seconds and of the most memory.

    python tools/sizes.py [--sizes 1000 10000 100000] [--commands score report …] [--times 3]

Each command runs in a process of its own on made rows (fictional stories, news, pairs, ratings),
so often as ``--times`` says; the median counts. CPU seconds are user and system together, children
in them; the start of the program is in every figure. ``score`` judges proven answers of drawn
stories, ``score-constant`` the same by a verifier that says yes to everything, three outputs a
story; ``report`` and ``diff`` read what it wrote. The last column is how many times the CPU seconds
of a tenth of the input a command takes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

__all__ = ["main"]

_CONSTANT = """
import sys
from contrafact.families.cobe import verifier
from contrafact.judges.verifier import Decision
verifier.proof = lambda criterion, subject: Decision(True, "constant")
from contrafact.cli.main import main
main()
"""
_NAMES = ("Osmery", "Norrick", "Talvane", "Quellor", "Hexam", "Dornay", "Selwick", "Tarrant")


def main(arguments: list[str] | None = None) -> int:
    """Measure what is asked for, and print the table as it comes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--commands", nargs="+", choices=list(_COMMANDS), default=list(_COMMANDS))
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args(arguments)
    print("| command | rows | CPU seconds | MiB | times a tenth |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as place:
        for command in asked.commands:
            before: dict[int, float] = {}
            for size in asked.sizes:
                folder = Path(place) / str(size)
                folder.mkdir(exist_ok=True)
                found = [_measured(_COMMANDS[command], folder, size) for _ in range(asked.times)]
                seconds = before[size] = statistics.median(one[0] for one in found)
                times = f"{seconds / before[size // 10]:.1f}" if size // 10 in before else ""
                most = max(one[1] for one in found)
                print(
                    f"| `{command}` | {size:,} | {seconds:.1f} | {most:,.0f} | {times} |",
                    flush=True,
                )
    return 0


def _measured(
    command: Callable[[Path, int], list[str]], folder: Path, size: int
) -> tuple[float, float]:
    """Return the CPU seconds and the most memory, in MiB, of one command."""
    words = command(folder, size)
    way = ["-c", _CONSTANT] if words[0] == "constant" else ["-m", "contrafact"]
    with (folder / "errors.txt").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, *way, *words[words[0] == "constant" :]],
            stdout=subprocess.DEVNULL, stderr=errors, cwd=folder,
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError((folder / "errors.txt").read_text()[-400:])
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _rows(path: Path, rows: Callable[[], Iterable[Mapping[str, Any]]]) -> str:
    """Return the name of a file of rows, made apart: what a command inherits counts as its own."""
    if not path.exists():
        making = get_context("fork").Process(target=_write, args=(path, rows))
        making.start()
        making.join()
        if making.exitcode:
            raise RuntimeError(f"{path} could not be made")
    return path.name


def _write(path: Path, rows: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows())


def _scored(folder: Path, size: int) -> list[str]:
    """Return how the proven answers of drawn stories are scored, three outputs a story."""
    stories = folder / "stories.json"
    if not stories.exists():
        draw = ["cobe", "synth", "--n", str(-(-size // 3)), "--seed", "1", "--out", str(stories)]
        subprocess.run([sys.executable, "-m", "contrafact", *draw], check=True, capture_output=True)

    def outputs() -> Iterable[Mapping[str, Any]]:
        from contrafact.families.cobe.data import load_stories

        for story in load_stories(stories):
            for phrasing in "ABC":
                yield {"story_id": story.id, "phrasing": phrasing, "response": story.answer}

    file = _rows(folder / "outputs.jsonl", outputs)
    number = len(list(folder.glob("run-*")))
    judged = ["--data", "stories.json", "--judge", "proof", "--out", f"run-{number}"]
    return ["score", "cobe", file, *judged]


def _run(folder: Path, size: int, number: int) -> str:
    """Return a run of the outputs, made where there is none."""
    while not (folder / f"run-{number}" / "items.parquet").exists():
        _measured(_constant, folder, size)
    return f"run-{number}"


def _constant(folder: Path, size: int) -> list[str]:
    return ["constant", *_scored(folder, size)]


def _report(folder: Path, size: int) -> list[str]:
    return ["report", _run(folder, size, 0), "--out", "report"]


def _diff(folder: Path, size: int) -> list[str]:
    return ["diff", _run(folder, size, 0), _run(folder, size, 1)]


def _dedupe(folder: Path, size: int) -> list[str]:
    def news() -> Iterable[Mapping[str, Any]]:
        from bench._paragraphs import paragraphs

        (texts, _), rng = paragraphs(None), np.random.default_rng(5)
        for number in range(size):
            name, first, last = " ".join(rng.choice(_NAMES, 2)), *rng.integers(len(texts), size=2)
            text = f"{texts[first]} {texts[last]} {name} filed a report in case {number}."
            yield {"headline": f"{name}: {texts[first][:60]}", "description": text}

    return ["news", "dedupe", _rows(folder / "news.jsonl", news), "--out", "fresh.jsonl"]


def _check(folder: Path, size: int) -> list[str]:
    def pairs() -> Iterable[Mapping[str, Any]]:
        from contrafact.families.rfc.data import bundled_pairs

        known = bundled_pairs()
        for number in range(size):
            pair, tail = known[number % len(known)], f" A report was filed in case {number}."
            texts = {"original": pair.original + tail, "rewritten": pair.rewritten + tail}
            yield {"id": str(number), "manipulation": pair.manipulation, **texts}

    return ["rfc", "check", _rows(folder / "pairs.jsonl", pairs), "--out", "checks.jsonl"]


def _agree(folder: Path, size: int) -> list[str]:
    def ratings() -> Iterable[Mapping[str, Any]]:
        rng = np.random.default_rng(5)
        for number in range(size):
            right = rng.random() < 0.7
            said = {name: int(right ^ (rng.random() < 0.1)) for name in ("ana", "ben", "cy")}
            yield {"item": str(number), **said}

    return ["agree", _rows(folder / "ratings.jsonl", ratings)]


def _import(folder: Path, size: int) -> list[str]:
    file, number = _dedupe(folder, size)[2], len(list(folder.glob("*.db")))
    place = f"sqlite:///{number}.db"
    return ["review", "import", file, "--db", place, "--project", "headline-screening"]


_COMMANDS = {
    "score-constant": _constant,
    "score": _scored,
    "report": _report,
    "diff": _diff,
    "dedupe": _dedupe,
    "rfc check": _check,
    "agree": _agree,
    "review import": _import,
}

if __name__ == "__main__":
    sys.exit(main())
