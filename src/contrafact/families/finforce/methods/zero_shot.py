"""zero-shot: one prompt, no examples (FIN-FORCE, section 4 and table 8)."""

from contrafact.families.finforce.methods.few_shot import Prompted
from contrafact.family.method import MethodContext


def method(context: MethodContext) -> Prompted:
    """Return the method; how many examples others show does not concern it."""
    return Prompted("zero-shot", context.pack)
