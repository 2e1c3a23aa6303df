"""guided: the zero-shot prompt that also says what the judge will look for.

It asks for what the paper's prompt (FIN-FORCE, table 8) leaves to the model: to take the event as
having happened, to name a concrete development whose consequences reach beyond one party, and to
keep the headline's names. Beside ``zero-shot`` it measures what asking for that is worth.
"""

from contrafact.families.finforce.methods.few_shot import Prompted
from contrafact.family.method import MethodContext


def method(context: MethodContext) -> Prompted:
    """Return the method; how many examples others show does not concern it."""
    return Prompted("guided", context.pack, template="finforce/guided")
