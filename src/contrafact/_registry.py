"""What Inspect finds of this package, through the entry point ``inspect_ai``.

Light on purpose: Inspect imports it to look a name up, so whatever is heavy (llama.cpp, spaCy,
pandas) is imported only by what is asked for.
"""

from typing import Any

from inspect_ai.model import modelapi

from contrafact.families.cobe.scoring import judged_edit
from contrafact.families.cobe.task import cobe
from contrafact.families.finforce.judging import counterfactuals
from contrafact.families.finforce.task import finforce
from contrafact.families.rfc.scoring import answered
from contrafact.families.rfc.tasks import rfc_detect, rfc_diagnose
from contrafact.family.text_run import criteria_scorer
from contrafact.family.verifier import VerifierAPI
from contrafact.models.embedded import EmbeddedAPI

__all__ = [
    "answered",
    "cobe",
    "counterfactuals",
    "criteria_scorer",
    "embedded",
    "finforce",
    "judged_edit",
    "rfc_detect",
    "rfc_diagnose",
    "verifier",
    "whitebox",
]


@modelapi("embedded")
def embedded() -> Any:
    """Return the provider of ``embedded/…`` models, llama.cpp in this process."""
    return EmbeddedAPI


@modelapi("whitebox")
def whitebox() -> Any:
    """Return the provider of ``whitebox/…`` models, PyTorch in this process."""
    from contrafact.models.whitebox.provider import WhiteboxAPI

    return WhiteboxAPI


@modelapi("verifier")
def verifier() -> Any:
    """Return the provider of ``verifier/…`` judges, which prove or look up what they say."""
    return VerifierAPI
