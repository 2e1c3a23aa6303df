"""Commands that are found when they are asked for, and options made from a model's fields."""

import ast
import inspect
import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from contrafact.options import parameter


@cache
def command_of(
    name: str, function: Callable[..., None], cls: type[TyperCommand] = TyperCommand
) -> Any:
    """Return the command that a function is, as a group takes it."""
    app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, add_completion=False)
    app.command(name, cls=cls)(function)
    return typer.main.get_command(app)


def method_lines(
    packages: Sequence[str], wanted: Callable[[str], bool] = bool, default: Collection[str] = ()
) -> list[str]:
    """Return a line for every module of packages, from its docstring: it is read, not imported.

    Args:
        wanted: Whether a method of that name is listed.
        default: The names that are marked as what is run where none is named.
    """
    lines = {}
    for package in packages:
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for path in sorted(Path(folder).glob("[!_]*.py")):
                name = path.stem.replace("_", "-")
                text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or name
                line = text.splitlines()[0].removeprefix(f"{name}: ").rstrip(".")
                line += " (default)" if name in default else ""
                lines[name] = re.sub(r" \([^)]*(section|table)[^)]*\)", "", line)
    width = max(map(len, lines), default=0)
    return [f"{name:<{width}}  {line}" for name, line in lines.items() if wanted(name)]


class MethodsCommand(TyperCommand):
    """A command whose help ends with the methods that it takes, a line each."""

    methods_of: str
    """The task whose methods they are."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        from contrafact.family import task_named

        task = task_named(self.methods_of)
        # By where a family keeps them, since its methods themselves are heavy to load.
        folder = task.run.path.partition(":")[0].rpartition(".")[0]
        places = [f"{folder}.methods", f"{folder}.baselines"]
        if lines := "\n".join(method_lines(places, default=task.default_methods)):
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
