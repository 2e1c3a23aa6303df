"""Whether a run got worse by a measure, for a command that is to fail if it did."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from contrafact.errors import InputError
from contrafact.family.display import format_number
from contrafact.family.report import Form, Measure

__all__ = ["Check", "Finding", "Rule", "find_regressions", "parse_check"]

Rule = Literal["difference", "interval", "non-inferiority"]
"""When a run counts as worse: ``difference`` where the difference itself goes beyond the margin;
``interval`` where its whole interval does, so that chance alone seldom fails a run;
``non-inferiority`` where its interval reaches beyond it, so that only what is shown to be as good
passes."""

_SHARES = ("share", "coefficient", "points")


@dataclass(frozen=True)
class Check:
    """A measure that must not get worse by more than a margin: a fraction of 1 for shares and
    coefficients, otherwise in the measure's own unit.
    """

    measure: Measure
    form: Form
    margin: float

    @property
    def name(self) -> str:
        """The measure and its form, as they are named on the command line."""
        return self.measure.name if self.form == "all" else f"{self.measure.name}.{self.form}"


@dataclass(frozen=True)
class Finding:
    """What a check found of two systems, ``first`` of the second run; ``text`` is one line."""

    check: Check
    first: str
    second: str
    difference: float
    low: float
    high: float
    n: int
    regressed: bool
    text: str


def parse_check(text: str, measures: Sequence[Measure]) -> Check:
    """Return the check that ``MEASURE[.FORM][:MARGIN]`` means.

    The form is ``strict`` where the measure has it, so that what can no longer be read counts. A
    margin of a share is a fraction (``0.02``) or a percentage (``2%``).
    """
    named, colon, given = text.partition(":")
    name, dot, form = named.partition(".")
    option = f"--fail-on-regression {text}"
    found = {measure.name: measure for measure in measures}.get(name)
    if found is None or found.better is None:
        known = ", ".join(measure.name for measure in measures if measure.better is not None)
        problem = f"there is no measure '{name}'"
        if found is not None:
            problem = f"of '{name}' neither more nor less is better"
        raise InputError(f"{option}: {problem}", hint=f"use one of {known}")
    if dot and form not in found.forms:
        hint = f"it has {' and '.join(found.forms)}"
        raise InputError(f"{option}: '{name}' has no form '{form}'", hint=hint)
    chosen: Form = "strict" if "strict" in found.forms else found.forms[0]
    if dot:
        chosen = next(one for one in found.forms if one == form)
    share = found.kind in _SHARES
    usage = "write a fraction, 0.02, or a percentage, 2%" if share else "write a number, 0.5"
    percentage = given.endswith("%") and share
    try:
        margin = float(given.removesuffix("%") if percentage else given) if colon else 0.0
    except ValueError:
        margin = math.nan
    margin = margin / 100 if percentage else margin
    if not margin >= 0 or math.isinf(margin):
        raise InputError(f"{option}: '{given}' is no margin", hint=usage)
    if share and margin >= 1:
        raise InputError(f"{option}: a margin of {given} is the whole scale", hint=usage)
    return Check(found, chosen, margin)


def find_regressions(
    checks: Sequence[Check],
    differences: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    *,
    rule: Rule = "difference",
) -> list[Finding]:
    """Return what each check finds of each pair of systems: of the second run, of the first.

    ``differences`` are those of `contrafact.report.diff.RunDiff`. Where no interval can be given,
    the difference decides, whatever the rule.
    """
    found: list[Finding] = []
    for check in checks:
        for first, second in pairs:
            rows = differences
            if len(rows):
                chosen = rows["first"].eq(first) & rows["second"].eq(second)
                chosen &= rows["measure"].eq(check.measure.name) & rows["form"].eq(check.form)
                rows = rows[chosen]
            if rows.empty:
                raise InputError(
                    f"--fail-on-regression {check.name}: {check.measure.name} cannot be compared "
                    f"between {second} and {first}",
                    hint="name a measure that is a mean over outputs, judge both runs with one "
                    "judge, score both with one fluency model, or choose what is compared with "
                    "--system",
                )
            found.append(_finding(check, rows.iloc[0], rule))
    return found


def _finding(check: Check, row: "pd.Series[float]", rule: Rule) -> Finding:
    low, high = float(row["low"]), float(row["high"])
    difference = float(row["difference"])
    # Losses: how much worse, whichever direction is better. The least and the greatest of them.
    sign = -1.0 if check.measure.better == "high" else 1.0
    loss = sign * difference
    least, greatest = sorted((sign * low, sign * high))
    decided = {"difference": loss, "interval": least, "non-inferiority": greatest}[rule]
    without = math.isnan(low) or math.isnan(high)
    if without:
        decided = loss
    # A margin is kept to where sums of fractions are exact.
    regressed = decided > check.margin + 1e-9
    scale = check.measure.scale
    unit = " points" if check.measure.kind in ("share", "points") else ""
    if check.measure.kind == "coefficient":
        unit = " hundredths"
    interval = "no interval: " + str(row["method"]).removeprefix("no interval: ")
    if not without:
        ends = [format_number(end * scale, "signed") for end in (low, high)]
        interval = f"{float(row['level']) * 100:.0f}% interval {ends[0]} to {ends[1]}"
    by = rule if not without else "difference"
    text = (
        f"{check.name}: {row['first']} minus {row['second']} is "
        f"{format_number(difference * scale, 'signed')}{unit} ({interval}; "
        f"{int(row['n']):,} items; {check.measure.better} is better; margin "
        f"{format_number(check.margin * scale, 'number')}{unit}, by {by})"
    )
    return Finding(
        check, str(row["first"]), str(row["second"]), difference, low, high, int(row["n"]),
        regressed, text,
    )  # fmt: skip
