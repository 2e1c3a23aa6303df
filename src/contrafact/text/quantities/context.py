"""What the words around a quantity say of it."""

import re
from dataclasses import replace

from contrafact.text.quantities.quantity import Quantity, QuantityKind, Role

__all__ = ["in_context"]

_PLAIN: dict[QuantityKind, Role] = {
    "money": "money",
    "percent": "percent",
    "basis points": "rate",
    "duration": "duration",
    "ratio": "multiple",
    "number": "number",
}
_UP = re.compile(
    r"\b(?:up|rose|rises?|rising|gain(?:s|ed)?|jump(?:s|ed)?|grew|grows?|increase[ds]?|climb(?:s|ed)?"
    r"|rais(?:es?|ed)|lift(?:s|ed)?|hik(?:es?|ed))\s(?:(?:by|of|about|nearly|a|an|to)\s)*\Z",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"\b(?:down|fell|falls?|falling|drop(?:s|ped)?|declin(?:es?|ed)|lost|loses?|slid(?:es?)?|cut|cuts"
    r"|lower(?:s|ed)?|decreas(?:es?|ed)|slump(?:s|ed)?)\s(?:(?:by|of|about|nearly|a|an|to)\s)*\Z",
    re.IGNORECASE,
)


def in_context(text: str, found: list[Quantity]) -> list[Quantity]:
    """Return the quantities with role, direction, scenario and links."""
    result = []
    for quantity in found:
        before = text[max(0, quantity.start - 60) : quantity.start]
        up, down = _UP.search(before), _DOWN.search(before)
        moved = up or down
        result.append(
            replace(
                quantity,
                role=_PLAIN[quantity.kind],
                direction="up" if up else "down" if down else None,
                is_level=not (moved and not moved[0].rstrip().endswith("to")),
            )
        )
    return result
