"""How the family is run: its options, and its part of the demo."""

from pydantic import Field

from contrafact.family import DemoPart, Lazy
from contrafact.family.settings import ShotOptions, StructuredOptions

__all__ = ["DEMO", "CobeOptions"]


class CobeOptions(ShotOptions, StructuredOptions):
    """Options of counterfactual edits."""

    judge_context: bool = Field(
        default=False, description="Show the judge the scenario and the query too."
    )


DEMO = (
    DemoPart(
        task="cobe",
        noun="stories",
        count=8,  # all six types of graph and all seven domains are among the first eight
        most=14,
        text="CoBe. {count} bundled stories, each asked in three phrasings what would have "
        "happened instead; {model} edits them, and judges its edits criterion by criterion.",
        methods=("plain",),
        shown=Lazy("contrafact.families.cobe.task:shown_texts"),
        judged=True,
        generation={"temperature": 0.0, "max_tokens": 90},  # twice the longest of the stories
    ),
)
