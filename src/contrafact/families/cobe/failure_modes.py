"""The seven failure modes (CoBe, appendix B.1), and a suggestion for a response that failed.

In the paper people mapped failures to modes by hand. Here stories carry modes as labels (what they
were written to probe), and every failed response gets a *suggestion*, by a rule that looks only at
which criteria failed and at the story's labels and type of graph:

1. Of the criteria that failed, take them in the order E5, E1, E2, E4, E3.
2. If the story is labelled with a mode that one of them can be a sign of, suggest that label: that
   of the first such criterion, and there the first in the rule's list.
3. Else take the first failed criterion, and suggest the mode that goes with the story's type of
   graph, or else the first that the criterion can be a sign of.

The rule is data (``failure_modes.toml``). It is a place to start reading, not a finding: E1 failing
in a fork is often, and not always, a correlation taken for a cause.
"""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from contrafact.records import Story

__all__ = ["FailureMode", "failure_modes", "suggested_mode"]


@dataclass(frozen=True)
class FailureMode:
    """One of the seven.

    Attributes:
        number: 1 to 7, as in the paper.
        name: The paper's name.
        means: What it means, in one sentence.
    """

    number: int
    name: str
    means: str


def failure_modes() -> dict[int, FailureMode]:
    """Return the seven modes by their number."""
    return {one["number"]: FailureMode(**one) for one in _data()["mode"]}


def suggested_mode(failed: Collection[str], story: Story) -> int | None:
    """Return the number of the mode that the rule suggests.

    Args:
        failed: Names of the criteria that failed.
        story: The story, for its labels and its type of graph.

    Returns:
        1 to 7, or None where nothing failed.
    """
    rule: Mapping[str, Any] = _data()["rule"]
    ordered = [name for name in rule["order"] if name in failed]
    for name in ordered:
        for mode in rule[name]["modes"]:
            if mode in story.failure_modes:
                return int(mode)
    if not ordered:
        return None
    own = rule[ordered[0]]
    return int(own.get(story.graph, own["modes"][0]))


@cache
def _data() -> dict[str, Any]:
    text = (files("contrafact.families.cobe") / "failure_modes.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
