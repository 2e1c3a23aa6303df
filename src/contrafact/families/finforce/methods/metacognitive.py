"""metacognitive: draft, reflect on the four criteria of directionality, revise.

Proposed in FIN-FORCE, section 5.1, after Wang and Zhao (2023); not run in the paper. Draft and
reflection are one reply, which is kept.
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
    schema = pair_schema("original_headline")
    draft = headline_turn(context, "reflection", "metacognitive-draft", 350)
    revised = headline_turn(context, "answer", "metacognitive-revise", 110, schema)
    return Turns("metacognitive", [draft, revised], read_pair)
