"""stepwise: claims, figures, direction, tone and cause in turn, then the label.

Stepwise reasoning is proposed in RFC-BENCH, section 4; it was not run in the paper. The steps are
kept as the answer's rationale.
"""

from contrafact.families.rfc.solvers.lookup import SolverContext
from contrafact.families.rfc.solvers.prompted import OneCall

__all__ = ["answerer"]


def answerer(context: SolverContext) -> OneCall:
    """Return the solver."""
    return OneCall("stepwise", context, template="-stepwise", reasons=True)
