"""least-to-most: fluency, then compatibility, then direction, in a call each.

Proposed in FIN-FORCE, section 5.1, after Zhou et al. (2022); not run in the paper. The replies of
all steps are kept.
"""

from contrafact.families.finforce.generation import (
    Generation,
    headline_turn,
    pair_schema,
    read_pair,
)
from contrafact.families.finforce.records import Headline
from contrafact.family.method import MethodContext
from contrafact.family.task import Turns


def method(context: MethodContext) -> Turns[Headline, Generation]:
    steps = {
        "fluency": pair_schema(),
        "compatibility": pair_schema(),
        "direction": pair_schema("original_headline"),
    }
    turns = [
        headline_turn(context, step, f"least-to-most-{step}", 90, schema)
        for step, schema in steps.items()
    ]
    return Turns("least-to-most", turns, lambda output, kept: read_pair(output, {"steps": kept}))
