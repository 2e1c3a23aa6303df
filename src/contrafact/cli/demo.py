"""``contrafact demo``: the main job, offline, in minutes."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]

MODEL = "embedded/smollm2-135m"
HEADLINES = 24
MAX_TOKENS = 200  # two headlines and JSON around them; what is longer has lost its way


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the run and its report.")] = (
        Path("demo")
    ),
    headlines: Annotated[
        int, typer.Option(min=1, max=30, metavar="N", help="How many of the bundled headlines.")
    ] = HEADLINES,
) -> None:
    """Run the families on bundled samples with the embedded model; no key, no network.

    The embedded model writes the counterfactuals and judges them. It is small and a poor judge,
    and the report says so. Killed and started again, the demo goes on.

    Example: contrafact demo --out demo
    """
    from contrafact.cli.run import run_and_report
    from contrafact.runs.prepare import prepare
    from contrafact.runs.settings import RunSettings

    typer.echo(
        f"FIN-FORCE: {headlines} bundled headlines about fictional companies; {MODEL} writes, "
        "and judges what it wrote."
    )
    settings = RunSettings(
        task="finforce",
        models=(MODEL,),
        judges=(MODEL,),
        methods=("few-shot",),  # without examples so small a model writes little that can be read
        limit=headlines,
        generation={"temperature": 0.0, "max_tokens": MAX_TOKENS},
    )
    run_and_report(
        prepare(settings), out / "finforce", only_estimate=False, yes=True, with_published=False
    )
