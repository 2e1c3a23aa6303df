"""Commands that are found when they are asked for: those of families, and one a task."""

from collections.abc import Callable
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["LazyGroup", "command_of"]


@cache
def command_of(name: str, function: Callable[..., None]) -> Any:
    """Return the command that a function is, as a group takes it."""
    app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, add_completion=False)
    app.command(name)(function)
    return typer.main.get_command(app)


class LazyGroup(TyperGroup):
    """A group to which subclasses add commands by name.

    They override `more_names` and `more`.
    """

    def more_names(self) -> list[str]:
        """Return the names of the commands that are added."""
        return []

    def more(self, name: str) -> Any:
        """Return the added command of that name."""
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help page."""
        return [*super().list_commands(ctx), *self.more_names()]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | Any:
        """Return the command of that name; None where there is none."""
        if cmd_name in self.more_names():
            return self.more(cmd_name)
        return super().get_command(ctx, cmd_name)
