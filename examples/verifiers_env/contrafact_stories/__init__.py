"""Counterfactual edits of stories as a taskset: drawn without end, rewarded by proof.

A task is a short story and a query, what would have happened instead; its reward is decided by what
the story tells, by no model. Difficulty is one of contrafact's levels or its single ranges.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import verifiers.v1 as vf
from pydantic import Field
from verifiers.v1.harnesses.null import NullHarness

from contrafact.families.cobe.data import read_story, story_object
from contrafact.families.cobe.stories import (
    LEVELS,
    Difficulty,
    Form,
    Stories,
    reward_of,
    verdicts,
)

__all__ = ["NullHarness", "StoriesTaskset"]


class StoriesConfig(vf.TasksetConfig):
    """What is drawn."""

    seed: int = Field(0, ge=0)
    level: int | None = Field(None, ge=0, lt=len(LEVELS))
    """One of contrafact's levels; what stands below then counts for nothing."""
    graphs: tuple[str, ...] = Difficulty().graphs
    facts: tuple[int, int] = Difficulty().facts
    words: tuple[int, int] = Difficulty().words
    connectors: tuple[int, int] = Difficulty().connectors
    phrasings: str = Difficulty().phrasings
    suppositions: tuple[int, int] = Difficulty().suppositions
    cause_told: bool | None = Difficulty().cause_told
    traps: tuple[str, ...] = Difficulty().traps
    least_traps: int = Difficulty().least_traps
    apart: bool = Difficulty().apart
    form: Form = "conjunction"
    """``conjunction``: 1 where every criterion passes; ``share``: the share that does."""
    framing: str = "stated:1"
    """How the request is put: ``plain``, or ``stated:1`` to ``stated:3``."""
    processes: int = Field(1, ge=1)
    """How many draw ahead of the trainer; the tasks are the same."""


class StoriesData(vf.TaskData):
    """A row: the prompt, and what its answers are scored by."""

    story: dict[str, Any]
    """The story, in the paper's schema."""
    form: Form


class StoriesTask(vf.Task[StoriesData]):
    """An edit to be made; the last reply is scored."""

    @vf.reward(weight=1.0)
    async def proven(self, trace: vf.Trace) -> float:
        """Return the reward, by what proof decides."""
        return reward_of(self._decided(trace), self.data.form)

    @vf.metric
    async def criteria(self, trace: vf.Trace) -> dict[str, float]:
        """Return each criterion that the story has, and the share that proof leaves open."""
        decided = self._decided(trace)
        opened = sum(one is None for one in decided.values()) / len(decided)
        return {name: float(one is True) for name, one in decided.items()} | {"open": opened}

    def _decided(self, trace: vf.Trace) -> dict[str, bool | None]:
        return verdicts(read_story(self.data.story), trace.last_reply)


class StoriesTaskset(vf.Taskset[StoriesTask, StoriesConfig]):
    """Tasks without end; the same options and seed give the same tasks."""

    INFINITE = True

    def load(self) -> Iterator[StoriesTask]:
        """Yield the tasks, drawn ahead by processes where more than one is asked for."""
        asked = self.config
        ranges = {one.name: getattr(asked, one.name) for one in fields(Difficulty)}
        difficulty = Difficulty(**ranges) if asked.level is None else LEVELS[asked.level]
        stories = Stories(asked.seed, difficulty, form=asked.form, framing=asked.framing)
        for place, one in enumerate(stories.ahead(asked.processes)):
            yield StoriesTask(
                StoriesData(
                    id=f"{asked.seed}-{place}",
                    prompt=one.prompt,
                    story=story_object(one.story),
                    form=asked.form,
                ),
                asked.task,
            )
