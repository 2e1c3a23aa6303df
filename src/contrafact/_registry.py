"""The objects that Inspect finds in this package through the entry point ``inspect_ai``.

Inspect imports this module to look up a name, so heavy packages (llama.cpp, spaCy, pandas) are
imported only when an object that needs them is used.
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
    """Return the provider of ``verifier/…`` judges, which prove or look up their verdicts."""
    return VerifierAPI
