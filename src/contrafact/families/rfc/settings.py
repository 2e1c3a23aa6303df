"""Settings of the family: the options of its two tasks, its presets, and its part of the demo."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from contrafact.family import DemoExample, DemoPart, Lazy
from contrafact.family.settings import ShotOptions, TaskOptions


class LabelOptions(TaskOptions):
    """Options of both tasks."""

    rationale: bool = Field(default=False, description="Ask for reasons, and keep them.")
    logprobs: bool = Field(
        default=False,
        description="Ask for probabilities, for AUROC.",
        json_schema_extra={"generation": True},
    )


class DetectOptions(LabelOptions, ShotOptions):
    """Options of detection; examples are 0, 2 or 8 (appendix T)."""


class DiagnoseOptions(LabelOptions):
    """Options of diagnosis, which shows no examples."""


_NOTES = (
    "The paper's question (appendix T) in our own words; --prompts takes a pack with its own.",
    "The paper names 14 models (table 5) and sets nothing of how they write: the providers' "
    "defaults, and of open weights the official ones. Name them with --model.",
)

PRESETS: Mapping[str, Mapping[str, Any]] = {
    f"{task}-paper": {
        "task": task,
        "methods": ("plain:question=paper",),
        "notes": (*_NOTES, *more),
        "needs": {
            "data": "pairs with their originals: contrafact data fetch rfc-bench gives the "
            "rewrites, contrafact rfc hydrate the originals; or a file of your own"
        },
    }
    for task, more in (
        (
            "rfc-detect",
            ("Zero-shot; --shots 0 --shots 2 --shots 8 is the ablation of section 3.2.",),
        ),
        ("rfc-diagnose", ()),
    )
}
"""The paper's settings (RFC-BENCH, sections 2.3 and 3, appendix T)."""

DEMO = (
    DemoExample(
        title="A sentence, rewritten and checked without a model",
        show=Lazy("contrafact.families.rfc.pipeline.shown:rewriting_example"),
    ),
    DemoPart(
        task="rfc-detect",
        noun="pairs",
        count=6,
        most=24,
        text="RFC-BENCH, detection: the two paragraphs of {count} pairs, one at a time. Was it "
        "published so, or manipulated? A baseline that calls no model is beside {model}.",
        methods=("plain", "majority"),
        generation={"temperature": 0.0, "max_tokens": 16},  # one word is asked for
    ),
)
