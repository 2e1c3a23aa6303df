"""``contrafact rfc``: building a benchmark of financial misinformation, stage by stage.

RFC-BENCH, section 2.2. Every command reads a file and writes a file.
"""

import typer

from contrafact.families.rfc.commands import check, finalize, ledger, measures, rewrite, stages

app = typer.Typer(
    help="Build a benchmark of minimal financial misinformation, stage by stage.",
    no_args_is_help=True,
)


app.command("hydrate")(stages.hydrate)
app.command("bucket")(stages.bucket)
app.command("label")(stages.label)
app.command("ledger")(ledger.ledger)
app.command("calibrate")(measures.calibrate)
app.command("rewrite")(rewrite.rewrite)
app.command("check")(check.check)
app.command("finalize")(finalize.finalize)
app.command("release")(stages.release)
app.command("surface")(measures.surface)
