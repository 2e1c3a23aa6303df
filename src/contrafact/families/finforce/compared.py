"""What the demo's counterfactuals are compared with: references, and texts that must not pass.

The references are of our own writing (``samples/references.jsonl``). The controls are made of them:
each one under another headline, and the headline said again.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contrafact.families.finforce.records import SIDES


def compared_texts(count: int) -> Sequence[Mapping[str, Any]]:
    """Return rows of outputs for the first bundled headlines that have references.

    They are as ``contrafact score finforce`` reads them, three systems a headline; fewer headlines
    than asked for where fewer have references.
    """
    samples = Path(__file__).with_name("samples")
    headlines = {row["headline"]: row for row in _rows(samples / "headlines.jsonl")}
    own = [row for row in _rows(samples / "references.jsonl") if row["headline"] in headlines]
    own = own[:count]
    found: list[Mapping[str, Any]] = []
    for place, row in enumerate(own):
        other = own[(place + 1) % len(own)]
        risk, opportunity = (row[side] for side in SIDES)
        texts = {
            "reference (ours)": (risk, opportunity),
            "control: headline said again": (row["headline"], row["headline"]),
        }
        if len(own) > 1:
            texts["control: another headline's"] = (other["risk"], other["opportunity"])
        for system, both in texts.items():
            pair = {f"{side}_counterfactual": text for side, text in zip(SIDES, both, strict=True)}
            found.append({**headlines[row["headline"]], "system": system, **pair})
    return found


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
