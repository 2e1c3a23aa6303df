"""Settings of the family: its options, the paper's presets, and its part of the demo."""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from pydantic import Field

from contrafact.family import DemoPart
from contrafact.family.settings import FluencyOptions, ShotOptions, StructuredOptions


class FinforceOptions(ShotOptions, StructuredOptions, FluencyOptions):
    """Options of forward counterfactuals."""

    judge_faults: bool = Field(
        default=False, description="Judge also the two error classes that need a judge."
    )


_PAPER = json.loads(
    (resources.files("contrafact.families.finforce") / "presets.json").read_text(encoding="utf-8")
)

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "finforce-paper": {**_PAPER["settings"], "needs": _PAPER["needs"], "notes": _PAPER["notes"]}
}
"""The paper's settings (FIN-FORCE, section 4, B.1 and B.2)."""

DEMO = (
    DemoPart(
        task="finforce",
        noun="headlines",
        count=4,
        most=30,
        text="FIN-FORCE: {count} headlines about invented companies. {model} writes a risk and an "
        "opportunity for each. Without a judge the table says only which texts can be read and "
        "are an answer.",
        # Without examples so small a model writes little that can be read.
        methods=("few-shot",),
        options={"fluency_model": None},
        # A reply has three headlines in JSON: of twelve replies ten end within 169 tokens, and the
        # others not within 400. For the first bundled headline the embedded model writes two
        # counterfactuals; on most others it fails, as the table shows.
        generation={"temperature": 0.0, "max_tokens": 200},
    ),
)
