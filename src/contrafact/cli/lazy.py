"""Commands that are loaded only when they are used."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from contrafact.family import tasks


@cache
def command_of(
    name: str, function: Callable[..., None], cls: type[TyperCommand] = TyperCommand
) -> Any:
    """Wrap a function as a Typer command that can be added to a command group."""
    app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, add_completion=False)
    app.command(name, cls=cls)(function)
    return typer.main.get_command(app)


def read_ahead(
    command: TyperCommand | TyperGroup, args: Sequence[str], parent: Any
) -> dict[str, Any]:
    """Parse a command's own options from a command line, ignoring everything else, even if invalid.

    A command uses it to find its full set of options if they depend on the family that an option
    names.
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
    """Return a function or a Typer app as a command that can be added to a command group."""
    if isinstance(thing, typer.Typer):
        group: Any = typer.main.get_group(thing)
        group.name = name
        return group
    return thing if isinstance(thing, TyperCommand) else command_of(name, thing)


class LazyGroup(TyperGroup):
    """A group whose commands are loaded by name; subclasses implement `names` and `find`."""

    def names(self) -> list[str]:
        raise NotImplementedError

    def find(self, name: str) -> Any:
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        return self.names()

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | Any:
        return self.find(cmd_name) if cmd_name in self.names() else None


class TaskGroup(LazyGroup):
    """A group with one command per task of every installed family."""

    def names(self) -> list[str]:
        return list(tasks())
