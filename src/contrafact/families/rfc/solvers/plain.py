"""plain: the task and the item in one call (RFC-BENCH, sections 2.3 and 3.2, appendix T)."""

from contrafact.families.rfc.solvers.lookup import SolverContext
from contrafact.families.rfc.solvers.prompted import OneCall

__all__ = ["answerer"]


def answerer(context: SolverContext) -> OneCall:
    """Return the solver."""
    return OneCall("plain", context)
