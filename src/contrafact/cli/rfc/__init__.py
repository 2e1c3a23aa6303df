"""``contrafact rfc``: building a benchmark of financial misinformation, stage by stage.

RFC-BENCH, section 2.2. Every command reads a file and writes a file.
"""

import typer

__all__ = ["app"]

app = typer.Typer(
    help="Build a benchmark of minimal financial misinformation, stage by stage.",
    no_args_is_help=True,
)


@app.callback()
def group() -> None:
    """Build a benchmark of minimal financial misinformation, stage by stage."""
