"""Runs from Python: run a task, score outputs, load a run."""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd
from pydantic import InstanceOf

from contrafact.api.operation import EstimatedOperation, Operation
from contrafact.api.results import Estimate, Run, make_estimate, refuse_many
from contrafact.api.tables import Names, PathLikeOrNone, frame_of, is_path
from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.files.atomic import guard_folder, write_bytes
from contrafact.files.fields import fold
from contrafact.files.tables import called, read_rows, write_frame
from contrafact.options import checked_value
from contrafact.runs.config import make_config

if TYPE_CHECKING:
    from contrafact.family.run import Prepared
    from contrafact.runs.config import Command


@EstimatedOperation
def run(
    task: str,
    *,
    model: Names = None,
    judge: Names = None,
    method: Names = None,
    data: Any = None,
    out: PathLikeOrNone = None,
    **options: Any,
) -> Run | Estimate:
    """Evaluate models and methods on a task, as ``contrafact run`` does.

    The run has a folder. Repeating a finished call asks no model; repeating an interrupted call
    resumes it.

    Args:
        task: The task: ``contrafact run --help`` lists them.
        model: Model under test, an Inspect name; several for a grid.
        judge: Judge; several form a panel. Without a judge, figures that need one are left out.
        method: Method or baseline, or ``NAME:OPTION=VALUE``; several make a grid.
        data: Items: a data frame, a list of dicts, a file, a published set's name, or
            ``hf://OWNER/NAME``; by default, the bundled samples. Rows given in memory are kept in
            the run folder, as ``data.jsonl``.
        out: Run folder. [runs/TASK-HASH]
        options: Further options of the command, with underscores in their names: ``estimate``,
            which calls no model, ``yes``, which allows more than 1,000 paid calls, ``limit``,
            ``temperature``, ``columns`` and ``model_args`` (mappings), …

    Returns:
        The run, with ``items``, ``scores`` and ``report()``; with ``estimate=True`` an `Estimate`.

    Raises:
        InputError: An argument is wrong, or many paid calls are needed and ``yes=True`` is not
            given; no model was called.
        ModelError: Every sample failed. If only some failed, there is a warning, and ``failures``
            lists them.
    """
    values = {"model": model, "judge": judge, "method": method, "out": out, **options}
    return _start(task, values, "data", data)


@EstimatedOperation
def score(
    task: str | PathLike[str] | InstanceOf[Run],
    data: Any = None,
    *,
    judge: Names = None,
    items: PathLikeOrNone = None,
    out: PathLikeOrNone = None,
    **options: Any,
) -> Run | Estimate:
    """Judge and report existing outputs, as ``contrafact score`` does.

    Nothing is generated: ``score(TASK, rows)`` takes outputs made elsewhere, and
    ``score(RUN, judge=…)`` the outputs of a finished run, whose earlier verdicts are kept beside
    the new ones. The new run has a folder, as with `run`.

    Args:
        task: The task; without ``data``, the run to judge again, or its folder.
        data: The outputs, one per row: a data frame, a list of dicts, or a file.
        judge: Judge; several form a panel.
        items: A file of the items, if the outputs only name them or the run's items have moved;
            the command's ``--data``.
        out: Run folder. [runs/TASK-HASH]
        options: Further options of the command, with underscores in their names, as with `run`:
            ``system``, ``partial``, …

    Returns:
        The run, with ``items``, ``scores`` and ``report()``; with ``estimate=True`` an `Estimate`.

    Raises:
        InputError: An argument is wrong, the outputs are of no known layout, or many paid calls
            are needed and ``yes=True`` is not given.
        ModelError: Every sample failed.
    """
    from contrafact.runs.folder import run_folder

    values = {"judge": judge, "data": items, "out": out, **options}
    if data is None:
        folder, name = run_folder(task.folder if isinstance(task, Run) else task)
        return _start(name, values, "run", folder)
    if not isinstance(task, str) or isinstance(data, Run):
        raise InputError(
            "a run is judged again on its own, without a task or other outputs",
            hint="write score(run, judge=…)",
        )
    if not is_path(data):
        data = frame_of(data)
        names = {fold(name) for name in data.columns}
        columns = checked_value("columns", dict[str, str] | None, options.get("columns"))
        named = "system" in {**options, **(columns or {})}
        if not (named or names & {"system", "model"}):
            values["system"] = "data"
    return _start(task, values, "score", data)


@Operation
def load(source: str | PathLike[str]) -> Any:
    """Return a run that has ended, or the rows of a file.

    Args:
        source: A run folder, or a table: CSV, JSONL, JSON, Parquet.

    Returns:
        The run, with ``items``, ``scores`` and ``report()``; for a file, its rows unchanged.

    Raises:
        InputError: There is no such folder or file, it is not a run, the run has not ended, or the
            file cannot be read; the message names the line.
    """
    path = Path(source)
    if path.is_dir():
        return _load_run(path)

    return pd.DataFrame([row for _, row in read_rows(path)])


