"""The pytest plugin: ``no_regression``, which fails a test if a run got worse.

pytest loads it by its entry point in every session, so nothing is imported before it is used.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contrafact.errors import InputError

if TYPE_CHECKING:
    from contrafact.report.regression import Rule


def _check(
    run_a: str | Path,
    run_b: str | Path,
    *checks: str,
    rule: "Rule" = "difference",
    systems: tuple[str, ...] = (),
) -> None:
    __tracebackhide__ = True
    from contrafact.report.regression import check_runs

    if not checks:
        pytest.fail("no_regression needs a check, as in 'accuracy:2%'", pytrace=False)
    try:
        _, findings = check_runs(Path(run_a), Path(run_b), checks, rule=rule, systems=systems)
    except InputError as error:
        pytest.fail(str(error), pytrace=False)
    worse = [f"regression: {one.text}" for one in findings if one.regressed]
    if worse:
        pytest.fail("\n".join(worse), pytrace=False)


@pytest.fixture(scope="session")
def no_regression() -> Callable[..., None]:
    """Return a function that fails a test if a run got worse, by ``contrafact diff``'s figures.

    Call it as ``no_regression(RUN_A, RUN_B, *checks, rule=…, systems=…)``. Checks are values of
    ``--fail-on-regression`` (``"accuracy:2%"``), ``rule`` is that of ``--rule``, and ``systems``
    holds the pairs of ``--system`` (``"zero-shot=few-shot"``). A failed comparison also fails the
    test.
    """
    return _check
