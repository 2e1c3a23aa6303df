"""Check whether a run got worse by a measure, for ``contrafact diff --fail-on-regression``."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import pandas as pd

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.display import format_number
from contrafact.family.report import Form, Measure
from contrafact.report.diff import RunDiff, compared_measures, diff_runs
from contrafact.runs.folder import read_manifest

__all__ = ["Finding", "Rule", "check_runs"]

Rule = Literal["difference", "interval", "non-inferiority"]
"""When a run counts as worse: by ``difference`` if the difference is beyond the margin; by
``interval`` if its whole interval is, so that chance alone seldom fails a run; by
``non-inferiority`` if its interval reaches beyond the margin, so that a run passes only if it is
shown to be as good."""

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
        return self.measure.name if self.form == "all" else f"{self.measure.name}.{self.form}"


@dataclass(frozen=True)
class Finding:
    """A check's result for two systems; ``text`` describes it in one line."""

    check: Check
    system_a: str
    system_b: str
    difference: float
    low: float
    high: float
    n: int
    regressed: bool
    text: str


def parse_check(text: str, measures: Sequence[Measure]) -> Check:
    """Return the check that ``MEASURE[.FORM][:MARGIN]`` describes.

    By default the form is ``strict`` if the measure has it, so that invalid outputs count. A margin
    of a share is a fraction (``0.02``) or a percentage (``2%``).
    """
    measure_form, colon, limit = text.partition(":")
    name, dot, form = measure_form.partition(".")
    option = f"--fail-on-regression {text}"
    measure = {measure.name: measure for measure in measures}.get(name)
    if measure is None or measure.better is None:
        names = ", ".join(measure.name for measure in measures if measure.better is not None)
        problem = f"there is no measure '{name}'"
        if measure is not None:
            problem = f"'{name}' has no better direction"
        raise InputError(f"{option}: {problem}", hint=f"use one of {names}")
    if dot and form not in measure.forms:
        hint = f"it has {' and '.join(measure.forms)}"
        raise InputError(f"{option}: '{name}' has no form '{form}'", hint=hint)
    default: Form = "strict" if "strict" in measure.forms else measure.forms[0]
    chosen = next((one for one in measure.forms if one == form), default)
    share = measure.kind in _SHARES
    usage = "write a fraction, 0.02, or a percentage, 2%" if share else "write a number, 0.5"
    percentage = limit.endswith("%") and share
    try:
        margin = float(limit.removesuffix("%") if percentage else limit) if colon else 0.0
    except ValueError:
        margin = math.nan
    margin = margin / 100 if percentage else margin
    if not margin >= 0 or math.isinf(margin):
        raise InputError(f"{option}: '{limit}' is not a margin", hint=usage)
    if share and margin >= 1:
        raise InputError(f"{option}: a margin of {limit} is the whole scale", hint=usage)
    return Check(measure, chosen, margin)


def check_runs(
    before: Path,
    after: Path,
    checks: Sequence[str],
    *,
    rule: Rule = "difference",
    systems: Sequence[str] = (),
) -> tuple[RunDiff, list[Finding]]:
    if rule not in get_args(Rule):
        hint = f"use {', '.join(get_args(Rule))}"
        raise InputError(f"there is no rule {str(rule)[:40]!r}", hint=hint)
    # Checks are read before the runs, so that a mistyped one costs no time.
    spec = task_named(read_manifest(before).task).report.load()
    means = [measure for measure in compared_measures(spec) if measure.compute is None]
    wanted = [parse_check(text, means) for text in checks]
    diff = diff_runs(before, after, systems=systems)
    silent = [
        pair
        for pair, rows in diff.rows.items()
        if not (rows["valid"].eq(1) & rows["degenerate"].isna()).any()
    ]
    findings: list[Finding] = []
    for check, pair in product(wanted, diff.pairs):
        if pair in silent and check.form != "all":  # neither run has an output to compare
            text = f"{check.name}: no output of {pair.name} is an answer in either run"
            unknown = (math.nan, math.nan, math.nan, 0, True)
            findings.append(Finding(check, pair.before, pair.after, *unknown, text))
        else:
            findings += find_regressions([check], diff.differences, [pair.name], rule=rule)
    return diff, findings


def find_regressions(
    checks: Sequence[Check],
    differences: pd.DataFrame,
    pairs: Sequence[str],
    *,
    rule: Rule = "difference",
) -> list[Finding]:
    """Return the findings of each check for each named pair, from the differences of a `RunDiff`.

    Without an interval, the difference decides, whatever the rule.

    Raises:
        InputError: A check's measure was not compared, or no item has a value in both runs.
    """
    findings: list[Finding] = []
    for check, pair in product(checks, pairs):
        rows = differences
        if len(rows):
            chosen = rows["pair"].eq(pair) & rows["measure"].eq(check.measure.name)
            rows = rows[chosen & rows["form"].eq(check.form)]
        if rows.empty:
            raise InputError(
                f"--fail-on-regression {check.name}: {check.measure.name} of {pair} cannot be "
                "compared",
                hint="name a measure that is a mean over outputs, judge both runs with one judge, "
                "score both with one fluency model, or choose what is compared with --system",
            )
        if math.isnan(rows.iloc[0]["difference"]):
            raise InputError(
                f"--fail-on-regression {check.name}: no item of {pair} has a value in both runs",
                hint="check the strict form, which counts invalid outputs, or another measure",
            )
        findings.append(_finding(check, rows.iloc[0], rule))
    return findings


def _finding(check: Check, row: "pd.Series[float]", rule: Rule) -> Finding:
    scale, better = check.measure.scale, check.measure.better
    difference, low, high = (float(row[name]) for name in ("difference", "low", "high"))
    # A loss is how much worse B is, whichever direction is better; the interval bounds it.
    sign = -1.0 if better == "high" else 1.0
    least, greatest = sorted((sign * low, sign * high))
    rule = "difference" if math.isnan(low) else rule
    loss = {"difference": sign * difference, "interval": least, "non-inferiority": greatest}[rule]
    # A difference of 0.02, computed from floating-point sums, is not beyond a margin of 0.02.
    regressed = loss > check.margin + 1e-9
    units = {"share": " points", "points": " points", "coefficient": " hundredths"}
    unit = units.get(check.measure.kind, "")
    minus, start, end = (format_number(x * scale, "signed") for x in (difference, low, high))
    interval = f"{float(row['level']) * 100:.0f}% interval {start} to {end}"
    text = (
        f"{check.name}: B · {row['system_b']} minus A · {row['system_a']} is {minus}{unit} "
        f"({row['method'] if math.isnan(low) else interval}; {int(row['n']):,} items; {better} is "
        f"better; margin {format_number(check.margin * scale, 'number')}{unit}, by {rule})"
    )
    systems = str(row["system_a"]), str(row["system_b"])
    return Finding(check, *systems, difference, low, high, int(row["n"]), regressed, text)
