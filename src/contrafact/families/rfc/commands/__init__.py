"""``contrafact rfc``: building a benchmark of financial misinformation, stage by stage.

RFC-BENCH, section 2.2. Every command reads a file and writes a file.
"""

import typer

from contrafact.families.rfc.commands import (
    bucket,
    calibrate,
    check,
    finalize,
    hydrate,
    label,
    ledger,
    release,
    rewrite,
    surface,
)

app = typer.Typer(
    help="Build a benchmark of minimal financial misinformation, stage by stage.",
    no_args_is_help=True,
)


app.command("hydrate")(hydrate.hydrate)
app.command("bucket")(bucket.bucket)
app.command("label")(label.label)
app.command("ledger")(ledger.ledger)
app.command("calibrate")(calibrate.calibrate)
app.command("rewrite")(rewrite.rewrite)
app.command("check")(check.check)
app.command("finalize")(finalize.finalize)
app.command("release")(release.release)
app.command("surface")(surface.surface)
