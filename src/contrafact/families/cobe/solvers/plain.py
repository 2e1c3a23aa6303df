"""plain: the scenario and the query, in conversational language (CoBe, section 4.2)."""

from contrafact.families.cobe.solvers.few_shot import Prompted
from contrafact.families.cobe.solvers.lookup import SolverContext

__all__ = ["editor"]


def editor(context: SolverContext) -> Prompted:
    """Return the solver."""
    return Prompted("plain", context.pack)
