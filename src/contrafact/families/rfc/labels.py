"""The label spaces of the two tasks, and the names and length bands of the manipulations.

RFC-BENCH, sections 2.1, 2.2.2 and 2.3. `contrafact.judges.replies.read_label` reads a label.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from contrafact.errors import InputError
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.files.atomic import os_problem

TaskName = Literal["rfc-detect", "rfc-diagnose"]

TRUE = "true"
"""An unmanipulated paragraph, in every prompt and file."""
FALSE = "false"
"""A manipulated paragraph, in every prompt and file."""

MANIPULATION_SPELLINGS: dict[str, Manipulation] = {
    "numerical perturbation": "numerical",
    "numeric": "numerical",
    "directional flipping": "flipping",
    "directional": "flipping",
    "flip": "flipping",
    "sentiment amplification": "sentiment",
    "causal distortion": "causal",
    "false attribution": "causal",
}
"""The names of the four manipulations in published files."""


def labels_of(task: TaskName) -> tuple[str, ...]:
    """Return the label space of a task, in the order of its confusion matrix."""
    return (TRUE, FALSE) if task == "rfc-detect" else MANIPULATIONS


def manipulation_named(name: object) -> Manipulation | None:
    """Return the manipulation that a file's field names, or None if it names none."""
    plain = " ".join(str(name).replace("_", " ").replace("-", " ").split()).casefold()
    for manipulation in MANIPULATIONS:
        if plain == manipulation:
            return manipulation
    return MANIPULATION_SPELLINGS.get(plain)


Bands = Mapping[Manipulation, tuple[float, float]]
"""The lowest and highest allowed ratio of tokens, rewrite to original, of each manipulation."""

LENGTH_BANDS: Bands = MappingProxyType(
    {
        "flipping": (0.90, 1.15),
        "numerical": (0.85, 1.25),
        "sentiment": (0.90, 1.30),
        "causal": (0.90, 1.30),
    }
)
"""The paper's length bands (section 2.2.2)."""


def load_bands(path: str | Path) -> dict[Manipulation, tuple[float, float]]:
    """Return the bands that ``rfc calibrate --out`` wrote, or the paper's if it found none."""
    hint = "give the file that `contrafact rfc calibrate --out` wrote"
    try:
        calibrated = json.loads(Path(path).read_text(encoding="utf-8"))["manipulations"]
        bands = {row["manipulation"]: row["band"] for row in calibrated if row["band"] is not None}
        read = {name: (float(low), float(high)) for name, (low, high) in bands.items()}
    except OSError as error:
        raise os_problem(error, str(path), doing="cannot be read") from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError("is not a calibration", file=path, hint=hint) from error
    for name, (low, high) in read.items():
        if name not in MANIPULATIONS or not 0.0 <= low <= high:
            raise InputError(f"has no band for '{name}': {low} to {high}", file=path, hint=hint)
    return {**LENGTH_BANDS, **read}
