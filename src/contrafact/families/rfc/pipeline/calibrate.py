"""Calibration: the band of lengths that valid example rewrites have (RFC-BENCH, 2.2.2)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contrafact.errors import InputError
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.stages.stage import InputRow
from contrafact.text.diff import token_ratio

MIN_EXAMPLES = 20
"""With fewer valid examples than this, a band is marked as unsure; the paper had 50."""

_QUANTILES = {"min": 0.0, "q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75}
_QUANTILES |= {"q95": 0.95, "max": 1.0}
_YES = frozenset(("true", "valid", "pass", "yes", "1"))
_NO = frozenset(("false", "invalid", "fail", "no", "0"))


@dataclass(frozen=True)
class Calibration:
    """The length ratios of a manipulation's valid examples; ``band`` holds their middle share."""

    manipulation: Manipulation
    valid: int
    quantiles: dict[str, float]
    band: tuple[float, float] | None
    unsure: bool


def valid_ratios(rows: Sequence[InputRow], *, file: str) -> dict[Manipulation, list[float]]:
    """Return the token-length ratios of valid examples, by manipulation."""
    ratios: dict[Manipulation, list[float]] = {}
    for row in rows:
        fields = row.fields
        answer = str(fields.get("valid", "")).strip().casefold()
        if answer not in _YES | _NO:
            raise InputError(
                f"'valid' is {fields.get('valid')!r}, neither true nor false"
                if "valid" in fields
                else "no field 'valid'",
                file=file,
                line=row.line,
                hint="write true or false",
            )
        values = ratios.setdefault(fields["manipulation"], [])
        if answer in _YES:
            values.append(token_ratio(fields["original"], fields["rewritten"]))
    return ratios


def calibrate(
    ratios: dict[Manipulation, list[float]], *, coverage: float = 0.95
) -> list[Calibration]:
    """Return the quantiles and the band of the ratios, for each manipulation that has examples."""
    import numpy as np

    tail, found = (1.0 - coverage) / 2.0, []
    for name in (name for name in MANIPULATIONS if name in ratios):
        values, quantiles, band = ratios[name], dict[str, float](), None
        if values:
            at = np.quantile(values, [*_QUANTILES.values(), tail, 1.0 - tail]).tolist()
            quantiles = {q: round(value, 4) for q, value in zip(_QUANTILES, at, strict=False)}
            band = (_twentieth(at[-2], math.floor), _twentieth(at[-1], math.ceil))
        unsure = len(values) < MIN_EXAMPLES
        found.append(Calibration(name, len(values), quantiles, band, unsure))
    return found


def _twentieth(value: float, widened: Callable[[float], int]) -> float:
    """Return the value widened to the next twentieth, as the paper's bands are given."""
    return round(widened(round(value * 20, 9)) / 20, 2)
