"""``contrafact finforce``: the commands that only the family FIN-FORCE has."""

import typer

from contrafact.families.finforce.commands import build

app = typer.Typer(
    help="Forward counterfactuals: screening headlines, releasing a set, studies of the judge.",
    no_args_is_help=True,
)
app.command("screen")(build.screen)
app.command("release")(build.release)
