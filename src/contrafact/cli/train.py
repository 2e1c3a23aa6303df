"""``contrafact train``: train models whose weights are available."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from contrafact.console import show_frame
from contrafact.family import edit_specs, training_specs
from contrafact.files.config import require_config
from contrafact.options import Options, argument, command, option

if TYPE_CHECKING:
    from contrafact.family.training import TrainingSpec
    from contrafact.training.run import Training

app = typer.Typer(help="Training of models whose weights are at hand.", no_args_is_help=True)


class _Srlm(Options):
    config: str = argument("CONFIG", "A YAML file, or a preset: tiny, paper.")
    out: Path | None = option(None, "Its folder. [runs/srlm-CONFIG]", metavar="DIR")
    data: Path | None = option(None, "Items with their answers. [bundled ones]", metavar="FILE")
    model: str | None = option(None, "The model to begin with. [the config's]", metavar="M")
    judge: str | None = option(
        None, "self, checks, or an Inspect model. [the config's]", metavar="J"
    )
    iterations: int | None = option(None, "Rounds in all. [the config's]", ge=1, metavar="I")
    seed: int | None = option(None, "Seed of all that is drawn. [0]", ge=0, metavar="S")
    prompts: Path | None = option(None, "Another prompt pack: its folder or name.", metavar="DIR")


class _Edit(Options):
    config: str = argument("CONFIG", "A YAML file, or a preset: tiny, small.")
    out: Path | None = option(None, "Its folder. [runs/edit-CONFIG]", metavar="DIR")
    model: str | None = option(None, "The model to begin with. [the config's]", metavar="M")
    begin: str | None = option(
        None, "An adapter to go on from: its folder or name.", metavar="ADAPTER", name="from"
    )
    examples: int | None = option(None, "Proven answers to learn. [the config's]", ge=16)
    examples_total: int | None = option(
        None, "Answers of all pieces, along which the rate falls. [met + examples]", ge=16
    )
    framing: str | None = option(
        None, "How requests are put: plain, stated:1 to 3. [the config's, stated:1]", metavar="NAME"
    )
    seed: int | None = option(None, "Seed of all that is drawn. [0]", ge=0, metavar="S")
    prompts: Path | None = option(None, "Another prompt pack: its folder or name.", metavar="DIR")


@app.command("edit")
@command
def edit(options: _Edit) -> None:
    """Train a model to edit stories, with answers that are proven right.

    It is measured on stories with unseen graphs, places or events, each alone and together. If
    interrupted, run the same command again to resume; finished parts are not repeated.

    Example: contrafact train edit tiny --out runs/edit-tiny
    """
    require_config(options.config)
    from contrafact.training.config import EditConfig, load_config

    specs = edit_specs()
    numbers = {"examples": options.examples, "total": options.examples_total}
    given = {name: number for name, number in numbers.items() if number is not None}
    named = {name: getattr(options, name) for name in ("model", "seed", "prompts", "framing")}
    named |= {"from": options.begin, "supervised": given}
    settings = load_config(EditConfig, options.config, specs, **named)
    from contrafact.training.edit import train_edit

    folder = options.out or Path("runs") / f"edit-{Path(options.config).stem}"
    taught = train_edit(
        settings, specs[settings.family], folder, say=lambda line: typer.echo(line, err=True)
    )
    import pandas as pd

    show_frame(
        "Proven right on held-out stories (95% intervals)",
        pd.DataFrame(taught.metrics),
        shares=["share", "low", "high"],
        coefficients=[],
    )
    typer.echo(f"{taught.adapter}: use it as --model {taught.provider}/{taught.adapter}")
    typer.echo(f"Tables and answers are in {folder}")


@app.command("srlm")
@command
def srlm(options: _Srlm) -> None:
    """Train a model by self-rewarding: it learns from preferences among its own answers.

    After a supervised warm-up, each iteration has new items, candidate answers, scores, preferences
    and DPO. If interrupted, run the same command again to resume; finished parts are not repeated.

    Example: contrafact train srlm tiny --data supplement.json --out runs/srlm-tiny
    """
    require_config(options.config)
    from contrafact.training.config import TrainConfig, load_config

    specs = training_specs()
    named = {name: value for name, value in vars(options).items() if name not in ("config", "out")}
    named["judge"] = None if options.judge is None else {"by": options.judge}
    settings = load_config(TrainConfig, options.config, specs, **named)
    from contrafact.training.run import train

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

    metrics = pd.DataFrame(training.metrics)
    names = ("valid", "clean", "score", *spec.measures, "delta_perplexity")
    names = tuple(name for name in names if metrics[name].notna().any())
    columns = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    show_frame(
        f"On the held-out {spec.items} (95% intervals)",
        metrics[["checkpoint", *columns]],
        shares=["valid", "clean"],
        coefficients=[name for name in names if name not in ("valid", "clean")],
    )
    if training.saturation:
        columns = ["iteration", spec.items, "candidates", "valid", "ties", "pairs", "spread"]
        saturation = pd.DataFrame(training.saturation)[columns].astype({"spread": float})
        show_frame("Scores of candidates", saturation, coefficients=["spread"])
