"""plain: the task and the item in one call (RFC-BENCH, sections 2.3 and 3.2, appendix T)."""

from contrafact.families.rfc.prompting import OneCall
from contrafact.family.method import MethodContext

__all__ = ["method"]


def method(context: MethodContext) -> OneCall:
    """Return the method."""
    return OneCall("plain", context)
