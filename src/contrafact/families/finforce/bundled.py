"""The samples that come with the program, of the project's own writing.

Companies, people, countries and events are invented; the categories are the ten of the paper's
table 1. ``headlines.jsonl`` is what `demo` runs on; ``shots.jsonl`` is the default pool of worked
examples for few-shot prompts. The two share no headline.
"""

from functools import cache
from importlib import resources

from contrafact.families.finforce.data import load_headlines
from contrafact.records import Headline

__all__ = ["bundled_headlines", "bundled_shots"]


def bundled_headlines() -> list[Headline]:
    """Return the 30 sample headlines, three of each market category."""
    return list(_read("headlines.jsonl"))


def bundled_shots() -> list[Headline]:
    """Return the pool of worked examples: 49 headlines, with a reference pair each."""
    return list(_read("shots.jsonl"))


@cache
def _read(name: str) -> tuple[Headline, ...]:
    file = resources.files("contrafact.families.finforce") / "samples" / name
    with resources.as_file(file) as path:
        return tuple(load_headlines(path))
