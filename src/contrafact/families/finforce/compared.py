"""The texts that the demo shows for comparison: references, and controls that must not pass.

We wrote the references ourselves (``samples/references.jsonl``). The control is the headline said
again.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contrafact.families.finforce.records import SIDES


def compared_texts(count: int) -> Sequence[Mapping[str, Any]]:
    """Return outputs for at most ``count`` bundled headlines that have references.

    They are rows as ``contrafact score finforce`` reads them, from two systems per headline.
    """
    samples = Path(__file__).with_name("samples")
    headlines = {row["headline"]: row for row in _rows(samples / "headlines.jsonl")}
    rows = [row for row in _rows(samples / "references.jsonl") if row["headline"] in headlines]
    rows = rows[:count]
    outputs: list[Mapping[str, Any]] = []
    for row in rows:
        risk, opportunity = (row[side] for side in SIDES)
        texts = {
            "reference (ours)": (risk, opportunity),
            "control: headline said again": (row["headline"], row["headline"]),
        }
        for system, both in texts.items():
            pair = {f"{side}_counterfactual": text for side, text in zip(SIDES, both, strict=True)}
            outputs.append({**headlines[row["headline"]], "system": system, **pair})
    return outputs


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
