"""``contrafact cobe``: the commands that only the family CoBe has."""

import typer

from contrafact.families.cobe.commands import prove, synth, write

__all__ = ["app"]

app = typer.Typer(
    help="Counterfactual edits of stories: stories of known answers, variations, studies.",
    no_args_is_help=True,
)
app.command("synth")(synth.synth)
app.command("prove")(prove.prove)
app.command("leak")(prove.leak)
app.command("write")(write.write)
app.command("augment")(write.augment)
