"""``contrafact demo``: every family's main task, offline, in minutes."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic import create_model

from contrafact.cli.run import evaluate, show_failures
from contrafact.cli.show import edit_text, show_results
from contrafact.console import say_once
from contrafact.errors import EXTRAS, installed
from contrafact.exams import ExamOptions
from contrafact.family import families, family_of_task
from contrafact.family.settings import judge_names
from contrafact.files.atomic import guard_folder, write_text
from contrafact.judges.verifier import is_verifier
from contrafact.options import Options, option, settings_command
from contrafact.runs.config import Source

if TYPE_CHECKING:
    from inspect_ai.solver import TaskState
    from rich.console import Console
    from rich.text import Text

    from contrafact.console import Progress
    from contrafact.family import DemoPart, ShownText
    from contrafact.family.exam_file import Exam
    from contrafact.report.chapter import Chapter
    from contrafact.runs.execute import RunResult

DEMO_MODEL = "embedded/smollm2-135m"
"""The demo's model, which needs no key and no network."""

_SHOWN = 3  # items of each part whose texts are printed; the report has all


def _command() -> Callable[..., None]:
    """Return the command, which has an option for each kind of sample."""
    nouns: dict[str, DemoPart] = {}
    for part in _parts():
        nouns.setdefault(part.noun, part)
    counts: dict[str, Any] = {
        noun: (int, option(part.count, f"How many {noun}.", ge=1, le=part.most, metavar="N"))
        for noun, part in nouns.items()
    }
    folder = option(Path("demo"), "Folder for the runs and their report.", metavar="DIR")
    return settings_command(
        _demo,
        {"options": create_model("Demo", __base__=Options, out=(Path, folder), **counts)},
        "Run the families on samples with the embedded model; no key, no network.\n\n"
        "The embedded model runs every task. Its texts are judged if that is possible by proof; "
        "the verifier takes an exam, and the report corrects its rates. Each part ends with its "
        "table and its report. If interrupted, the demo reports what is finished; run it again to "
        "resume.\n\n"
        "Example: contrafact demo --out demo",
    )


def _demo(options: Options) -> None:
    from contrafact.runs.items import ITEMS

    counts = options.model_dump()
    out = counts.pop("out")
    parts = _parts()
    for part in parts:
        guard_folder(out / part.task)
    report = _Report(out)
    results: list[RunResult] = []
    try:
        for number, part in enumerate(parts, start=1):
            text = part.text.format(count=counts[part.noun], model=DEMO_MODEL)
            typer.echo(f"{number} of {len(parts)}: {text}")
            own = [_run_part(part, counts[part.noun], out / part.task)]
            if part.compared is not None:
                own.append(_score_compared(part, counts[part.noun], own[0].folder))
            results += own
            report.examine(part)
            report.add(own[0].folder, new=any(one.ran for one in own))
            for one in own:
                show_failures(one)
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


def _run_part(part: "DemoPart", count: int, folder: Path) -> "RunResult":
    from contrafact.models.opening import NO_MODEL
    from contrafact.runs.prepare import make_settings, prepare

    methods = part.methods
    for module, more in part.extras.items():
        if installed(module):
            methods += more
        else:
            extra = f"pip install 'contrafact[{EXTRAS[module]}]'"
            say_once(f"left out: {', '.join(more)}; they need {module} ({extra})")
    given: dict[str, Any] = {
        "models": (DEMO_MODEL, *part.models),
        "judges": part.judges,
        "methods": methods,
        "limit": count,
        "generation": dict(part.generation),
    }
    if part.data is not None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        given["data"] = folder.parent / f"{part.noun}.jsonl"
        part.data.load()(given["data"], count)
    shown_of = part.shown.load() if part.shown else None
    left = _SHOWN

    def seen(state: "TaskState", progress: "Progress") -> None:
        nonlocal left
        if shown_of is None or not left or str(state.model) == NO_MODEL:
            return
        texts = shown_of(state)
        left -= bool(texts)
        for text in texts:
            progress.show(partial(_drawn, text))

    prepared = prepare(make_settings(part.task, given, part.options))
    return evaluate(prepared, folder, samples=True, seen=seen)


def _score_compared(part: "DemoPart", count: int, folder: Path) -> "RunResult":
    from contrafact.runs.score import prepare_score

    assert part.compared is not None
    place = _compared(folder)
    file = place.with_name(f"{place.name}.jsonl")
    rows = part.compared.load()(count)
    write_text(file, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    given: dict[str, Any] = {"judges": part.judges}
    if part.data is not None:
        given["data"] = folder.parent / f"{part.noun}.jsonl"
    prepared = prepare_score(part.task, Source(score=file), given, part.options)
    return evaluate(prepared, place)


def _compared(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-compared")


def _drawn(text: "ShownText", console: "Console") -> "Text":
    colours = console.is_terminal and not console.no_color and console.color_system is not None
    return edit_text(text, coloured=colours)


class _Report:
    """The demo's report, which grows with each part, and each part's own report."""

    def __init__(self, out: Path) -> None:
        self.page = out / "report.html"
        self._out = out
        self._folders: list[Path] = []
        self._chapters: dict[Path, list[Chapter]] = {}
        self._exams: list[Exam] = []

    def examine(self, part: "DemoPart") -> None:
        """Examine the verifiers that judge a part; existing answers are not asked for again."""
        from contrafact.exams.run import run_exam

        family = family_of_task(part.task)
        for judge in judge_names(part.judges):
            if family.exam is not None and is_verifier(judge):
                file = self._out / f"exam-{family.name}.json"
                options = ExamOptions(judge=[judge], family=family.name, out=file)
                exam, _ = run_exam(options, family.exam.load().options())
                self._exams.append(exam)

    def add(self, folder: Path, *, new: bool) -> None:
        """Write the reports of a part and of all parts so far, and print the part's figures.

        Nothing is written for a part that is not new and has its report.
        """
        from contrafact.report.build import make_chapters, write_chapters
        from contrafact.report.chapter import Options
        from contrafact.report.frames import read_tasks
        from contrafact.runs.items import ITEMS

        if folder in self._chapters:
            return
        self._folders = [*dict.fromkeys([*self._folders, folder])]
        if new or not (folder / "report.html").exists() or not self.page.exists():
            options = Options(exams=tuple(self._exams))
            for one in self._folders:
                if one not in self._chapters:
                    both = [each for each in (one, _compared(one)) if (each / ITEMS).exists()]
                    tasks = [runs for runs in read_tasks(both) if len(runs.items)]
                    self._chapters[one] = make_chapters(tasks, options) if tasks else []
            if self._chapters[folder]:
                write_chapters(self._chapters[folder], options, folder)
                together = [one for each in self._folders for one in self._chapters[each]]
                write_chapters(together, options, self._out)
        if (folder / "results.json").exists():
            show_results(folder, brief=True)


def _parts() -> "list[DemoPart]":
    return [part for family in families().values() if family.demo for part in family.demo.load()]


demo = _command()
