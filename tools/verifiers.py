"""Train the verifiers of a config from end to end, and say which are good enough to ship.

``make verifiers`` runs it (``CONFIG=mine.yaml make verifiers`` for another config than the preset
``tiny``). Everything is kept in ``runs/verifier-NAME``: stages, card, curve, and the verifier where
one is better than the surface of texts. Stopped, it goes on. It copies nothing into the package: a
verifier ships only with an AUROC of 0.85 on unseen graphs and wordings, in at most 12 MB.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.family import learning_specs
from contrafact.training.verifier.config import load_verifier_config
from contrafact.training.verifier.run import train_verifier

__all__ = ["main", "shipping"]

LEAST_AUROC = 0.85
MOST_BYTES = 12_000_000


def shipping(rows: Sequence[Mapping[str, Any]], usable: Sequence[str], size: int) -> list[str]:
    """Return a line for each usable criterion, and one that says what may ship.

    Args:
        rows: The figures of each stage and question, as `train_verifier` gives them.
        usable: The criteria that the verifier may judge.
        size: What its folder takes, in bytes.
    """
    last = max(row["stage"] for row in rows)
    own = {row["criterion"]: row for row in rows if row["stage"] == last}
    lines = [
        f"{name}: AUROC {own[name]['auroc']:.3f}, surface {own[name]['surface']:.3f}"
        for name in usable
    ]
    good = [name for name in usable if own[name]["auroc"] >= LEAST_AUROC]
    if not usable:
        return ["Nothing ships: no criterion is judged better than the surface shows."]
    if not good:
        return [*lines, f"Nothing ships: no criterion has an AUROC of {LEAST_AUROC}."]
    if size > MOST_BYTES:
        return [*lines, f"Nothing ships: {size / 1e6:.1f} MB are over {MOST_BYTES / 1e6:.0f} MB."]
    return [*lines, f"Good enough to ship: {', '.join(good)}, if the wordings were unseen too."]


def main(name: str) -> int:
    """Train one config, and print what became of it."""
    try:
        specs = learning_specs()
        config = load_verifier_config(name, specs)
        folder = Path("runs") / f"verifier-{Path(name).stem}"
        outcome = train_verifier(config, specs, folder, say=print)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    size = 0
    if outcome.verifier is not None:
        size = sum(one.stat().st_size for one in outcome.verifier.rglob("*") if one.is_file())
    for line in shipping(outcome.figures, outcome.usable, size):
        print(line)
    print(f"Kept in {folder}; card.md and curve.png there say what was reached.")
    if outcome.verifier is not None:
        print(f"Use it as --judge verifier/{outcome.verifier}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or ["tiny"]))
