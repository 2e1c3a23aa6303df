"""Calibration: what valid and invalid example rewrites say of the contract (RFC-BENCH, 2.2.2).

From the valid examples comes the band of token-length ratios that rewrites are held to; from the
invalid ones, which rules of the contract catch them, and which of them nothing catches.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.stages import StageRow
from contrafact.records import MANIPULATIONS, Manipulation
from contrafact.text.diff import token_ratio

__all__ = ["MIN_EXAMPLES", "Calibration", "Example", "calibrate", "examples"]

MIN_EXAMPLES = 20
"""Fewer valid examples than this, and a band is said to be unsure; the paper had 50."""

_QUANTILES = {
    "min": 0.0,
    "q05": 0.05,
    "q25": 0.25,
    "median": 0.5,
    "q75": 0.75,
    "q95": 0.95,
    "max": 1.0,
}
_YES = frozenset(("true", "valid", "pass", "yes", "1"))
_NO = frozenset(("false", "invalid", "fail", "no", "0"))


@dataclass(frozen=True)
class Example:
    """An example rewrite that an expert called valid or invalid."""

    id: str
    manipulation: Manipulation
    original: str
    rewritten: str
    valid: bool


@dataclass(frozen=True)
class Calibration:
    """What the examples of one manipulation say.

    Attributes:
        manipulation: The manipulation.
        valid: How many valid examples there are.
        invalid: How many invalid ones.
        quantiles: Of the token-length ratio, rewrite over original, of the valid examples.
        band: The ratios that a rewrite may have: the middle share of the valid examples, widened
            to the next twentieth; none without a valid example.
        unsure: Whether the band rests on too few examples.
        outside: The valid examples outside the band, by id.
        band_rejects: The invalid examples that the band alone would reject, by id.
        broken: For each invalid example, by id, the rules of the contract that it breaks.
        rules: How many invalid examples break each rule.
        missed: The invalid examples that break no rule: the contract does not see their fault.
        false_alarms: The valid examples that break a rule, by id, with the rules.
    """

    manipulation: Manipulation
    valid: int
    invalid: int
    quantiles: dict[str, float]
    band: tuple[float, float] | None
    unsure: bool
    outside: list[str]
    band_rejects: list[str]
    broken: dict[str, list[str]]
    rules: dict[str, int]
    missed: list[str]
    false_alarms: dict[str, list[str]]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return asdict(self)


def examples(rows: Sequence[StageRow], *, file: str) -> list[Example]:
    """Return examples from rows with ``manipulation``, ``original``, ``rewritten``, ``valid``.

    Raises:
        InputError: ``valid`` is missing, or neither true nor false; the line is named.
    """
    found = []
    for row in rows:
        given = row.fields
        answer = str(given.get("valid", "")).strip().casefold()
        if answer not in _YES | _NO:
            raise InputError(
                f"'valid' is {given.get('valid')!r}, neither true nor false"
                if "valid" in given
                else "no field 'valid'",
                file=file,
                line=row.line,
                hint="say true or false",
            )
        found.append(
            Example(
                id=str(given["id"]),
                manipulation=given["manipulation"],
                original=given["original"],
                rewritten=given["rewritten"],
                valid=answer in _YES,
            )
        )
    return found


def calibrate(
    given: Sequence[Example],
    *,
    check: Callable[[Manipulation, str, str], Sequence[str]],
    ratio: Callable[[str, str], float] = token_ratio,
    coverage: float = 0.95,
) -> list[Calibration]:
    """Return what the examples say, for each manipulation that has any.

    Args:
        given: The examples.
        check: Returns the rules of its contract that a pair (manipulation, original, rewritten)
            breaks.
        ratio: Returns how much longer a rewrite is than its original.
        coverage: The middle share of the valid examples that the band is to hold, above 0.
    """
    found = []
    for name in MANIPULATIONS:
        if own := [example for example in given if example.manipulation == name]:
            rules = {
                one.id: list(dict.fromkeys(check(name, one.original, one.rewritten))) for one in own
            }
            ratios = {one.id: ratio(one.original, one.rewritten) for one in own}
            found.append(_one(name, own, rules, ratios, coverage))
    return found


def _one(
    name: Manipulation,
    own: Sequence[Example],
    rules_of: dict[str, list[str]],
    ratios: dict[str, float],
    coverage: float,
) -> Calibration:
    import numpy as np

    valid = [one.id for one in own if one.valid]
    invalid = [one.id for one in own if not one.valid]
    quantiles: dict[str, float] = {}
    band: tuple[float, float] | None = None
    outside: set[str] = set()
    if values := [ratios[id_] for id_ in valid]:
        quantiles = {q: round(float(np.quantile(values, at)), 4) for q, at in _QUANTILES.items()}
        tail = (1.0 - coverage) / 2.0
        low, high = (float(q) for q in np.quantile(values, [tail, 1.0 - tail]))
        band = (_twentieth(low, down=True), _twentieth(high, down=False))
        outside = {id_ for id_, ratio in ratios.items() if not band[0] <= ratio <= band[1]}
    broken = {id_: rules_of[id_] for id_ in invalid}
    counted = Counter(rule for rules in broken.values() for rule in rules)
    return Calibration(
        manipulation=name,
        valid=len(valid),
        invalid=len(invalid),
        quantiles=quantiles,
        band=band,
        unsure=len(valid) < MIN_EXAMPLES,
        outside=[id_ for id_ in valid if id_ in outside],
        band_rejects=[id_ for id_ in invalid if id_ in outside],
        broken=broken,
        rules=dict(sorted(counted.items(), key=lambda item: (-item[1], item[0]))),
        missed=[id_ for id_, rules in broken.items() if not rules],
        false_alarms={id_: rules_of[id_] for id_ in valid if rules_of[id_]},
    )


def _twentieth(value: float, *, down: bool) -> float:
    """Return the value widened to the next twentieth, as the paper's bands are given."""
    steps = round(value * 20, 9)
    return round((math.floor(steps) if down else math.ceil(steps)) / 20, 2)
