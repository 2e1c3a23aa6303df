"""plain: the task and the item in one call (RFC-BENCH, sections 2.3 and 3.2, appendix T).

A model in this process is held to the labels, unless ``constrained=false`` leaves it free.
"""

from contrafact.families.rfc.prompting import CONSTRAINED, OneCall
from contrafact.family.method import MethodContext

__all__ = ["OPTIONS", "method"]

OPTIONS = CONSTRAINED


def method(context: MethodContext) -> OneCall:
    """Return the method."""
    return OneCall(context.name or "plain", context)
