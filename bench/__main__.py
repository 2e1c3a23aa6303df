"""``python -m bench [NAME…] [--quick] [--data FILE]``: run benches, print and keep their ratios."""

import argparse
import json
import os
import pkgutil
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import bench
from bench import BenchResult
from contrafact.errors import InputError

RESULTS = Path(__file__).parent / "results"


def names() -> list[str]:
    """The benches there are: the package's modules without an underscore."""
    found = (module.name for module in pkgutil.iter_modules(bench.__path__))
    return sorted(name for name in found if not name.startswith("_"))


def machine() -> dict[str, str]:
    """What the ratios were measured on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    packages = ("contrafact", "inspect-ai", "xllamacpp", "torch", "transformers")
    return {
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "cores": str(cores),
        "threads asked for": os.environ.get("OMP_NUM_THREADS", "default"),
        "load before": f"{os.getloadavg()[0]:.1f}",
        **{name: version(name) for name in packages},
    }


def as_markdown(result: BenchResult) -> str:
    """A bench's result as Markdown."""
    lines = [
        f"## {result.name}: {result.ratio:.1f} times (target {result.target:g})",
        "",
        f"On {result.data}.",
        "",
        f"| way | on | {result.unit} timed | seconds | {result.unit}/s | CPU seconds | all "
        f"{result.total_items:,} |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for timing in (result.ours, result.baseline):
        whole = result.total_items / timing.per_second
        cpu = "–" if timing.cpu_seconds is None else f"{timing.cpu_seconds:.1f}"
        scaled = "" if timing.items == result.total_items else " (scaled)"
        lines.append(
            f"| {timing.way} | {result.device} | {timing.items:,} | {timing.seconds:.1f} | "
            f"{timing.per_second:.2f} | {cpu} | {whole:.0f} s{scaled} |"
        )
    return "\n".join([*lines, "", *(f"- {note}." for note in result.notes), ""])


def main(arguments: list[str] | None = None) -> int:
    """Run the benches named, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--quick", action="store_true", help="smaller samples, under a minute each")
    parser.add_argument("--data", type=Path, help="a JSON list of objects with a headline")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(names()))
    if unknown:
        parser.error(f"there is no bench {', '.join(unknown)}; there are {', '.join(names())}")

    facts = machine()
    results: list[BenchResult] = []
    for name in options.names or names():
        print(f"{name} …", file=sys.stderr, flush=True)
        # Each in a process of its own: threads and memory that one leaves behind slow another.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            try:
                results.append(pool.submit(bench.run, name, options.quick, options.data).result())
            except InputError as error:
                print(f"bench: {error}", file=sys.stderr)
                return 2
        print(as_markdown(results[-1]), flush=True)
    facts["load after"] = f"{os.getloadavg()[0]:.1f}"

    when = datetime.now(UTC)
    RESULTS.mkdir(exist_ok=True)
    stem = RESULTS / when.strftime("%Y%m%dT%H%M%SZ")
    rows = [
        asdict(result) | {"ratio": result.ratio, "target_met": result.ratio >= result.target}
        for result in results
    ]
    kept = {"when": when.isoformat(), "quick": options.quick, "machine": facts, "results": rows}
    stem.with_suffix(".json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    head = [f"# Bench of {when:%Y-%m-%d %H:%M} UTC{', quick' if options.quick else ''}", ""]
    head += [f"- {name}: {fact}" for name, fact in facts.items()]
    page = "\n".join([*head, "", *map(as_markdown, results)])
    stem.with_suffix(".md").write_text(page, encoding="utf-8")
    print(f"kept in {stem}.md and .json", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
