"""``contrafact run TASK``: evaluate models and methods on a task.

The options are those of every run, followed by the task's own, made from its model of options.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contrafact.cli.lazy import TaskGroup, command_of, read_ahead
from contrafact.cli.show import show_agreement, show_results
from contrafact.errors import InputError
from contrafact.family import Task, task_named, tasks
from contrafact.files.config import read_config
from contrafact.files.fields import named_columns
from contrafact.files.tables import require_tables
from contrafact.options import Options, as_command, key_values, option, parameters_of
from contrafact.runs.config import RunConfig, config_model, file_config, make_config

if TYPE_CHECKING:
    from contrafact.runs.execute import RunResult
    from contrafact.runs.prepare import Prepared


class RunGroup(TaskGroup):
    """The group of commands that run a task, with ``--config FILE``, whose file names the task."""

    def find(self, name: str) -> Any:
        return command_of(name, _command(task_named(name)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the task's command; for an unknown name, raise an error that lists the tasks."""
        if args and not args[0].startswith("-") and args[0] not in tasks():
            raise InputError(f"there is no task '{args[0]}'", hint=f"use {', '.join(tasks())}")
        return super().resolve_command(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the command line; if only ``--config FILE`` is given, FILE names the task."""
        if args and args[0].startswith("-"):
            ahead = read_ahead(self, args, parent)
            if ahead["config"] is not None:
                args = [_task_of(ahead["config"]), *args]
        return super().make_context(info_name, args, parent, **extra)


app = typer.Typer(
    cls=RunGroup,
    help="Evaluate models and methods on a task; if interrupted, run it again to resume.",
    no_args_is_help=True,
)


@app.callback(invoke_without_command=True)
def group(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(help="Take the task and its options from a file (YAML).", metavar="FILE"),
    ] = None,
) -> None:
    """Evaluate models and methods on a task; if interrupted, run it again to resume.

    Example: contrafact run TASK --model embedded/smollm2-135m --limit 10
    """
    if context.invoked_subcommand is None:  # with --config there is always a task's command
        raise InputError("no task is named", hint=f"use {', '.join(tasks())}")


def _task_of(path: Path) -> str:
    """Return the task that a config file names."""
    try:
        file = read_config(path)
    except InputError:
        return next(iter(tasks()))  # whose command reads the file again and reports the error
    task = file.values.get("task")
    if task is None:
        raise InputError("names no task", file=file.path, hint="begin with task: NAME")
    if task not in tasks():
        raise file.problem(("task",), f"there is no task '{task}'", f"use {', '.join(tasks())}")
    return str(task)


def options_of(model: type[RunConfig], *without: str) -> list[inspect.Parameter]:
    """Return the options of a task's runs, except those named in ``without``."""
    parameters = parameters_of(model, panel="Options of this task", as_text=["out"])
    return [one for one in parameters if one.name not in ("task", *without)]


class _FileOptions(Options):
    config: Path | None = option(
        None, "Take options from a YAML file; those given here replace them.", metavar="FILE"
    )


def _command(task: Task) -> Callable[..., None]:
    return as_command(
        partial(_run, task.name),
        [*options_of(config_model(task.name)), *parameters_of(_FileOptions)],
        f"Evaluate models and methods: {task.summary.rstrip('.')}\n\n"
        "If interrupted, run it again to resume.\n\n"
        f"Example: contrafact run {task.name} --model embedded/smollm2-135m --limit 10 "
        "--temperature 0",
    )


def _run(task: str, config: Path | None = None, **values: Any) -> None:
    require_tables(values.get("data"))
    given = given_options(values)
    if config is None:
        run_and_report(make_config(task, given))
    else:
        run_and_report(file_config(read_config(config), given, task))


def run_and_report(config: RunConfig) -> None:
    """Run what options describe, report it and print results; exit with 1 if samples failed."""
    from contrafact.exams.correct import what_corrects
    from contrafact.models.estimate import ask_first, show_estimate
    from contrafact.runs.execute import calls_to_confirm, default_folder
    from contrafact.runs.prepare import load_preset
    from contrafact.runs.score import prepare_config

    prepared, command = prepare_config(config), config.command
    if command.dry_run and not command.estimate:
        show_dry_run(prepared)
        return
    preset = prepared.settings.preset
    for note in load_preset(preset).get("notes", ()):
        typer.echo(f"{preset}: {note}", err=True)
    if command.estimate:
        outputs = len(prepared.units) * prepared.run.unit_outputs
        show_estimate(prepared.estimate(), [what_corrects(outputs)] * bool(prepared.judge))
        return
    folder = command.out or default_folder(prepared)
    if not command.yes:
        ask_first(calls_to_confirm(prepared, folder))
    result = evaluate(prepared, folder)
    show_failures(result)
    del prepared  # the report needs the memory of its outputs
    from contrafact.report.build import report_runs

    if report_runs([result], folder, with_published=command.with_published):
        show_results(folder)
        show_agreement(folder)
        typer.echo(f"report: {folder / 'report.html'}")
    if result.failures:
        raise typer.Exit(1)


def show_dry_run(prepared: "Prepared") -> None:
    """Open the models of a prepared run, and print what would be run."""
    from contrafact.runs.execute import check_models

    check_models(prepared)
    models = ", ".join(prepared.settings.models) or "no model"
    methods = ", ".join((*prepared.methods, *prepared.baselines))
    estimated, data = prepared.estimate(tokens=False), prepared.manifest.data
    typer.echo(
        f"{prepared.settings.task}: {prepared.samples:,} samples of {data.source or data.name}, "
        f"{methods} with {models}: about {sum(row.calls for row in estimated):,} calls"
    )
    typer.echo("no errors were found, and no model was called")


def evaluate(
    prepared: "Prepared", folder: Path, *, samples: bool = False, partial: bool = False
) -> "RunResult":
    """Run or resume a prepared run, and print notes about it first; see `execute`."""
    from contrafact.runs.execute import execute
    from contrafact.runs.prepare import BUNDLED

    data = prepared.manifest.data

    def show_notes() -> None:
        for note in data.notes:
            typer.echo(f"{data.name}: {note}", err=True)

    def ready() -> None:
        show_notes()
        if data.name == BUNDLED and not samples:
            typer.echo(f"{data.name}: --data is not given, so these samples are used", err=True)

    result = execute(prepared, folder, ready, partial=partial)
    if not result.ran:
        show_notes()
        typer.echo(f"this run had finished: no model was called ({result.folder})")
        return result
    for note in prepared.notes:
        typer.echo(note, err=True)
    return result


def show_failures(result: "RunResult") -> None:
    """Print which samples failed, by cause, if any did."""
    if result.problem is not None:
        typer.echo(str(result.problem), err=True)


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in the form of config files, with KEY=VALUE options as mappings."""
    found = {**options}
    for name, flag in (("model_args", "-M"), ("judge_args", "--judge-arg")):
        if name in found:
            found[name] = key_values(flag, found[name])
    if "columns" in found:
        found["columns"] = named_columns(found["columns"])
    return found
