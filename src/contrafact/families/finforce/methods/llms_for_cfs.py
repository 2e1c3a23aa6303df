"""llms-for-cfs: find the decisive phrases, edit them, put them back, in one call.

FIN-FORCE, section 4, B.2 and table 8, after Nguyen et al. (2024). The reply's reasoning is kept.
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
    schema = pair_schema("original_headline", "reasoning")
    only = headline_turn(context, "answer", "llms-for-cfs", 300, schema)
    return Turns("llms-for-cfs", [only], read_pair)
