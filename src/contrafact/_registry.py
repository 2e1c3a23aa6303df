"""What Inspect finds of this package, through the entry point ``inspect_ai``.

Light on purpose: Inspect imports it to look a name up, so whatever is heavy (llama.cpp, spaCy,
pandas) is imported only by what is asked for.
"""

from typing import Any

from inspect_ai.model import modelapi

from contrafact.finforce.task import finforce

__all__ = ["embedded", "finforce"]


@modelapi("embedded")
def embedded() -> Any:
    """Return the provider of ``embedded/…`` models, llama.cpp in this process."""
    from contrafact.models.embedded import EmbeddedAPI

    return EmbeddedAPI
