"""``contrafact run TASK``: evaluate models and methods on a task.

The options are those of every run and, behind them, the task's own, made from its model of options.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from contrafact.cli.lazy import LazyGroup, command_of, option_of
from contrafact.options import (
    SAMPLING,
    TRANSPORT,
    AttemptTimeout,
    JudgeArguments,
    MaxRetries,
    MaxTokens,
    Prompts,
    Temperature,
    Timeout,
    TopP,
    key_values,
)

if TYPE_CHECKING:
    from contrafact.family import Task
    from contrafact.runs.execute import RunResult
    from contrafact.runs.prepare import Prepared

__all__ = [
    "BOUNDED",
    "TaskGroup",
    "app",
    "common_options",
    "evaluate",
    "given_options",
    "run_and_report",
    "show_failures",
    "write_report",
]

_ASK_ABOVE = 1_000


class TaskGroup(LazyGroup):
    """One command a task, of every family that is installed."""

    def more_names(self) -> list[str]:
        """Return the tasks."""
        from contrafact.family import tasks

        return list(tasks())

    def more(self, name: str) -> Any:
        """Return the command that runs a task."""
        from contrafact.family import task_named

        return command_of(name, _command(task_named(name)))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the tasks, family by family."""
        return self.more_names()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the task's command; a name that is no task's is an error that lists the tasks."""
        from contrafact.errors import InputError
        from contrafact.family import tasks

        if args and not args[0].startswith("-") and args[0] not in tasks():
            raise InputError(f"there is no task '{args[0]}'", hint=f"use {', '.join(tasks())}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=TaskGroup,
    help="Evaluate models and methods on a task; killed and started again, it goes on.",
    no_args_is_help=True,
)


@app.callback()
def group() -> None:
    """Evaluate models and methods on a task; killed and started again, it goes on.

    Example: contrafact run TASK --model embedded/smollm2-135m --limit 10
    """


def _common(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="M", help="Model under test; give several for a grid."),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", metavar="J", help="Judge; several form a panel. None by default."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Method or baseline, or NAME:OPTION=VALUE,OPTION=VALUE; several make a grid.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Items (JSON, JSONL, CSV, Excel, Parquet), a published set, or hf://OWNER/NAME; "
            "bundled samples if none.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="WANTED=FOUND,…", help="What FILE calls the columns it is read by."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Take the first N items.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Run folder. [runs/TASK-HASH]")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="S", help="Seed of draws and of sampling.")
    ] = None,
    prompts: Prompts = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="A paper's setting, by name.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say calls, tokens and cost, and stop.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before many calls.")] = False,
    with_published: Annotated[
        bool, typer.Option("--with-published", help="Show the paper's rows in the report.")
    ] = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=SAMPLING, show_default=False)
    ] = None,
    max_tokens: MaxTokens = None,
    frequency_penalty: Annotated[
        float | None, typer.Option(rich_help_panel=SAMPLING, show_default=False)
    ] = None,
    presence_penalty: Annotated[
        float | None, typer.Option(rich_help_panel=SAMPLING, show_default=False)
    ] = None,
    reasoning_effort: Annotated[
        Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None,
        typer.Option(rich_help_panel=SAMPLING, help="none, minimal, low, medium, high, xhigh, max"),
    ] = None,
    reasoning_tokens: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=SAMPLING, show_default=False)
    ] = None,
    model_arg: Annotated[
        list[str] | None,
        typer.Option(
            "-M",
            metavar="KEY=VALUE",
            rich_help_panel=TRANSPORT,
            help="Provider argument of the models under test.",
        ),
    ] = None,
    judge_arg: JudgeArguments = None,
    max_connections: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=TRANSPORT, show_default=False)
    ] = None,
    max_retries: MaxRetries = None,
    timeout: Timeout = None,
    attempt_timeout: AttemptTimeout = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=TRANSPORT, help="Use the provider's batch mode, N a batch."
        ),
    ] = None,
    cache: Annotated[
        bool,
        typer.Option("--cache", rich_help_panel=TRANSPORT, help="Reuse answers of earlier runs."),
    ] = False,
) -> None:
    """The options of every run."""


def common_options(*names: str) -> dict[str, inspect.Parameter]:
    """Return the options of every run, or those of them that are named, as parameters."""
    every = inspect.signature(_common, eval_str=True).parameters
    return {name: every[name] for name in names or every}


_SAMPLED: tuple[str, ...] = ("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty")
_SAMPLED += ("presence_penalty", "reasoning_effort", "reasoning_tokens", "seed")
BOUNDED = ("max_connections", "max_retries", "timeout", "attempt_timeout", "batch")
"""Options that say how calls are made."""


def _command(task: "Task") -> Callable[..., None]:
    """Return the function behind ``contrafact run TASK``: its signature has the task's options."""
    from contrafact.family.settings import TaskOptions

    model = task.options.load() if task.options else TaskOptions
    common = common_options()
    own = {
        name: option_of(name, field, panel="Options of this task")
        for name, field in model.model_fields.items()
    }
    if clash := sorted(own.keys() & common.keys()):
        raise ValueError(f"the task {task.name} has an option '{clash[0]}' that every run has")

    def command(**values: Any) -> None:
        options = {name: values.pop(name) for name in own}
        _run(task.name, values, given_options(options))

    parameters = [*common.values(), *own.values()]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = (
        f"Evaluate models and methods: {task.summary.rstrip('.')}\n\n"
        "Killed and started again, it goes on.\n\n"
        f"Example: contrafact run {task.name} --model embedded/smollm2-135m --limit 10 "
        "--temperature 0"
    )
    return command


