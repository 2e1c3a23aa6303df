"""A family's part of ``contrafact demo``: one small run on bundled samples."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["DEMO_MODEL", "DemoPart"]

DEMO_MODEL = "embedded/smollm2-135m"
"""The model that writes and judges in the demo: it needs no key and no network."""


@dataclass(frozen=True)
class DemoPart:
    """One run of the demo.

    Attributes:
        task: The task.
        noun: What its items are, in the plural; also the option that says how many.
        count: How many of the bundled ones are taken.
        most: How many there are.
        text: What is printed before it; ``{count}`` and ``{model}`` are filled in.
        methods: The methods.
        judged: Whether the model judges what it wrote.
        generation: How the model writes.
        options: The task's own options.
    """

    task: str
    noun: str
    count: int
    most: int
    text: str
    methods: tuple[str, ...]
    judged: bool = False
    generation: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
