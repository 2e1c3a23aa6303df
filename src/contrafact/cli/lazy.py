"""Commands that are found when they are asked for."""

import ast
import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from contrafact.family import task_named, tasks


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
        task = task_named(self.methods_of)
        # By where a family keeps them, since its methods themselves are heavy to load.
        folder = task.run.path.partition(":")[0].rpartition(".")[0]
        places = [f"{folder}.methods", f"{folder}.baselines"]
        if lines := "\n".join(method_lines(places, default=task.default_methods)):
            self.epilog = f"Methods (--method):\n\n\b\n{lines}"
        super().format_help(ctx, formatter)


def read_ahead(
    command: TyperCommand | TyperGroup, args: Sequence[str], parent: Any
) -> dict[str, Any]:
    """Return what a command line says for the options of a command; what else it says may be wrong.

    With it a command finds which options it has: those of the family that another one names.
    """
    lenient = {
        "resilient_parsing": True,
        "ignore_unknown_options": True,
        "allow_extra_args": True,
        "allow_interspersed_args": True,
    }
    cls: Any = TyperGroup if isinstance(command, TyperGroup) else TyperCommand
    context = cls.make_context(command, command.name, [*args], parent, **lenient)
    params: dict[str, Any] = context.params
    return params


def loaded(name: str, thing: Any) -> Any:
    """Return the command that a function or a Typer app is, as a group takes it."""
    if isinstance(thing, typer.Typer):
        group: Any = typer.main.get_group(thing)
        group.name = name
        return group
    return thing if isinstance(thing, TyperCommand) else command_of(name, thing)


class LazyGroup(TyperGroup):
    """A group whose commands are found by name: subclasses have `names` and `find`."""

    def names(self) -> list[str]:
        raise NotImplementedError

    def find(self, name: str) -> Any:
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        return self.names()

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | Any:
        return self.find(cmd_name) if cmd_name in self.names() else None


class TaskGroup(LazyGroup):
    """One command a task, of every family that is installed."""

    def names(self) -> list[str]:
        return list(tasks())