def _run(task: str, values: dict[str, Any], options: dict[str, Any]) -> None:
    from contrafact.files.fields import named_columns
    from contrafact.runs.prepare import make_settings, prepare

    given: dict[str, Any] = {
        "models": tuple(values["model"] or ()),
        "judges": tuple(values["judge"] or ()),
        "methods": tuple(values["method"] or ()),
        "columns": named_columns(values["columns"]),
        **{name: values[name] for name in ("data", "limit", "seed", "prompts")},
        "generation": given_options({name: values[name] for name in _SAMPLED}),
        "model_args": key_values("-M", values["model_arg"]),
        "judge_args": key_values("--judge-arg", values["judge_arg"]),
        "transport": given_options({name: values[name] for name in BOUNDED}),
        "shared_cache": values["cache"] or None,
    }
    given = {name: value for name, value in given.items() if value not in (None, (), {})}
    settings = make_settings(task, given, options, values["preset"])
    run_and_report(
        prepare(settings),
        values["out"],
        only_estimate=values["estimate"],
        yes=values["yes"],
        with_published=values["with_published"],
    )


def run_and_report(
    prepared: "Prepared", out: Path | None, *, only_estimate: bool, yes: bool, with_published: bool
) -> None:
    """Run what was prepared, write the report, and say how it went.

    Raises:
        typer.Exit: with 1 if samples failed.
    """
    from contrafact.cli.show import show_agreement, show_estimate, show_results

    if only_estimate:
        show_estimate(prepared.estimate())
        return
    result = evaluate(prepared, out, yes=yes)
    folder = result.folder
    if result.ran or with_published or not (folder / "report.html").exists():
        written = write_report(folder, with_published=with_published)
    else:
        written = True
    if written:
        show_results(folder)
        show_agreement(folder)
    show_failures(result)
    if written:
        typer.echo(f"report: {folder / 'report.html'}")
    if result.failures:
        raise typer.Exit(1)


def evaluate(prepared: "Prepared", out: Path | None, *, yes: bool) -> "RunResult":
    """Run, or go on with, what was prepared, and say what the user should know of it first."""
    from contrafact.models.estimate import paid_calls
    from contrafact.runs.execute import default_folder, execute

    calls = prepared.estimate(tokens=False)
    _ask_first(paid_calls(calls), yes)
    for note in prepared.data.notes:
        typer.echo(f"{prepared.data.name}: {note}", err=True)
    result = execute(prepared, out or default_folder(prepared), calls)
    if not result.ran:
        typer.echo(f"this run had finished: no model was called ({result.folder})")
        return result
    for note in prepared.notes:
        typer.echo(note, err=True)
    return result


def write_report(folder: Path, *, with_published: bool = False) -> bool:
    """Write a run's report into its folder; return whether there was anything to report."""
    from contrafact.report.build import build_report
    from contrafact.report.frames import read_tasks

    tasks = [runs for runs in read_tasks([folder]) if len(runs.items)]
    if tasks:
        build_report(tasks, folder, with_published=with_published)
    return bool(tasks)


def show_failures(result: "RunResult") -> None:
    """Say which samples failed, by cause, if any did."""
    if not result.failures:
        return
    causes: dict[str, int] = {}
    for failure in result.failures:
        causes[failure.cause] = causes.get(failure.cause, 0) + 1
    typer.echo(
        f"{len(result.failures)} of {result.samples} samples failed "
        f"(listed in {result.folder / 'failures.csv'}); the same command tries them again:",
        err=True,
    )
    for cause, count in sorted(causes.items(), key=lambda pair: -pair[1])[:5]:
        typer.echo(f"  {count} x {cause}", err=True)


def _ask_first(paid: int, yes: bool) -> None:
    import sys

    if paid <= _ASK_ABOVE or yes or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    typer.confirm(f"This run makes about {paid:,} paid calls. Go on?", abort=True)


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given."""
    return {key: value for key, value in options.items() if value is not None}
