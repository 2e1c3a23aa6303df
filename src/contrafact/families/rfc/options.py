"""The options of the two tasks."""

from pathlib import Path

from pydantic import Field

from contrafact.family.settings import ShotOptions, TaskOptions

__all__ = ["DetectOptions", "DiagnoseOptions", "LabelOptions"]


class LabelOptions(TaskOptions):
    """Options of both tasks."""

    rationale: bool = Field(default=False, description="Ask for reasons, and keep them.")
    logprobs: bool = Field(
        default=False,
        description="Ask for probabilities, for AUROC.",
        json_schema_extra={"generation": True},
    )
    background: Path | None = Field(
        default=None,
        description="News that the method memory searches.",
        json_schema_extra={"metavar": "FILE", "generation": True},
    )


class DetectOptions(LabelOptions, ShotOptions):
    """Options of detection; examples are 0, 2 or 8 (appendix T)."""


class DiagnoseOptions(LabelOptions):
    """Options of diagnosis, which shows no examples."""
