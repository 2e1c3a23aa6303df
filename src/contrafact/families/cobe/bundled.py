"""The stories that come with the program, of the project's own writing.

People, places and events are invented. ``stories.json`` holds stories of all types of graph and all
domains, with right answers and answers that fail one criterion each; ``shots.json`` is the pool of
worked examples for few-shot prompts. The two share no core story.
"""

from functools import cache
from importlib import resources

from contrafact.families.cobe.data import load_stories
from contrafact.families.cobe.known import KnownStory, load_known
from contrafact.records import Story

__all__ = ["bundled_known", "bundled_shots", "bundled_stories"]


def bundled_stories() -> list[Story]:
    """Return the sample stories."""
    return list(_stories("stories.json"))


def bundled_known() -> list[KnownStory]:
    """Return the sample stories with their known answers."""
    return list(_known("stories.json"))


def bundled_shots() -> list[Story]:
    """Return the pool of worked examples."""
    return list(_stories("shots.json"))


@cache
def _stories(name: str) -> tuple[Story, ...]:
    with resources.as_file(resources.files("contrafact.families.cobe") / "samples" / name) as path:
        return tuple(load_stories(path))


@cache
def _known(name: str) -> tuple[KnownStory, ...]:
    with resources.as_file(resources.files("contrafact.families.cobe") / "samples" / name) as path:
        return tuple(load_known(path))
