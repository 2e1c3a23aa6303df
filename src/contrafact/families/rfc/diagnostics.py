"""The five surface diagnostics of pairs, by manipulation (RFC-BENCH, appendix L, figures 14 to 18).

They say how far rewrites depart from their originals on the surface. Whether that departure gives a
label away is another question: see `contrafact.families.rfc.leakage`.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contrafact.files.atomic import write_bytes
from contrafact.records import MANIPULATIONS, Rewrite
from contrafact.text.diff import surface

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DIAGNOSTICS", "diagnostics", "draw_diagnostics", "summary"]

DIAGNOSTICS: Mapping[str, str] = {
    "length_ratio": "length of the rewritten text over the original's (characters)",
    "jaccard": "words in common over all words (Jaccard)",
    "edit_distance": "character edits over the longer length",
    "punctuation_difference": "punctuation marks, rewritten less original",
    "numeric_difference": "numbers, rewritten less original",
}
"""What is measured of every pair, and in which unit."""

_QUANTILES = {"p5": 0.05, "median": 0.5, "p95": 0.95}


def diagnostics(pairs: Sequence[Rewrite]) -> "pd.DataFrame":
    """Return one row per pair that has its original: its id, manipulation and five measures."""
    import pandas as pd

    rows = []
    for pair in pairs:
        if not pair.original:
            continue
        measured = surface(pair.original, pair.rewritten)
        row: dict[str, object] = {"id": pair.id, "manipulation": pair.manipulation}
        rows.append(row | {name: float(getattr(measured, name)) for name in DIAGNOSTICS})
    return pd.DataFrame(rows, columns=["id", "manipulation", *DIAGNOSTICS])


def summary(measured: "pd.DataFrame") -> "pd.DataFrame":
    """Return the measures' distribution by manipulation, in the table's long form.

    Returns:
        Columns ``diagnostic``, ``manipulation`` ("all" besides the four), ``pairs``, ``mean``,
        ``sd`` (NaN for one pair), ``p5``, ``median``, ``p95``.
    """
    import pandas as pd

    rows = []
    for name in DIAGNOSTICS:
        for scope in ("all", *MANIPULATIONS):
            chosen = measured if scope == "all" else measured[measured["manipulation"] == scope]
            if chosen.empty:
                continue
            values = chosen[name]
            row = {"diagnostic": name, "manipulation": scope, "pairs": len(values)}
            row |= {"mean": float(values.mean()), "sd": float(values.std())}
            row |= {key: float(values.quantile(q)) for key, q in _QUANTILES.items()}
            rows.append(row)
    columns = ["diagnostic", "manipulation", "pairs", "mean", "sd", *_QUANTILES]
    return pd.DataFrame(rows, columns=columns)


def draw_diagnostics(measured: "pd.DataFrame", folder: Path) -> list[Path]:
    """Draw each diagnostic as boxes by manipulation, as PNG and SVG, and return the files.

    Boxes reach from the first to the third quartile, whiskers from 5% to 95%; the dashed line is
    where a rewrite like its original would lie.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    neutral = {"length_ratio": 1.0, "jaccard": 1.0}
    present = [name for name in MANIPULATIONS if (measured["manipulation"] == name).any()]
    written = []
    for name, meaning in DIAGNOSTICS.items():
        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        axes = figure.add_subplot()
        values = [measured.loc[measured["manipulation"] == kind, name] for kind in present]
        axes.axhline(neutral.get(name, 0.0), color="#8a929c", linewidth=1.0, linestyle="--")
        axes.boxplot(values, tick_labels=present, whis=(5, 95), widths=0.5, showfliers=False)
        axes.set_ylabel(meaning, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        for kind in ("png", "svg"):
            sink = io.BytesIO()
            # Without a date and with a fixed salt, the same data draw the same bytes.
            with mpl.rc_context({"svg.hashsalt": "contrafact"}):
                metadata = {"Date": None} if kind == "svg" else {"Software": None}
                figure.savefig(sink, format=kind, dpi=150, metadata=metadata)
            path = folder / f"{name}.{kind}"
            write_bytes(path, sink.getvalue())
            written.append(path)
    return written
