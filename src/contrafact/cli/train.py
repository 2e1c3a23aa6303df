"""``contrafact train``: white-box training."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    _Rows = Sequence[Mapping[str, Any]]

__all__ = ["app"]

_SHARES = ("valid", "clean", "direction", "subject")

app = typer.Typer(help="Training of models whose weights are at hand.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Training of models whose weights are at hand."""


@app.command("srlm")
def srlm(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A YAML file, or a preset: tiny, paper.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Its folder. [runs/srlm-CONFIG]")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Headlines with both counterfactuals. [bundled ones]"),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="M", help="The model to begin with. [the config's]")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="J", help="self, checks, or an Inspect model. [the config's]"),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, metavar="I", help="Rounds in all. [the config's]")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="S", help="Seed of all that is drawn. [0]")
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Another prompt pack.")
    ] = None,
) -> None:
    """Self-rewarding training: a model learns from preferences among its own counterfactuals.

    Supervised warm-up, then in each iteration new headlines, candidate pairs, scores, preferences
    and DPO. Killed at any point, the same command goes on; what is finished is not done again.

    Example: contrafact train srlm tiny --data supplement.json --out runs/srlm-tiny
    """
    from contrafact.console import Progress
    from contrafact.training.config import load_config
    from contrafact.training.run import train

    settings = load_config(
        config,
        data=data,
        model=model,
        judge=judge,
        iterations=iterations,
        seed=seed,
        prompts=prompts,
    )
    folder = out or Path("runs") / f"srlm-{Path(config).stem}"
    outcome = train(
        settings, folder, say=lambda line: typer.echo(line, err=True), progress=Progress
    )
    _show(outcome.metrics, outcome.saturation)
    for path in outcome.checkpoints:
        typer.echo(f"{path}: use it as --model whitebox/{path}")
    if outcome.saturated is not None:
        typer.echo(f"Iteration {outcome.saturated} is saturated: training stopped there.")
    typer.echo(f"Tables and figures are in {folder}")


def _show(
    metrics: "Sequence[Mapping[str, Any]]", saturation: "Sequence[Mapping[str, Any]]"
) -> None:
    from contrafact.console import show_table
    from contrafact.training.evaluation import MEASURES

    shown = [name for name in MEASURES if any(_known(row[name]) for row in metrics)]
    show_table(
        "On the held-out headlines (95% intervals)",
        ["checkpoint", *(name.replace("_", " ") for name in shown)],
        [[str(row["checkpoint"]), *(_cell(row, name) for name in shown)] for row in metrics],
    )
    if saturation:
        columns = ("iteration", "headlines", "candidates", "valid", "ties", "pairs", "spread")
        show_table(
            "Scores of candidates",
            columns,
            [[_plain(row[name]) for name in columns] for row in saturation],
        )


def _cell(row: "Mapping[str, Any]", name: str) -> str:
    if not _known(row[name]):
        return "–"
    scale, form = (100.0, "{:.1f}%") if name in _SHARES else (1.0, "{:.2f}")
    estimate, low, high = (
        form.format(scale * row[key]) for key in (name, f"{name}_low", f"{name}_high")
    )
    return f"{estimate} [{low}, {high}]" if _known(row[f"{name}_low"]) else estimate


def _plain(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _known(value: object) -> bool:
    return isinstance(value, int | float) and value == value
