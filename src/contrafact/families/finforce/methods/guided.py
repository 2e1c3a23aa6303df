"""guided: the zero-shot prompt, plus what the judge looks for.

It asks for what the paper's prompt (FIN-FORCE, table 8) leaves to the model: to take the event as
having happened, to name a concrete development whose consequences reach beyond one party, and to
keep the headline's names. Compared with ``zero-shot``, it shows the effect of asking for this.
"""

from contrafact.families.finforce.methods.few_shot import Prompted
from contrafact.family.method import MethodContext


def method(context: MethodContext) -> Prompted:
    return Prompted("guided", context.pack, template="finforce/guided")
