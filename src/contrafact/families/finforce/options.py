"""The options of ``finforce``."""

from pydantic import Field

from contrafact.family.settings import FluencyOptions, ShotOptions, StructuredOptions

__all__ = ["FinforceOptions"]


class FinforceOptions(ShotOptions, StructuredOptions, FluencyOptions):
    """Options of forward counterfactuals."""

    judge_faults: bool = Field(
        default=False, description="Judge the two error classes that need it too."
    )
