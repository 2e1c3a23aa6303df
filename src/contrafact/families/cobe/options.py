"""The options of ``cobe``."""

from pydantic import Field

from contrafact.family.settings import ShotOptions, StructuredOptions

__all__ = ["CobeOptions"]


class CobeOptions(ShotOptions, StructuredOptions):
    """Options of counterfactual edits."""

    judge_context: bool = Field(
        default=False, description="Show the judge the scenario and the query too."
    )
