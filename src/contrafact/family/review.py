"""Families' reviews by people: lists of rules say where an item goes from a stage.

A family's reviews are TOML files in the folder ``reviews`` of its package; ``reviews/formats``
holds the field names of other commands' files. The review studio runs the reviews; a replay of
decisions made elsewhere follows the same rules.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import Field

from contrafact.family.settings import ConfigPart, Names
from contrafact.plugins import family_folders
from contrafact.stats.votes import majority

__all__ = ["Rule", "Step", "review_files", "review_steps", "rule_for"]


class Rule(ConfigPart):
    """A rule that sends an item from a stage if all its parts hold; the first such rule counts."""

    to: str = Field(description="A stage, or an outcome: final, removed, hard case.")
    why: str = Field(min_length=1, description="The reason, as the history gives it.")
    all: Names = Field(default=(), description="There are votes, and each is one of these.")
    some: Names = Field(default=(), description="At least one vote is one of these.")
    none: Names = Field(default=(), description="No vote is one of these.")
    same: bool = Field(default=False, description="All votes are the same.")
    majority: Names = Field(default=(), description="More than half are one and the same of these.")
    flagged: bool = Field(default=False, description="Somebody flagged the item.")
    carried: Names = Field(default=(), description="The verdict so far is one of these.")

    @property
    def unconditional(self) -> bool:
        conditions = self.all or self.some or self.none or self.majority or self.carried
        return not (conditions or self.same or self.flagged)

    @property
    def resolves(self) -> bool:
        """Whether the rule holds only if several voters agree on one verdict."""
        return self.same or bool(self.majority) or len(self.all) == 1

    def holds(self, verdicts: Sequence[str], *, flagged: bool, carried: str | None) -> bool:
        cast = set(verdicts)
        return (
            (not self.all or (bool(cast) and cast <= set(self.all)))
            and (not self.some or bool(cast & set(self.some)))
            and (not self.none or not cast & set(self.none))
            and (not self.same or len(cast) == 1)
            and (not self.majority or majority(verdicts) in self.majority)
            and (not self.flagged or flagged)
            and (not self.carried or carried in self.carried)
        )


def rule_for(
    rules: Sequence[Rule],
    verdicts: Sequence[str],
    *,
    flagged: bool = False,
    carried: str | None = None,
) -> Rule:
    """Return the first rule of a stage that holds; the last rule always does."""
    return next(rule for rule in rules if rule.holds(verdicts, flagged=flagged, carried=carried))


@dataclass(frozen=True)
class Step:
    """A stage in a replay: its rules, and the earlier stages whose votes count in it."""

    rules: tuple[Rule, ...]
    counts: tuple[str, ...]


@cache
def review_files() -> Mapping[str, Path]:
    """Return the files of all families' reviews, by name."""
    found = [path for folder in family_folders().values() for path in folder.glob("reviews/*.toml")]
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


@cache
def review_steps(name: str) -> Mapping[str, Step]:
    """Return the stages of a family's review, by id."""
    stages = tomllib.loads(review_files()[name].read_text("utf-8"))["stages"]
    return {
        stage["id"]: Step(
            tuple(Rule.model_validate(rule) for rule in stage["rules"]),
            tuple(stage.get("counts", ())),
        )
        for stage in stages
        if stage["kind"] != "training"
    }
