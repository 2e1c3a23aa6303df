"""zero-shot: one prompt, no examples (FIN-FORCE, section 4 and table 8)."""

from contrafact.families.finforce.methods.few_shot import Prompted
from contrafact.family.method import MethodContext


def method(context: MethodContext) -> Prompted:
    return Prompted("zero-shot", context.pack)
