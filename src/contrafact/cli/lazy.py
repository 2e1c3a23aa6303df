"""Commands that are found when they are asked for, and options made from a model's fields."""

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from contrafact.options import parameter

__all__ = [
    "LazyGroup",
    "MethodsCommand",
    "TaskGroup",
    "command_of",
    "method_lines",
    "option_of",
    "typed_after",
]


@cache
def command_of(
    name: str, function: Callable[..., None], cls: type[TyperCommand] = TyperCommand
) -> Any:
    """Return the command that a function is, as a group takes it."""
    app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, add_completion=False)
    app.command(name, cls=cls)(function)
    return typer.main.get_command(app)


def method_lines(task: str) -> list[str]:
    """Return a line for every method of a task, its default first where one is named so."""
    from contrafact.family import task_named

    found = task_named(task)
    lines = found.run.load().methods.lines()
    width = max(map(len, lines), default=0)
    return [
        f"{name:<{width}}  {line}{' (default)' if name in found.default_methods else ''}"
        for name, line in lines.items()
    ]


class MethodsCommand(TyperCommand):
    """A command whose help ends with the methods that it takes, a line each."""

    methods_of: str
    """The task whose methods they are."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        lines = "\n".join(method_lines(self.methods_of))
        self.epilog = f"Methods (--method):\n\n\b\n{lines}"
        super().format_help(ctx, formatter)


def option_of(
    name: str, field: Any, *, panel: str | None, flags: Sequence[str] = (), kind: Any = None
) -> inspect.Parameter:
    """Return the command-line option that a field of a model of options is.

    It is None where it is not given, so that the model's default counts.
    """
    flag = f"--{name.replace('_', '-')}"
    extra = field.json_schema_extra or {}
    bounds = {kind: getattr(one, kind) for one in field.metadata for kind in ("ge", "le")
              if hasattr(one, kind)}  # fmt: skip
    described = field.description or ""
    kind = kind or field.annotation
    names = [flag]
    if kind in (bool, bool | None) and field.default:
        names = [f"{flag}/--no-{flag[2:]}"]
    elif field.default and isinstance(field.default, str | int | float):
        described += f" [{field.default}]"
    option = typer.Option(
        *(flags or names),
        help=described,
        metavar=extra.get("metavar") or None,
        min=bounds.get("ge"),
        max=bounds.get("le"),
        show_default=False,
        rich_help_panel=panel,
    )
    return parameter(name, (kind | None, option))


def typed_after(flag: str, args: Sequence[str]) -> str | None:
    """Return what a command line says last for an option; None where it does not have it."""
    found = [
        word.partition("=")[2] or (args[place + 1 : place + 2] or [""])[0]
        for place, word in enumerate(args)
        if word.partition("=")[0] == flag
    ]
    return found[-1] if found else None


class LazyGroup(TyperGroup):
    """A group to which subclasses add commands by name: `more_names` and `more`."""

    def more_names(self) -> list[str]:
        """Return the names of the commands that are added."""
        return []

    def more(self, name: str) -> Any:
        """Return the added command of that name."""
        raise LookupError(name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help page."""
        return [*super().list_commands(ctx), *self.more_names()]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | Any:
        """Return the command of that name; None where there is none."""
        if cmd_name in self.more_names():
            return self.more(cmd_name)
        return super().get_command(ctx, cmd_name)


class TaskGroup(LazyGroup):
    """One command a task, of every family that is installed."""

    def more_names(self) -> list[str]:
        """Return the tasks."""
        from contrafact.family import tasks

        return list(tasks())

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the tasks, family by family."""
        return self.more_names()
