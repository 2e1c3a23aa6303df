"""Draw the curve of `synth.md`: which share of a language model's edits is right, by level.

    python docs/levels_picture.py

It reads `readings/levels.jsonl.gz` and writes `images/levels.png`.
"""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from contrafact.stats.intervals import wilson_bounds

HERE = Path(__file__).parent
NAMES = {
    ("alone", "plain"): ("a context for each edit, plain", "#c2410c", "-"),
    ("alone", "stated:1"): ("a context for each edit, stated:1", "#1d4ed8", "-"),
    ("sitting", "plain"): ("some 40 edits a context, plain", "#fdba74", "--"),
    ("sitting", "stated:1"): ("some 40 edits a context, stated:1", "#93c5fd", "--"),
}


def counts():
    """Return, by context, framing and level, whether each edit is right."""
    found = defaultdict(list)
    with gzip.open(HERE / "readings" / "levels.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            for context in ("alone", "sitting"):
                if context in row:
                    verdicts = row[context]["verdicts"]
                    right = all(passed for name, passed in verdicts.items() if name != "E3")
                    found[context, row["framing"], row["level"]].append(right)
    return found


def main():
    found = counts()
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for shift, (key, (name, colour, style)) in enumerate(NAMES.items()):
        levels = sorted(level for *kind, level in found if tuple(kind) == key)
        cells = [found[(*key, level)] for level in levels]
        shares = [100 * sum(cell) / len(cell) for cell in cells]
        ends = [wilson_bounds(sum(cell) / len(cell), len(cell), 0.95) for cell in cells]
        bars = [
            [max(0, share - 100 * low) for share, (low, _) in zip(shares, ends, strict=True)],
            [max(0, 100 * high - share) for share, (_, high) in zip(shares, ends, strict=True)],
        ]
        places = [level + (shift - 1.5) * 0.07 for level in levels]
        axes.errorbar(places, shares, bars, color=colour, ls=style, marker="o", ms=4, label=name)
    axes.axhline(60, color="#999999", lw=1)
    axes.set(xlabel="level", ylabel="right by E1, E2, E4, E5 (%)", ylim=(0, 104))
    axes.legend(loc="lower left", fontsize=8)
    figure.savefig(HERE / "images" / "levels.png", dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
