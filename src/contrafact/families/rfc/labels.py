"""The label spaces of the two tasks, what is known of each manipulation, and reading a label.

RFC-BENCH, sections 2.1, 2.2.2 and 2.3.

Claims that people have labelled are true, false or, in some data, neither: `NEI`.

Labels are read strictly. A reply is valid if exactly one label of the space stands in it, as
a word of its own, in any case, once or repeated, and not denied ("not true"). With none or several
it is invalid, with the reason; nothing is guessed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem
from contrafact.records import MANIPULATIONS, Manipulation

__all__ = [
    "FALSE",
    "LENGTH_BANDS",
    "MANIPULATION_SPELLINGS",
    "NEI",
    "TRUE",
    "Bands",
    "Reading",
    "TaskName",
    "labels_of",
    "load_bands",
    "manipulation_named",
    "read_label",
    "strip_reasoning",
]

TaskName = Literal["rfc-detect", "rfc-diagnose"]

TRUE = "true"
"""An unmanipulated paragraph, in every prompt and file."""
FALSE = "false"
"""A manipulated one."""
NEI = "not enough information"
"""A claim that what is known does not settle."""

_TAG = r"(?:think|thinking|thought|reasoning|reflection|scratchpad)"
_REASONED = re.compile(rf"<({_TAG})\b[^>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_REASONING_ENDS = re.compile(rf"</{_TAG}\s*>", re.IGNORECASE)
_REASONING_STARTS = re.compile(rf"<{_TAG}\b[^>]*>", re.IGNORECASE)
_DENIAL = re.compile(
    r"(?:\b(?:not|never|neither|nor|hardly)|n['’]t|\bcannot)(?:\s+(?:be|a|an|the|entirely|"
    r"necessarily|really|completely))*\s*[\"'“‘*`]*$",
    re.IGNORECASE,
)
_NEI = re.compile(r"\b(?:NEI|not enough (?:info|evidence))\b", re.IGNORECASE)
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
"""What published files call the four manipulations."""


@dataclass(frozen=True)
class Reading:
    """A reply read as one label, or why it is none; and what came before it, if reasons did."""

    label: str | None
    invalid: str | None = None
    rationale: str | None = None


def labels_of(task: TaskName) -> tuple[str, ...]:
    """Return the label space of a task, in the order of its confusion matrix."""
    return (TRUE, FALSE) if task == "rfc-detect" else MANIPULATIONS


def read_label(reply: str, labels: Sequence[str], *, reasons: bool = False) -> Reading:
    """Return the label that a reply gives.

    Args:
        reasons: Whether reasons were asked for, with the label on the last line: then only that
            line is read, and what stands before it is the rationale.
    """
    text, problem = strip_reasoning(reply)
    if problem:
        return Reading(None, problem)
    if NEI in labels:
        text = _NEI.sub(NEI, text)
    rationale = None
    if reasons:
        lines = [line for line in text.splitlines() if line.strip()]
        # A fence or a rule below the label is no answer.
        while lines and not re.search(r"\w", lines[-1]):
            lines.pop()
        rationale = "\n".join(lines[:-1]).strip() or None
        text = lines[-1] if lines else ""
    if not text.strip():
        return Reading(None, "empty reply", rationale)
    words = "|".join(re.escape(label) for label in labels)
    pattern = re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])", re.IGNORECASE)
    found = list(pattern.finditer(text))
    named = list(dict.fromkeys(match.group().casefold() for match in found))
    where = " on the last line" if reasons else ""
    if not named:
        return Reading(None, f"no label{where}", rationale)
    if len(named) > 1:
        return Reading(None, f"several labels{where}: {', '.join(named)}", rationale)
    if any(_DENIAL.search(text[: match.start()]) for match in found):
        return Reading(None, f"a denied label{where}: not {named[0]}", rationale)
    return Reading(named[0], None, rationale)


def strip_reasoning(reply: str) -> tuple[str, str | None]:
    """Return a reply without its marked reasoning, and what is wrong with that, if anything.

    Reasoning stands between ``<think>`` and ``</think>`` (or a tag of that kind), or before a lone
    ``</think>``, since chat templates may open it. One that never ends leaves no answer.
    """
    text = _REASONED.sub(" ", reply)
    ends = list(_REASONING_ENDS.finditer(text))
    if ends:
        text = text[ends[-1].end() :]
    if _REASONING_STARTS.search(text):
        return "", "the reasoning never ended"
    return text.strip(), None


def manipulation_named(name: object) -> Manipulation | None:
    """Return the manipulation that a file's field names, or None if it names none."""
    plain = " ".join(str(name).replace("_", " ").replace("-", " ").split()).casefold()
    for manipulation in MANIPULATIONS:
        if plain == manipulation:
            return manipulation
    return MANIPULATION_SPELLINGS.get(plain)


Bands = Mapping[Manipulation, tuple[float, float]]
"""The lowest and the highest ratio of tokens, rewrite to original, of each kind; both allowed."""

LENGTH_BANDS: Bands = MappingProxyType(
    {
        "flipping": (0.90, 1.15),
        "numerical": (0.85, 1.25),
        "sentiment": (0.90, 1.30),
        "causal": (0.90, 1.30),
    }
)
"""The paper's (section 2.2.2)."""


def load_bands(path: str | Path) -> dict[Manipulation, tuple[float, float]]:
    """Return the bands that ``rfc calibrate --out`` found, and the paper's where it found none."""
    hint = "give what `contrafact rfc calibrate --out` wrote"
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))["manipulations"]
        bands = {one["manipulation"]: one["band"] for one in found if one["band"] is not None}
        read = {name: (float(low), float(high)) for name, (low, high) in bands.items()}
    except OSError as error:
        raise os_problem(error, str(path), doing="cannot be read") from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError("is no calibration", file=path, hint=hint) from error
    for name, (low, high) in read.items():
        if name not in MANIPULATIONS or not 0.0 <= low <= high:
            raise InputError(f"has no band for '{name}': {low} to {high}", file=path, hint=hint)
    return {**LENGTH_BANDS, **read}
