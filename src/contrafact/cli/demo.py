"""``contrafact demo``: what the product does, offline, in minutes."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from pydantic import create_model

from contrafact.cli.run import evaluate, show_failures
from contrafact.cli.show import show_results
from contrafact.console import rich_console, show_table
from contrafact.family import DemoExample, DemoPart, Shown, ShownTable, families
from contrafact.files.atomic import guard_folder
from contrafact.options import Options, option, settings_command
from contrafact.text.diff import word_diff

if TYPE_CHECKING:
    from contrafact.report.chapter import Chapter
    from contrafact.runs.execute import RunResult

_Kind = TypeVar("_Kind", DemoExample, DemoPart)

_STYLES = {"same": "", "removed": "red strike", "added": "bold green"}

DEMO_MODEL = "embedded/smollm2-135m"
"""The demo's model, which needs no key and no network."""

_EXAM = "Judges examined, and a rate corrected"
_RUNS = "A small model, on a task of each family"
_SMALL = (
    f"{DEMO_MODEL} has 135 million parameters and runs on this machine. Its rates are low. Any "
    "other model takes the same tasks: `contrafact run TASK --model openai/gpt-4o --limit 10`."
)


def _command() -> Callable[..., None]:
    """Return the command, which has an option for each kind of sample."""
    nouns: dict[str, DemoPart] = {}
    for part in _of_kind(DemoPart):
        nouns.setdefault(part.noun, part)
    counts: dict[str, Any] = {
        noun: (int, option(part.count, f"How many {noun}.", ge=1, le=part.most, metavar="N"))
        for noun, part in nouns.items()
    }
    folder = option(Path("demo"), "Folder for the runs and their report.", metavar="DIR")
    return settings_command(
        _demo,
        {"options": create_model("Demo", __base__=Options, out=(Path, folder), **counts)},
        "Show what the program does, on samples; no key, no network.\n\n"
        "A sentence is rewritten and checked, and edits of a story are decided by proof; no model "
        "is called. Recorded replies examine judges, and the exam corrects a rate. Then the "
        "embedded model runs a task of each family. If interrupted, the demo reports what is "
        "finished; run it again to resume.\n\n"
        "Example: contrafact demo --out demo",
    )


def _demo(options: Options) -> None:
    from contrafact.runs.items import ITEMS

    counts = options.model_dump()
    out = counts.pop("out")
    parts = _of_kind(DemoPart)
    for part in parts:
        guard_folder(out / part.task)
    report = _Report(out)
    results: list[RunResult] = []
    try:
        for title, shown in _examples(out):
            typer.echo(f"\n{title}\n")
            report.examples[title] = [*map(_printed, shown)]
        for part in parts:
            typer.echo("")
            _printed(part.text.format(count=counts[part.noun], model=DEMO_MODEL))
            results.append(_run_part(part, counts[part.noun], out / part.task))
            report.add(results[-1].folder, new=results[-1].ran)
            show_failures(results[-1])
    except KeyboardInterrupt:
        # The interrupted part has its tables, if any of its samples had ended.
        for part in parts:
            if (out / part.task / ITEMS).exists():
                report.add(out / part.task, new=True)
        there = f"report so far: {report.page}" if report.page.exists() else "no sample has ended"
        typer.echo(f"stopped; {there}", err=True)
        raise
    typer.echo(f"report: {report.page}")
    if any(result.failures for result in results):
        raise typer.Exit(1)


def _examples(out: Path) -> Iterator[tuple[str, Iterable[Shown]]]:
    """Yield the numbered titles of the demo's parts, each with what it shows before any run."""
    made: list[tuple[str, Callable[[], Iterable[Shown]]]] = [
        (one.title, one.show.load()) for one in _of_kind(DemoExample)
    ]
    for family in families().values():
        if family.exam and (recorded := family.exam.load().recorded):
            from contrafact.exams.recorded import examine_recorded

            made.append((_EXAM, partial(examine_recorded, family, recorded.load()(), out)))
    made.append((_RUNS, lambda: [_SMALL]))
    for number, (title, show) in enumerate(made, start=1):
        yield f"{number} of {len(made)}: {title}", show()


def _printed(one: Shown) -> Shown:
    """Print what the demo shows, in colours with a text's changes marked; return it."""
    from rich.text import Text

    console = rich_console(highlight=False, markup=False)
    if isinstance(one, ShownTable):
        show_table(one.title, one.columns, one.rows)
        return one
    if isinstance(one, str):
        console.print(one)
        return one
    coloured = console.is_terminal and not console.no_color and console.color_system is not None
    line, text = Text(f"  {one.label}: ", "dim"), one.before if one.after is None else one.after
    if coloured:
        for part in word_diff(one.before, text):
            line.append(part.text, _STYLES[part.kind])
    console.print(line if coloured else f"  {one.label}: {text}")
    if one.note:
        console.print(f"    {one.note}")
    return one


def _run_part(part: DemoPart, count: int, folder: Path) -> "RunResult":
    from contrafact.runs.prepare import make_settings, prepare

    given: dict[str, Any] = {
        "models": (DEMO_MODEL, *part.models),
        "judges": part.judges,
        "methods": part.methods,
        "limit": count,
        "generation": dict(part.generation),
    }
    if part.data is not None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        given["data"] = folder.parent / f"{part.noun}.jsonl"
        part.data.load()(given["data"], count)
    prepared = prepare(make_settings(part.task, given, part.options))
    return evaluate(prepared, folder, samples=True, partial=True)


class _Report:
    """The demo's report, which grows with each run, and each run's own report."""

    def __init__(self, out: Path) -> None:
        self.page = out / "report.html"
        self.examples: dict[str, list[Shown]] = {}
        self._folders: list[Path] = []
        self._chapters: dict[Path, list[Chapter]] = {}

    def add(self, folder: Path, *, new: bool) -> None:
        """Write the reports of a run and of all runs so far, and print the run's figures.

        Nothing is written for a run that is not new and has its report.
        """
        from contrafact.report.build import make_chapters, write_chapters
        from contrafact.report.chapter import Options
        from contrafact.report.frames import read_tasks

        if folder in self._chapters:
            return
        self._folders = [*dict.fromkeys([*self._folders, folder])]
        if new or not (folder / "report.html").exists() or not self.page.exists():
            options = Options()
            for one in self._folders:
                if one not in self._chapters:
                    tasks = [runs for runs in read_tasks([one]) if len(runs.items)]
                    self._chapters[one] = make_chapters(tasks, options) if tasks else []
            if own := self._chapters[folder]:
                write_chapters(own, options, folder)
                together = [one for each in self._folders for one in self._chapters[each]]
                write_chapters(together, Options(examples=self.examples), self.page.parent)
        if (folder / "results.json").exists():
            show_results(folder, brief=True)


def _of_kind(kind: type[_Kind]) -> list[_Kind]:
    """Return the parts of all families' demos that are of a kind."""
    demos = (family.demo.load() for family in families().values() if family.demo)
    return [one for parts in demos for one in parts if isinstance(one, kind)]


demo = _command()
