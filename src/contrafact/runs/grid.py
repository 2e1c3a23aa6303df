"""The runs that a config file describes: one, or every cell of its grid."""

import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contrafact.corpus.datasets import datasets
from contrafact.errors import InputError
from contrafact.family.run import Prepared
from contrafact.files.atomic import guard_folder, write_text
from contrafact.files.config import ConfigFile, nearest
from contrafact.redaction import without_secrets
from contrafact.runs.config import (
    NOT_IN_A_GRID,
    RunConfig,
    dump_config,
    make_config,
    model_of,
)
from contrafact.runs.folder import CONFIG, MANIFEST

__all__ = ["Cell", "Plan", "begin_grid", "grid_folder", "make_plan", "prepare_cells"]

_IN_LABEL = ("model", "method", "shots", "framing")
"""The options that a system's name already shows."""


@dataclass(frozen=True)
class Cell:
    """One run of a grid.

    Attributes:
        folder: The name of its folder within the grid's; empty without a grid.
        label: A label that distinguishes its systems from those of other cells.
    """

    folder: str
    label: str
    config: RunConfig


@dataclass(frozen=True)
class Plan:
    """The runs that a config file describes."""

    cells: tuple[Cell, ...]
    options: Mapping[str, Any]
    grid: Mapping[str, Sequence[Any]]

    @property
    def first(self) -> RunConfig:
        """The options of the first run; options like ``out`` hold for all runs."""
        return self.cells[0].config

    def config_text(self, folder: Path) -> str:
        common = {**self.options, "task": self.first.task}
        named = {name: value for name, value in common.items() if name not in NOT_IN_A_GRID[1:]}
        ordered = {"task": named.pop("task"), **named}
        grid = {
            name: [os.path.relpath(one, folder) if isinstance(one, Path) else one for one in values]
            for name, values in self.grid.items()
        }
        head = "# The runs of this folder; contrafact run --config config.yaml repeats them.\n"
        return head + dump_config({**ordered, "grid": grid}, folder)


def make_plan(file: ConfigFile, given: Mapping[str, Any], task: str | None = None) -> Plan:
    """Return the runs that a config file describes, with options checked and paths resolved."""
    values = dict(file.values)
    named = values.pop("task", task)
    if named is None:
        raise InputError("names no task", file=file.path, hint="begin with task: NAME")
    if task is not None and named != task:
        problem = f"is a config of {named}, not of {task}"
        raise file.problem(("task",), problem, f"use `contrafact run {named}`")
    grid = values.pop("grid", {})
    try:
        model = model_of(str(named), {*values, *(grid if isinstance(grid, dict) else ())})
    except InputError as error:
        raise file.problem(("task",), error.problem, error.hint) from None
    names = [name for name in model.model_fields if name != "task"]
    axes = _axes(file, grid, names)
    for name in names:
        if "Path" not in str(model.model_fields[name].annotation):
            continue
        if isinstance(values.get(name), str):
            values[name] = _path(file, values[name])
        if name in axes:
            axes[name] = [_path(file, one) if isinstance(one, str) else one for one in axes[name]]
    if twice := next((name for name in axes if name in values and name not in given), None):
        problem = f"'{twice}' is given both in the grid and outside it"
        raise file.problem((twice,), problem, "keep one of them")
    options = {**values, **given}
    axes = {name: values for name, values in axes.items() if name not in given}
    cells = []
    for combination in itertools.product(*axes.values()):
        chosen = dict(zip(axes, combination, strict=True))
        config = make_config(str(named), {**options, **chosen}, file, ours=given, grid=chosen)
        folder = ",".join(f"{name}={_text(value)}" for name, value in chosen.items())
        label = ", ".join(
            f"{name} {_text(value)}" for name, value in chosen.items() if name not in _IN_LABEL
        )
        folder = re.sub(r"[^\w.,=+-]+", "-", folder).strip("-.")[:120]
        cells.append(Cell(folder, label, config))
    return Plan(tuple(_apart(cells)), options, axes)


def prepare_cells(plan: Plan) -> list[Prepared]:
    """Load and check the inputs of every run of a plan, before the first call of any."""
    from contrafact.runs.score import prepare_config  # imports Inspect, which a plan does not need

    runs: list[Prepared] = []
    for cell in plan.cells:
        try:
            runs.append(prepare_config(cell.config))
        except InputError as error:
            if not plan.grid:
                raise
            raise InputError(
                f"in the cell {cell.folder}: {error.problem}",
                file=error.file,
                line=error.line,
                hint=error.hint,
            ) from None
    first: dict[str, Cell] = {}
    for cell, prepared in zip(plan.cells, runs, strict=True):
        if same := first.get(prepared.identity):
            raise InputError(
                f"the cells {same.folder} and {cell.folder} are the same run",
                hint="leave one of the values out",
            )
        first[prepared.identity] = cell
    return runs


def grid_folder(task: str, cells: Sequence[Prepared]) -> Path:
    """Return the default folder of a grid, which is always the same for the same runs."""
    names = "\n".join(cell.identity for cell in cells)
    return Path("runs") / f"{task}-grid-{hashlib.sha256(names.encode()).hexdigest()[:12]}"


def begin_grid(plan: Plan, folder: Path) -> None:
    """Create a grid's folder with the ``config.yaml`` that repeats it."""
    guard_folder(folder)
    if (folder / MANIFEST).exists():
        hint = "name another folder with --out"
        raise InputError("is the folder of one run, not of a grid", file=folder, hint=hint)
    if folder.exists() and any(folder.iterdir()) and not (folder / CONFIG).exists():
        hint = "name a new folder with --out"
        raise InputError("is not empty and is not a grid's folder", file=folder, hint=hint)
    text = plan.config_text(folder)
    if not (folder / CONFIG).exists() or (folder / CONFIG).read_text(encoding="utf-8") != text:
        write_text(folder / CONFIG, text)


def _axes(file: ConfigFile, grid: Any, known: Sequence[str]) -> dict[str, list[Any]]:
    if not isinstance(grid, dict):
        hint = "write grid: {temperature: [0, 0.7]}"
        raise file.problem(("grid",), "the grid is not options with their values", hint)
    for name, values in grid.items():
        where = ("grid", name)
        if name in NOT_IN_A_GRID:
            raise file.problem(
                where, f"'{name}' must be one for all runs of a grid", "give it outside"
            )
        if name not in known:
            problem = f"'{name}' is not an option"
            raise file.problem(where, problem, nearest(str(name), known))
        if not isinstance(values, list) or not values or None in values:
            hint = f"write {name}: [one, another]"
            raise file.problem(where, f"the grid's '{name}' is not a list of values", hint)
    return {str(name): list(values) for name, values in grid.items()}


def _path(file: ConfigFile, given: str) -> Path:
    """Return a path relative to the config file's folder; other names of data are unchanged."""
    path = file.path.parent / Path(given).expanduser()
    set_ = given.partition(":")[0].strip().lower().replace("/", "-")
    named = given == "-" or given.startswith("hf:") or (set_ in datasets() and not path.exists())
    return Path(given) if named else path


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_text, value))
    value = without_secrets(value)
    return str(value) if isinstance(value, str | Path) else json.dumps(value)


def _apart(cells: Sequence[Cell]) -> Iterator[Cell]:
    """Yield the cells; number those whose folders would have the same name."""
    taken: set[str] = set()
    for cell in cells:
        name, number = cell.folder, 1
        while name in taken:
            number += 1
            name = f"{cell.folder}-{number}"
        taken.add(name)
        yield Cell(name, cell.label, cell.config)
