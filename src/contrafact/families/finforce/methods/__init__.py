"""Generation methods, one file each (FIN-FORCE, section 4, B.2).

How to add one: `contrafact.family.method`.
"""

from typing import Any

from contrafact.family.method import Method, MethodContext, Methods

__all__ = ["METHODS"]


class _ForwardMethods(Methods):
    """The family's methods; with cards where its options ask for them."""

    def make(self, spec: str, context: MethodContext) -> Method[Any, Any]:
        made = super().make(spec, context)
        if not getattr(context.settings.options, "cards", False):
            return made
        from contrafact.families.finforce.cards import WithCards

        return WithCards(made, context)


METHODS = _ForwardMethods("finforce", __name__)
