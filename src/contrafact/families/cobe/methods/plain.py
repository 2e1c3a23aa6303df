"""plain: the scenario and the query, in conversational language (CoBe, section 4.2)."""

from contrafact.families.cobe.methods.few_shot import Prompted
from contrafact.family.method import MethodContext


def method(context: MethodContext) -> Prompted:
    return Prompted("plain", context.pack)
