"""Output of several commands: edited texts, figures as JSON, and a report's figures."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from contrafact.console import rich_console, show_frame
from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.files.atomic import write_text

if TYPE_CHECKING:
    from contrafact.family.report import ReportSpec, TerminalColumn


def check_json(out: Path | None) -> None:
    """Refuse an output file that is not a JSON file, before any work is done."""
    if out is not None and (out.suffix != ".json" or out.is_dir()):
        raise InputError("the result is a JSON file", file=out, hint="name it .json")


def write_json(out: Path | None, figures: Mapping[str, Any]) -> None:
    """Write figures as JSON if a file is named, and print its name."""
    check_json(out)
    if out is not None:
        write_text(out, json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
        typer.echo(f"written to {out}")


def percent(share: float) -> str:
    """Return a share from 0 to 1 in percent; NaN gives "undefined"."""
    return "undefined" if share != share else f"{100 * share:.1f}%"


def show_results(folder: Path, *, brief: bool = False) -> None:
    """Print the overall figures of a report, with intervals, from its ``results.json``.

    Each system's name has its own line, so that figures have more room; columns that do not fit
    the terminal are left out and listed.
    """
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    console = rich_console(highlight=False, markup=False, soft_wrap=True)
    intervals = f", with {round(100 * results['settings']['level'])}% intervals"
    for task, part in results.get("tasks", {results.get("task"): results}).items():
        spec = task_named(task).report.load()
        bounded = any(row["low"] is not None for row in part["figures"])
        console.print(f"\n{task}: {spec.title}{intervals * bounded}", soft_wrap=False)
        # Warnings that make the figures worthless come first.
        shown = sorted(part["warnings"], key=lambda warning: warning.get("code") != "cut-prompts")
        while shown and shown[0].get("code") == "cut-prompts":
            console.print("{title}: {text}".format_map(shown.pop(0)), soft_wrap=False)
        if part["opening"]["bounds"]:
            console.print(part["opening"]["sentence"], soft_wrap=False)
        for line in _lines(spec, part, console.width):
            console.print(line)
        if brief and shown:
            titles = "; ".join(dict.fromkeys(warning["title"] for warning in shown))
            console.print(f"Explained in the report: {titles}.", soft_wrap=False)
            continue
        for warning in shown:
            console.print("{title}: {text}".format_map(warning), soft_wrap=False)


def show_agreement(folder: Path) -> None:
    """Print how far the judges of a run agree, if there are several."""
    import pandas as pd

    from contrafact.runs.items import AGREEMENT

    if (folder / AGREEMENT).exists():
        found = pd.read_csv(folder / AGREEMENT)
        intervals = ", with 95% intervals" * bool(found["estimate_low"].notna().any())
        show_frame(f"How far the judges agree{intervals}", found, coefficients=["estimate"])


def _lines(spec: "ReportSpec", part: dict[str, Any], width: int) -> Iterator[str]:
    import pandas as pd

    figures = pd.DataFrame(part["figures"])
    found = {
        (row["system"], row["measure"], row["form"]): row
        for row in (part["figures"][place] for place in spec.overall_figures(figures).index)
    }
    systems = list(dict.fromkeys(system for system, _, _ in found))
    lost = {"invalid": "invalid"}
    if any(row.get("degenerate") for row in part["invalid"]):
        lost["degenerate"] = "no answer"
    # Figures over what is decided alone, of which too much is open, are left to the report.
    bounded = part["opening"]["measure"] if part["opening"]["bounds"] else None
    blocks: list[tuple[int, list[str]]] = []
    for shown in spec.shown:
        rows = [found.get((system, shown.measure, shown.form)) for system in systems]
        if any(rows) and (shown.measure, shown.form) != (bounded, "valid"):
            cells = [text for row in rows for text in _cell(row, shown)]
            blocks.append((shown.rank, [shown.heading, *cells]))
    for key, heading in lost.items():
        of = {row["system"]: f"{row[key]}/{row['asked']}" for row in part["invalid"]}
        counts = [text for system in systems for text in (of.get(system, "–"), "")]
        blocks.append((0, [heading, *counts]))
    left_out: list[str] = []
    while len(blocks) > 1 and sum(2 + max(map(len, cells)) for _, cells in blocks) > width:
        dropped = max(range(len(blocks)), key=lambda i: (blocks[i][0], i < len(blocks) - 1, i))
        left_out.append(blocks.pop(dropped)[1][0])
    widths = [2 + max(map(len, cells)) for _, cells in blocks]

    def line(number: int) -> str:
        cells = zip(blocks, widths, strict=True)
        return "".join(block[number].rjust(wide) for (_, block), wide in cells).rstrip()

    yield line(0)
    for i, system in enumerate(systems):
        yield system
        yield line(1 + 2 * i)
        if intervals := line(2 + 2 * i):
            yield intervals
    if left_out:
        yield f"(also in the report: {', '.join(left_out)})"


def _cell(row: dict[str, Any] | None, shown: "TerminalColumn") -> tuple[str, str]:
    from contrafact.family.display import format_number

    if row is None or row["estimate"] is None:
        return "–", ""

    def text(value: float) -> str:
        if shown.scale == 100:
            return format_number(value, "share")
        return f"{value * shown.scale:.{shown.digits}f}".replace("-", "−")

    if row["low"] is None or row["high"] is None:
        return text(row["estimate"]), ""
    between = " to " if row["low"] < 0 else "–"
    return text(row["estimate"]), f"{text(row['low'])}{between}{text(row['high'])}"
