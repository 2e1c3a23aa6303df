"""``contrafact cobe``: what belongs to the family CoBe alone."""

import typer

from contrafact.cli import cobe_synth

__all__ = ["app"]

app = typer.Typer(help="Counterfactual edits of stories: stories of known answers, studies.")
app.command("synth")(cobe_synth.synth)


@app.callback()
def group() -> None:
    """Counterfactual edits of stories: stories of known answers, studies."""
