"""The quantities of a text, with what its sentences say of them."""

from contrafact.text.quantities.context import in_context
from contrafact.text.quantities.grammar import found_quantities
from contrafact.text.quantities.quantity import Quantity

__all__ = ["new_quantities", "quantities"]


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text, in order and without overlap.

    For each, ``text[q.start:q.end]`` is ``q.text``. Both ends of a range are quantities of the
    range's kind: "3-5%" is 3 and 5 percent, "$1 to $2 billion" is one and two billion. Years,
    dates, hours, quarters, index names, ranks, forms, tenors of instruments and versions are not
    returned; see `identifiers`.
    """
    return in_context(text, found_quantities(text))


def new_quantities(original: str, other: str) -> list[Quantity]:
    """Return the quantities of ``other`` that ``original`` does not state.

    Two quantities are the same when kind and value agree, however they are written ("25 bps" and
    "a quarter point"); vague ones when kind and words agree.
    """
    known = {_key(quantity) for quantity in quantities(original)}
    return [quantity for quantity in quantities(other) if _key(quantity) not in known]


def _key(quantity: Quantity) -> tuple[str, float | str]:
    if quantity.value is None:
        return quantity.kind, " ".join(quantity.text.casefold().split())
    return quantity.kind, quantity.value
