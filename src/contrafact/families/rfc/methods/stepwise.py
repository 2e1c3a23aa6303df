"""stepwise: claims, figures, direction, tone and cause in turn, then the label.

Stepwise reasoning is proposed in RFC-BENCH, section 4; it was not run in the paper. The steps are
kept as the answer's rationale.
"""

from contrafact.families.rfc.prompting import OneCall
from contrafact.family.method import MethodContext


def method(context: MethodContext) -> OneCall:
    return OneCall("stepwise", context, template="-stepwise", reasons=True)
