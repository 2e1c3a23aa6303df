"""The statistics of a build, as the paper gives them (RFC-BENCH, appendix E, table 4, figures 6-8).

Items per manipulation before and after each gate, over time, and by ticker. Items are not
articles: one article may be a candidate for several manipulations.
"""

from collections import Counter
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

    table = []
    for gate in gates:
        groups: dict[tuple[str, str], list[str]] = {}
        for item in gate.items:
            key = (item.manipulation or "none yet", (item.day or "unknown")[:7])
            groups.setdefault(key, []).append(item.article)
        table += [
            {
                "gate": gate.name,
                "manipulation": name,
                "month": month,
                "items": len(articles),
                "articles": len(set(articles)),
            }
            for (name, month), articles in sorted(groups.items())
        ]
    columns = ["gate", "manipulation", "month", "items", "articles"]
    return pd.DataFrame(table, columns=columns)


def by_ticker(gate: Gate) -> "pd.DataFrame":
    """Return a gate's items by ticker, the most frequent first.

    Columns: ``ticker`` ("unknown" without one), ``articles``, ``items``, and items per
    manipulation.
    """
    import pandas as pd

    articles: dict[str, set[str]] = {}
    items: dict[str, Counter[str | None]] = {}
    for item in gate.items:
        ticker = item.ticker or "unknown"
        articles.setdefault(ticker, set()).add(item.article)
        items.setdefault(ticker, Counter())[item.manipulation] += 1
    ranked = sorted(items, key=lambda name: (-items[name].total(), name))
    return pd.DataFrame(
        [
            {
                "ticker": name,
                "articles": len(articles[name]),
                "items": items[name].total(),
                **{manipulation: items[name][manipulation] for manipulation in MANIPULATIONS},
            }
            for name in ranked
        ],
        columns=["ticker", "articles", "items", *MANIPULATIONS],
    )


def draw_figures(gates: Sequence[Gate], folder: Path, *, tickers: int = 20) -> list[Path]:
    """Write the figures as PNG and SVG: items by gate (figure 8), over time, by ticker.

    Nothing is drawn over time or by ticker where no item has a date or a ticker.

    Returns:
        The paths of the files.
    """
    require("matplotlib", "figures")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    counts = by_gate(gates)
    figures: dict[str, Figure] = {"by_gate": _gates_figure(counts, gates)}
    last = gates[-1]
    if any(item.day for item in last.items):
        figures["over_time"] = _time_figure(over_time([last]))
    if any(item.ticker for item in last.items):
        figures["by_ticker"] = _ticker_figure(by_ticker(last).head(tickers))
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


def _axes(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _gates_figure(counts: "pd.DataFrame", gates: Sequence[Gate]) -> Any:
    figure, axes = _axes(8, 4)
    names = [*MANIPULATIONS, OVERALL]
    width = 0.8 / len(gates)
    for place, gate in enumerate(gates):
        own = counts[counts["gate"] == gate.name].set_index("manipulation")["items"]
        heights = [int(own.get(name, 0)) for name in names]
        at = [x + (place - (len(gates) - 1) / 2) * width for x in range(len(names))]
        bars = axes.bar(at, heights, width, label=gate.name)
        axes.bar_label(bars, fontsize=7)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("items")
    axes.legend(title="after", frameon=False)
    return figure


def _time_figure(table: "pd.DataFrame") -> Any:
    figure, axes = _axes(8, 4)
    dated = table[table["month"] != "unknown"]
    months = sorted(dated["month"].unique())
    floor = [0] * len(months)
    for name in dict.fromkeys(dated["manipulation"]):
        own = dated[dated["manipulation"] == name].set_index("month")["items"]
        heights = [int(own.get(month, 0)) for month in months]
        axes.bar(range(len(months)), heights, bottom=floor, label=name)
        floor = [low + more for low, more in zip(floor, heights, strict=True)]
    step = max(1, len(months) // 12)
    axes.set_xticks(range(0, len(months), step), months[::step], rotation=45, ha="right")
    axes.set_ylabel("items")
    axes.legend(frameon=False)
    return figure


def _ticker_figure(table: "pd.DataFrame") -> Any:
    figure, axes = _axes(8, 0.28 * len(table) + 1)
    floor = [0] * len(table)
    for name in MANIPULATIONS:
        widths = table[name].tolist()
        axes.barh(range(len(table)), widths, left=floor, label=name)
        floor = [low + more for low, more in zip(floor, widths, strict=True)]
    axes.set_yticks(range(len(table)), table["ticker"].tolist())
    axes.invert_yaxis()
    axes.set_xlabel("items")
    axes.legend(frameon=False)
    return figure
