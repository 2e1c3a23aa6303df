"""The statistics of a build, as the paper gives them (RFC-BENCH, appendix E, table 4, figures 6-8).

Items per manipulation before and after each gate, over time, and by ticker. Items are not
articles: one article may be a candidate for several manipulations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.corpus.news_items import day_of
from contrafact.errors import require
from contrafact.families.rfc.pipeline.stages import passed_of
from contrafact.records import MANIPULATIONS

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Gate",
    "Item",
    "by_gate",
    "by_ticker",
    "draw_figures",
    "items_of",
    "over_time",
]

OVERALL = "overall"


@dataclass(frozen=True)
class Item:
    """What the statistics need of one item."""

    article: str
    manipulation: str | None
    day: str | None
    ticker: str | None
    undecided: bool = False


@dataclass(frozen=True)
class Gate:
    """The items that passed a stage, under the name of that stage."""

    name: str
    items: tuple[Item, ...]


def items_of(rows: Sequence[Mapping[str, Any]]) -> tuple[Item, ...]:
    """Return the items of a stage's rows.

    A row with a manipulation is one item; one with ``candidates`` is an item for each of them, and
    one with neither is an article without a manipulation yet.
    """
    found = []
    for row in rows:
        article = str(row.get("article_id") or row.get("id") or "")
        names = [row["manipulation"]] if row.get("manipulation") else row.get("candidates")
        day = day_of(str(row["date"])) if row.get("date") else None
        ticker = str(row["ticker"]) if row.get("ticker") else None
        open_ = "passed" in row and passed_of(row) is None
        found += [Item(article, name, day, ticker, open_) for name in (names or [None])]
    return tuple(found)


def by_gate(gates: Sequence[Gate]) -> "pd.DataFrame":
    """Return items and articles per manipulation after each gate.

    Columns: ``gate``, ``manipulation`` (or "overall"), ``items``, of these ``undecided`` (nobody
    has said what they mean), ``articles``, ``of_first`` and ``of_previous``: the share of the
    first and of the previous gate's items that is left, NaN where those have none. A row for items
    without a manipulation ("none yet") is there where a gate has such.
    """
    import pandas as pd

    table = []
    first: dict[str, int] = {}
    previous: dict[str, int] = {}
    for gate in gates:
        now: dict[str, int] = {}
        bare = any(item.manipulation is None for item in gate.items)
        for name in (*MANIPULATIONS, *(("none yet",) if bare else ()), OVERALL):
            own = [
                item for item in gate.items if name in (OVERALL, item.manipulation or "none yet")
            ]
            now[name] = len(own)
            table.append(
                {
                    "gate": gate.name,
                    "manipulation": name,
                    "items": len(own),
                    "undecided": sum(item.undecided for item in own),
                    "articles": len({item.article for item in own}),
                    "of_first": _share(len(own), first.get(name)),
                    "of_previous": _share(len(own), previous.get(name)),
                }
            )
        first = first or now
        previous = now
    return pd.DataFrame(table)


def over_time(gates: Sequence[Gate]) -> "pd.DataFrame":
    """Return items per month, gate and manipulation: figures 6 and 7.

    Columns: ``gate``, ``manipulation``, ``month`` (YYYY-MM, "unknown" without a date), ``items``
    and ``articles``.
    """
    import pandas as pd

    columns = ["gate", "manipulation", "month", "items", "articles"]
    rows = [
        (gate.name, item.manipulation or "none yet", (item.day or "unknown")[:7], item.article)
        for gate in gates
        for item in gate.items
    ]
    groups = pd.DataFrame(rows, columns=[*columns[:3], "article"])
    groups["gate"] = pd.Categorical(groups["gate"], [gate.name for gate in gates])
    counts = groups.groupby(columns[:3], observed=True)["article"].agg(
        items="size", articles="nunique"
    )
    return counts.reset_index().astype({"gate": str})[columns]


def by_ticker(gate: Gate) -> "pd.DataFrame":
    """Return a gate's items by ticker, the most frequent first.

    Columns: ``ticker`` ("unknown" without one), ``articles``, ``items``, and items per
    manipulation.
    """
    import pandas as pd

    rows = [(item.ticker or "unknown", item.article, item.manipulation) for item in gate.items]
    found = pd.DataFrame(rows, columns=["ticker", "article", "manipulation"]).groupby("ticker")
    table = found["article"].agg(articles="nunique", items="size")
    for name in MANIPULATIONS:
        table[name] = [int((own == name).sum()) for _, own in found["manipulation"]]
    order = ["ticker", "articles", "items", *MANIPULATIONS]
    ranked = table.reset_index().sort_values(["items", "ticker"], ascending=[False, True])
    return ranked.reset_index(drop=True)[order]


def draw_figures(gates: Sequence[Gate], folder: Path, *, tickers: int = 20) -> list[Path]:
    """Write the figures as PNG and SVG, and return them: items by gate (figure 8), over time, by
    ticker.

    Nothing is drawn over time or by ticker where no item has a date or a ticker.
    """
    require("matplotlib", "figures")
    import matplotlib as mpl

    last = gates[-1]
    figures = {"by_gate": _gates_figure(by_gate(gates), gates)}
    if any(item.day for item in last.items):
        found = over_time([last])
        dated = found[found["month"] != "unknown"]
        months = dated.pivot_table("items", "month", "manipulation", "sum", fill_value=0)
        figures["over_time"] = _stacked(months[[*dict.fromkeys(dated["manipulation"])]], 4)
    if any(item.ticker for item in last.items):
        most = by_ticker(last).head(tickers).set_index("ticker")[[*MANIPULATIONS]]
        figures["by_ticker"] = _stacked(most, 0.28 * len(most) + 1, across=True)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in figures.items():
        for suffix in ("png", "svg"):
            path = folder / f"{name}.{suffix}"
            # Without a date and with a fixed salt, the same counts give the same bytes.
            metadata = {"Date": None} if suffix == "svg" else {"Software": None}
            with mpl.rc_context({"svg.hashsalt": "contrafact"}):
                figure.savefig(path, dpi=150, metadata=metadata, bbox_inches="tight")
            written.append(path)
    return written


def _share(part: int, whole: int | None) -> float:
    return part / whole if whole else float("nan")


def _axes(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _gates_figure(counts: "pd.DataFrame", gates: Sequence[Gate]) -> Any:
    figure, axes = _axes(4)
    names = [*MANIPULATIONS, OVERALL]
    width = 0.8 / len(gates)
    for place, gate in enumerate(gates):
        own = counts[counts["gate"] == gate.name].set_index("manipulation")["items"]
        at = [x + (place - (len(gates) - 1) / 2) * width for x in range(len(names))]
        bars = axes.bar(at, [int(own.get(name, 0)) for name in names], width, label=gate.name)
        axes.bar_label(bars, fontsize=7)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("items")
    axes.legend(title="after", frameon=False)
    return figure


def _stacked(table: "pd.DataFrame", height: float, *, across: bool = False) -> Any:
    """Draw a bar for each row, of pieces for each column; ``across`` puts the first on top."""
    figure, axes = _axes(height)
    places, floor = range(len(table)), [0] * len(table)
    for name, sizes in table.items():
        draw, start = (axes.barh, "left") if across else (axes.bar, "bottom")
        draw(places, sizes.tolist(), label=name, **{start: floor})
        floor = [low + more for low, more in zip(floor, sizes, strict=True)]
    if across:
        axes.set_yticks(places, table.index.tolist())
        axes.invert_yaxis()
        axes.set_xlabel("items")
    else:
        step = max(1, len(table) // 12)
        axes.set_xticks(places[::step], table.index[::step].tolist(), rotation=45, ha="right")
        axes.set_ylabel("items")
    axes.legend(frameon=False)
    return figure
