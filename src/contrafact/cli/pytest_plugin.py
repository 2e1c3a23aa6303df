"""What contrafact adds to pytest: ``no_regression``, which fails a test where a run got worse.

pytest loads it by its entry point in every session, so that nothing is imported before it is used.
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
    """Fail a test where a run got worse than another, by ``contrafact diff``'s figures.

    Called as ``no_regression(RUN_A, RUN_B, *checks, rule=…, systems=…)``. Checks are what
    ``--fail-on-regression`` takes (``"accuracy:2%"``), ``rule`` is ``--rule``'s, and ``systems``
    holds ``--system``'s pairs (``"zero-shot=few-shot"``). What cannot be compared fails too.
    """
    return _check
