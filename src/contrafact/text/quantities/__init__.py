"""Quantities in financial prose, and names that look like them (RFC-BENCH, appendix S.2).

`quantities` reads amounts with their unit, role and direction; `identifiers` the years,
quarters, dates, index names and other names that hold a number; `render` writes another value
in the style of a quantity.
"""

from contrafact.text.identifiers import Identifier, identifiers
from contrafact.text.quantities.context import new_quantities, quantities
from contrafact.text.quantities.quantity import (
    Quantity,
    precision,
    render,
    same_measure,
    same_value,
    worth,
    written_value,
)

__all__ = [
    "Identifier",
    "Quantity",
    "identifiers",
    "new_quantities",
    "precision",
    "quantities",
    "render",
    "same_measure",
    "same_value",
    "worth",
    "written_value",
]
