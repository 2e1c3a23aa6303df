"""The pairs that come with the program, of the project's own writing.

Companies, people, countries and events are invented. ``pairs.jsonl`` holds six pairs of each
manipulation; ``shots.jsonl`` is the pool of worked examples for few-shot prompts, three pairs of
each. The two share no article.
"""

from functools import cache
from importlib import resources

from contrafact.families.rfc.data import load_pairs
from contrafact.records import Rewrite

__all__ = ["bundled_pairs", "bundled_shots"]


def bundled_pairs() -> list[Rewrite]:
    """Return the 24 sample pairs."""
    return list(_read("pairs.jsonl"))


def bundled_shots() -> list[Rewrite]:
    """Return the pool of worked examples: 12 pairs."""
    return list(_read("shots.jsonl"))


@cache
def _read(name: str) -> tuple[Rewrite, ...]:
    file = resources.files("contrafact.families.rfc") / "samples" / name
    with resources.as_file(file) as path:
        return tuple(load_pairs(path, originals=True))
