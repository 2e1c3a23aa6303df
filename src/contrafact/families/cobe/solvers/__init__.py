"""Ways of asking for a counterfactual edit, one module each.

To add one, write a module with a function ``editor(context: SolverContext) -> Editor`` and put it
here, or anywhere on the import path; ``--method`` takes its name or its import path.
"""

from contrafact.families.cobe.solvers.lookup import SolverContext, make_solver, solver_names

__all__ = ["SolverContext", "make_solver", "solver_names"]
