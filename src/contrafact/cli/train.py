"""``contrafact train``: white-box training."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from contrafact.options import Options, argument, option, takes

if TYPE_CHECKING:
    from contrafact.family.training import TrainingSpec
    from contrafact.training.run import Training

__all__ = ["app"]

app = typer.Typer(help="Training of models whose weights are at hand.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Training of models whose weights are at hand."""


class _Srlm(Options):
    config: str = argument("CONFIG", "A YAML file, or a preset: tiny, paper.")
    out: Path | None = option("Its folder. [runs/srlm-CONFIG]", None, metavar="DIR")
    data: Path | None = option("Items with their answers. [bundled ones]", None, metavar="FILE")
    model: str | None = option("The model to begin with. [the config's]", None, metavar="M")
    judge: str | None = option(
        "self, checks, or an Inspect model. [the config's]", None, metavar="J"
    )
    iterations: int | None = option("Rounds in all. [the config's]", None, min=1, metavar="I")
    seed: int | None = option("Seed of all that is drawn. [0]", None, min=0, metavar="S")
    prompts: Path | None = option("Another prompt pack.", None, metavar="DIR")


@app.command("srlm")
@takes(_Srlm)
def srlm(options: _Srlm) -> None:
    """Self-rewarding training: a model learns from preferences among its own answers.

    Supervised warm-up, then in each iteration new items, candidate answers, scores, preferences
    and DPO. Killed at any point, the same command goes on; what is finished is not done again.

    Example: contrafact train srlm tiny --data supplement.json --out runs/srlm-tiny
    """
    from contrafact.family import training_specs
    from contrafact.training.config import load_config
    from contrafact.training.run import train

    specs = training_specs()
    named = {name: value for name, value in vars(options).items() if name not in ("config", "out")}
    settings = load_config(options.config, specs, **named)
    folder = options.out or Path("runs") / f"srlm-{Path(options.config).stem}"
    spec = specs[settings.family]
    training = train(settings, spec, folder, say=lambda line: typer.echo(line, err=True))
    _show(training, spec)
    for path in training.checkpoints:
        typer.echo(f"{path}: use it as --model whitebox/{path}")
    if training.saturated is not None:
        typer.echo(f"Iteration {training.saturated} is saturated: training stopped there.")
    typer.echo(f"Tables and figures are in {folder}")


def _show(training: "Training", spec: "TrainingSpec") -> None:
    import pandas as pd

    from contrafact.console import show_frame
    from contrafact.training.evaluation import measures_of

    metrics = pd.DataFrame(training.metrics)
    measures = [one for one in measures_of(spec) if metrics[one.name].notna().any()]
    names = [one.name for one in measures]
    columns = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    show_frame(
        f"On the held-out {spec.items} (95% intervals)",
        metrics[["checkpoint", *columns]],
        shares=[one.name for one in measures if one.share],
        coefficients=[one.name for one in measures if not one.share],
    )
    if training.saturation:
        columns = ["iteration", spec.items, "candidates", "valid", "ties", "pairs", "spread"]
        saturation = pd.DataFrame(training.saturation)[columns].astype({"spread": float})
        show_frame("Scores of candidates", saturation, coefficients=["spread"])