def _start(task: str, values: Mapping[str, Any], source: str, data: Any) -> Run | Estimate:
    """Start the run that options describe; ``source`` is the option for data, a file or rows."""
    from contrafact.runs.score import prepare_config

    if data is None or is_path(data):
        config = make_config(task, {**values, source: data})
        return _act(prepare_config(config), config.command)
    with _data_file(data) as path:
        config = make_config(task, {**values, source: path})
        prepared, command = prepare_config(config), config.command
        if command.estimate or command.dry_run:
            return _act(prepared, command)
        folder = _folder_once_confirmed(prepared, command)
        kept = _keep_data(prepared, path, folder)
    return _start(task, {**values, "out": folder}, source, kept)


@contextmanager
def _data_file(data: Any) -> Iterator[Path]:
    """Yield a file of the rows, whose hash identifies the run; errors name the argument and row."""
    with TemporaryDirectory(prefix="contrafact-") as folder:
        path = Path(folder) / "data.jsonl"
        write_frame(frame_of(data), path)
        try:
            with called(path, "data"):
                yield path
        except InputError as error:
            if error.file != str(path):
                raise
            raise error.at("data", error.line) from None


def _folder_once_confirmed(prepared: "Prepared", command: "Command") -> Path:
    from contrafact.runs.execute import calls_to_confirm, default_folder

    folder = command.out or default_folder(prepared)
    if not command.yes and (calls := calls_to_confirm(prepared, folder)):
        refuse_many(calls)
    return folder


def _keep_data(prepared: "Prepared", path: Path, folder: Path) -> Path:
    """Keep the rows in the run's folder; `InputError` if the folder belongs to another run."""
    from contrafact.runs.folder import DATA, MANIFEST, begin

    guard_folder(folder)
    begin(folder, prepared)
    kept, rows = folder / DATA, path.read_bytes()
    if kept.exists() and kept.read_bytes() != rows and not (folder / MANIFEST).exists():
        raise InputError("is not from this run", file=kept, hint="name a new folder with out=")
    write_bytes(kept, rows)
    return kept


def _act(prepared: "Prepared", command: "Command") -> Run | Estimate:
    from contrafact.report.build import report_runs
    from contrafact.runs.execute import execute

    if command.estimate or command.dry_run:
        return make_estimate(prepared.settings.task, prepared.estimate())
    folder = _folder_once_confirmed(prepared, command)
    result = execute(prepared, folder)
    if (failed := result.problem) is not None:
        if len(result.failures) == result.samples:
            raise failed
        warnings.warn(str(failed), stacklevel=4)
    report_runs([result], folder, with_published=command.with_published)
    found = _load_run(folder)
    return replace(found, notes=(*prepared.manifest.data.notes, *prepared.notes, *found.notes))


def _load_run(folder: Path) -> Run:
    """Return a run, and make its report if missing; `InputError` if it is not an ended run."""
    from contrafact.report.build import build_report
    from contrafact.report.frames import read_tasks
    from contrafact.runs.items import FAILURES, USAGE, read_items

    (found,) = read_items([folder])
    results = folder / "results.json"
    if not results.exists() and len(found.items):
        build_report(read_tasks([folder]), folder)
    part = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}

    def table(name: str) -> pd.DataFrame:
        path = folder / name
        return pd.read_csv(path) if path.exists() else pd.DataFrame()

    task = found.manifest.task
    by = " + ".join(found.manifest.settings["judges"])
    return Run(
        title=f"{task}: {len(found.items):,} rows" + (f", judged by {by}" if by else ""),
        items=found.items,
        scores=_overall(task, pd.DataFrame(part.get("figures", []))),
        notes=tuple(
            f"{warning['title']}: {warning['text']}" for warning in part.get("warnings", ())
        ),
        folder=folder,
        task=task,
        verdicts=pd.DataFrame() if found.verdicts is None else found.verdicts,
        failures=table(FAILURES),
        usage=table(USAGE),
    )


def _overall(task: str, figures: pd.DataFrame) -> pd.DataFrame:
    if figures.empty:
        return figures
    figures = task_named(task).report.load().overall_figures(figures)
    names = ["system", "measure", "form"]
    numbers = [c for c in ("estimate", "low", "high", "n") if c in figures]
    found = figures[[*names, *numbers]].reset_index(drop=True)
    return found.assign(**{name: pd.to_numeric(found[name]) for name in numbers})
