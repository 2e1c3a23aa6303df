"""``contrafact score``: judge and report existing outputs.

``score TASK FILE`` takes outputs made elsewhere, ``score RUN`` those of a finished run.
"""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer
from pydantic import create_model

from contrafact.cli.lazy import TaskGroup, command_of
from contrafact.cli.run import given_options, options_of, run_and_report
from contrafact.family import Task, task_named
from contrafact.files.tables import require_tables
from contrafact.options import ModelBulkOptions, argument, as_command, parameters_of
from contrafact.runs.config import Source, make_config, score_model
from contrafact.stages.run import executor


class ScoreGroup(TaskGroup):
    """The group of commands that score a task's outputs; a run's folder also works as a command."""

    def find(self, name: str) -> Any:
        return command_of(f"score {name}", _score_file(task_named(name)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the task's command or, for another name, the command that judges a run again."""
        if not args or args[0].startswith("-") or args[0] in self.names():
            return super().resolve_command(ctx, args)
        from contrafact.runs.folder import run_folder

        found = task_named(run_folder(args[0])[1])
        return "RUN", command_of(f"score {found.name} again", _score_again(found)), args


app = typer.Typer(
    cls=ScoreGroup,
    help="Judge and report existing outputs: a file's, or a finished run's.",
    no_args_is_help=True,
    epilog="A run instead of a task is judged again: contrafact score RUN --judge J2",
)


@app.callback()
def group() -> None:
    """Judge and report existing outputs: a file's, or a finished run's.

    Example: contrafact score TASK outputs.jsonl --judge J
    """


def _score_file(task: Task) -> Callable[..., None]:
    bulk = parameters_of(ModelBulkOptions)

    def score(**values: Any) -> None:
        by_ray = {one.name: values.pop(one.name) for one in bulk if one.name in values}
        if elsewhere := executor(ModelBulkOptions(**by_ray)):
            elsewhere.score(task.name, values)
        else:
            _score(task.name, values)

    options = options_of(score_model(task.name), "score", "run")
    return as_command(
        score,
        [_source("score", "FILE", str), *options, *bulk],
        f"Judge and report outputs made elsewhere: {task.summary.rstrip('.')}\n\n"
        "Nothing is generated. If interrupted, run it again to resume.\n\n"
        f"Example: contrafact score {task.name} outputs.jsonl --system mine --limit 10",
    )


def _score_again(task: Task) -> Callable[..., None]:
    options = options_of(score_model(task.name), *Source.model_fields)
    return as_command(
        lambda **values: _score(task.name, values),
        [_source("run", "RUN", Path), *options],
        f"Judge a finished run of {task.name} again, generating nothing.\n\n"
        "Verdicts of earlier judges are kept beside the new ones, with their agreement.\n\n"
        "Example: contrafact score RUN --judge J2",
    )


def _source(name: str, metavar: str, kind: type) -> inspect.Parameter:
    """Return the parameter that names the outputs to score: a file, or a run's folder."""
    field = argument(metavar, Source.model_fields[name].description or "")
    fields: dict[str, Any] = {name: (kind, field)}
    [parameter] = parameters_of(create_model("Source", **fields))
    return parameter


def _score(task: str, values: Mapping[str, Any]) -> None:
    require_tables(values.get("score"), values.get("data"))
    run_and_report(make_config(task, given_options(values)))
