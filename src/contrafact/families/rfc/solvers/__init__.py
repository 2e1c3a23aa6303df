"""Solvers of the two tasks, one module each (RFC-BENCH, section 2.3 and section 4).

To add one, write a module with a function ``answerer(context)`` that returns an object as
`families.rfc.answers.Answerer` describes, and put it here, or name it by its import path.
"""

from contrafact.families.rfc.solvers.lookup import SolverContext, make_solver, solver_names

__all__ = ["SolverContext", "make_solver", "solver_names"]
