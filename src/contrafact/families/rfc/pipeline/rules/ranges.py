"""Which other values a quantity may take (RFC-BENCH, appendix S.2, points 4, 6 and 7).

The rules choose inside the published ranges: an increase becomes 1.5 to 2 times as large, or less
than half as large. What stands for "about" there is not used up to the last decimal.
"""

from typing import Literal

from contrafact.text.quantities import Quantity

__all__ = ["Strength", "candidates", "changeable", "fits"]

Strength = Literal["stronger", "weaker"]

# Published upper bounds of declines: under 40% to 60%, under 60% to 90%, else to 100%.
_DECLINE_TOPS = ((40.0, 60.0), (60.0, 90.0))
_BOUNDED = frozenset({"share", "utilisation", "engagement"})
# Macro-economic figures move in narrow bands (S.2, point 7).
_MACRO_TOP = {"inflation": 30.0, "unemployment": 25.0, "gdp": 20.0}
_MACRO_TOP_MONTH = {"inflation": 3.0, "gdp": 10.0}
_POLICY_MOVE = 1.0  # percentage points
_POLICY_STEPS = (0.1, 0.25, 0.5, 0.75, 1.0)


def changeable(quantity: Quantity) -> bool:
    """Return whether the rules change a quantity: not durations, which are references to time,
    and not vague words, which state no value.
    """
    return quantity.kind != "duration" and bool(quantity.value)


def fits(quantity: Quantity, new: float, *, monthly: bool = False) -> bool:
    """Return whether a quantity may become ``new`` (both in the measure of its value).

    Args:
        quantity: The quantity.
        new: Its new value, signed as the old one.
        monthly: Whether the sentence speaks of a month or a quarter, for macro-economic figures.
    """
    old = quantity.value
    if not old or not new or (old < 0) != (new < 0) or abs(new - old) <= 1e-9 * abs(old):
        return False
    size, was = abs(new), abs(old)
    if quantity.role == "policy rate":
        return _policy_fits(quantity, size, was)
    if quantity.kind == "percent":
        if quantity.role in _BOUNDED and quantity.is_level:
            return size < 100 and (size >= 1.1 * was or size <= was / 1.1)
        top = _MACRO_TOP.get(quantity.role)
        if top is not None:
            if monthly and was <= (month_top := _MACRO_TOP_MONTH.get(quantity.role, top)):
                top = month_top
            if size > max(top, was):
                return False
        elif quantity.direction == "down" and not quantity.is_level:
            if size >= 100:
                return False
            return size < 0.5 * was or _decline_low(was) <= size <= _decline_top(was)
        elif quantity.is_level and was <= 100 and size >= 100:
            return False
    if quantity.kind == "ratio" and was < 1 and size >= 1:  # a part of a whole stays one
        return False
    if quantity.form.style in ("fraction", "part"):  # words say few values
        return True
    return size < 0.5 * was or 1.5 * was - 1e-9 <= size <= 2 * was + 1e-9


def _policy_fits(quantity: Quantity, size: float, was: float) -> bool:
    """Return whether a central bank's rate, or its move, may have this size."""
    point = 1.0 if quantity.kind == "percent" else 100.0
    if quantity.is_level and quantity.kind == "percent":
        return abs(size - was) <= _POLICY_MOVE * point + 1e-9
    return size <= max(_POLICY_MOVE * point, 0.0) + 1e-9 and size != was


def _decline_low(was: float) -> float:
    return (1.5 if was < 60 else 1.3) * was


def _decline_top(was: float) -> float:
    return next((top for bound, top in _DECLINE_TOPS if was < bound), 99.0)


def candidates(quantity: Quantity, strength: Strength, factor: float) -> float:
    """Return the value that a quantity would take under a common factor.

    Where a factor makes no sense (a policy rate, a share near the whole), the nearest value that
    does is returned; `fits` has the last word.

    Args:
        quantity: The quantity.
        strength: Whether the rewrite tells the news stronger or weaker.
        factor: The factor of its kind: 1.5 to 2 if stronger, under a half if weaker.
    """
    old = quantity.value or 0.0
    sign, was = (-1.0 if old < 0 else 1.0), abs(old)
    if quantity.role == "policy rate":
        point = 1.0 if quantity.kind == "percent" else 100.0
        # The factor, spread over the steps in which central banks move.
        place = factor - 1.5 if strength == "stronger" else 0.5 - factor
        # Rates near zero stay near zero.
        most = 3 if was >= 0.5 * point else 0
        step = _POLICY_STEPS[1 + min(most, int(abs(place) * 8))] * point
        if quantity.is_level and quantity.kind == "percent":
            up = strength == "stronger" or was <= step
            return sign * (was + step if up else was - step)
        larger = [s * point for s in _POLICY_STEPS if s * point > was + 1e-9]
        smaller = [s * point for s in _POLICY_STEPS if s * point < was - 1e-9]
        pool = (larger or smaller) if strength == "stronger" else (smaller or larger)
        return sign * (pool[min(len(pool) - 1, int(abs(place) * 2 * len(pool)))] if pool else was)
    new = was * factor
    bounded = quantity.kind == "percent" and quantity.is_level and was <= 100
    if bounded and new >= 100:
        # Part of the way to the whole, the farther the larger the factor.
        new = was + (100 - was) * min(0.9, 0.4 + (factor - 1.5))
    if quantity.kind == "percent" and quantity.direction == "down" and not quantity.is_level:
        new = min(new, _decline_top(was))
    return sign * new
