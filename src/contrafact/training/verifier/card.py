"""The card of a verifier: what it learned from, what it reached, and a reliability plot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.files.atomic import write_bytes, write_text
from contrafact.files.tables import write_frame
from contrafact.report.drawing import Figure, render
from contrafact.training.context import read_json
from contrafact.training.verifier.config import VerifierConfig

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

__all__ = ["curve_figure", "reliability_figure", "write_card"]

_COLUMNS = 3
Row = Mapping[str, Any]


def write_card(
    out: Path, config: VerifierConfig, rows: Sequence[Row], items: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write ``card.md``, ``figures.csv`` and the two figures of a training.

    Args:
        out: The training's folder.
        config: The training.
        rows: The figures of each stage and criterion, in order.
        items: By criterion, how many items there were of what kind.
    """
    import pandas as pd

    last = max(row["stage"] for row in rows)
    plots = read_json(out / f"stage-{last}" / "figures" / "reliability.json")
    for figure in (curve_figure(rows), reliability_figure(plots)):
        write_bytes(out / f"{figure.key}.png", figure.png)
        write_bytes(out / f"{figure.key}.svg", figure.svg)
    write_frame(pd.DataFrame([dict(row) for row in rows]), out / "figures.csv")
    text = _card(config, [row for row in rows if row["stage"] == last], items)
    write_text(out / "card.md", text)
    if (out / "verifier").is_dir():
        write_text(out / "verifier" / "card.md", text)


def _card(
    config: VerifierConfig, rows: Sequence[Row], items: Mapping[str, Mapping[str, Any]]
) -> str:
    usable = [row["criterion"] for row in rows if row["usable"]]
    lines = [
        "# Card of a verifier",
        "",
        f"Weights: `{config.model}`, "
        + ("all trained" if config.lora is None else f"LoRA of rank {config.lora.r}")
        + f"; {len(config.stages)} stages; seed {config.seed}.",
        "",
        "Better than the surface on unseen items: "
        + (", ".join(usable) if usable else "nothing")
        + ". Everything else it leaves undecided, as it does a verdict whose probability is under "
        f"{config.decided:.2f}.",
        "",
        "| question | held out | AUROC (95%) | surface | Brier | ECE | coverage | right |",
        "| --- | ---: | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        lines.append(
            f"| {row['criterion']} | {row['items']} "
            f"| {_figure(row, 'auroc')} | {_figure(row, 'surface')} ({row['reader']}) "
            f"| {_number(row['brier'])} | {_number(row['ece'])} "
            f"| {_share(row['coverage'])} | {_share(row['accuracy'])} |"
        )
    lines += [
        "",
        "The surface is the best of its readers (words, overlap, lengths, connectors), trained on "
        "the same items, of very many on 6,000, and chosen in its favour. Items are matched in "
        "length; coverage is the share of held-out items that get a verdict, and right the share "
        "of these that are right.",
        "",
        "| question | made | unmatched | learned from | validated on | held out | the exam's |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    lines += [
        f"| {name} | {own['items']} | {own['unmatched']} | {own['train']} "
        f"| {own['validation']} | {own['held-out']} | {'yes' if own['crossed'] else 'no'} |"
        for name, own in items.items()
    ]
    return "\n".join(lines) + "\n"


def curve_figure(rows: Sequence[Row]) -> Figure:
    """Return the figure of AUROC by stage, a panel for each criterion.

    Args:
        rows: The figures of each stage and criterion, in order.
    """
    names = list(dict.fromkeys(row["criterion"] for row in rows))
    by_name = {name: [row for row in rows if row["criterion"] == name] for name in names}

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        for at, (name, own) in enumerate(by_name.items()):
            ax = plot.add_subplot(_rows(len(names)), _COLUMNS, at + 1)
            places = [row["stage"] for row in own]
            ax.plot(places, [row["auroc"] for row in own], "o-", color=colours["opportunity"])
            for row in own:
                ax.vlines(row["stage"], row["auroc_low"], row["auroc_high"], color=colours["ink"])
            ax.axhline(own[0]["surface"], color=colours["risk"], linestyle="--")
            ax.set_ylim(0.3, 1.0)
            ax.set_xticks(places)
            ax.set_title(name, loc="left")
            ax.grid(axis="y")

    alt = "; ".join(
        f"{name}: "
        + ", ".join(f"{row['auroc']:.2f}" for row in own)
        + f", surface {own[0]['surface']:.2f}"
        for name, own in by_name.items()
    )
    caption = (
        "AUROC on unseen items after each stage, with 95% intervals. The dashed line is the best "
        "reader of the surface, trained on the same items."
    )
    height = 2.2 * _rows(len(names))
    return render("curve", "What was learned, by stage", caption, alt, draw, height=height)


def reliability_figure(plots: Mapping[str, Sequence[Row]]) -> Figure:
    """Return the reliability plot: how often verdicts are right, by their probability.

    Args:
        plots: By criterion, its bins: ``n``, mean ``probability`` and share ``right``.
    """

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        for at, (name, bins) in enumerate(plots.items()):
            ax = plot.add_subplot(_rows(len(plots)), _COLUMNS, at + 1)
            ax.plot([0.5, 1.0], [0.5, 1.0], "--", color=colours["ink"])
            known = [(one["probability"], one["right"]) for one in bins]
            ax.plot(*zip(*known, strict=True), "o-", color=colours["opportunity"])
            ax.set_xlim(0.48, 1.02)
            ax.set_ylim(0.0, 1.05)
            ax.set_title(name, loc="left")
            ax.grid(axis="y")

    alt = "; ".join(
        f"{name}: "
        + ", ".join(f"{one['probability']:.2f} {one['right']:.2f} (n {one['n']})" for one in bins)
        for name, bins in plots.items()
    )
    caption = "The share of verdicts that are right, by the probability they were given with."
    height = 2.2 * _rows(len(plots))
    return render("reliability", "Reliability", caption, alt, draw, height=height)


def _rows(panels: int) -> int:
    return -(-panels // _COLUMNS)


def _figure(row: Row, name: str) -> str:
    known = all(row[f"{name}{end}"] is not None for end in ("", "_low", "_high"))
    if not known:
        return _number(row[name])
    return f"{row[name]:.3f} ({row[f'{name}_low']:.3f} to {row[f'{name}_high']:.3f})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
