"""``contrafact prompts``: the default prompt pack, to read or to change."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(help="Prompt packs.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Prompt packs."""


@app.command("export")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for the pack.")],
) -> None:
    """Write the default prompt pack into a folder, to read or to change.

    Use the changed pack with `--prompts DIR`.

    Example: contrafact prompts export my-prompts
    """
    from contrafact.prompts import export_default_pack

    written = export_default_pack(folder)
    typer.echo(f"{len(written)} templates written to {folder}")
