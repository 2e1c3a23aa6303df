"""``contrafact cobe``: what belongs to the family CoBe alone."""

import typer

from contrafact.cli import cobe_augment, cobe_study, cobe_synth

__all__ = ["app"]

app = typer.Typer(
    help="Counterfactual edits of stories: stories of known answers, variations, studies.",
    no_args_is_help=True,
)
app.command("synth")(cobe_synth.synth)
app.command("augment")(cobe_augment.augment)
app.add_typer(cobe_study.app, name="study")


@app.callback()
def group() -> None:
    """Counterfactual edits of stories: stories of known answers, variations, studies."""
