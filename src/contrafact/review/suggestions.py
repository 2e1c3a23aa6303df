"""A model's answers, shown to people before or after their own, and what that does to theirs.

Any file of verdicts brings them. Of the items on which a stage shows them, each person sees them
on a share drawn for that person alone; on the others they judge as if there were none. So what
suggestions change is the difference between the two, whatever the model is worth.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from contrafact.errors import InputError
from contrafact.files.tables import read_rows, source_name
from contrafact.review.project import Stage
from contrafact.review.state import Event, NotAllowed, Recorder, ReviewState
from contrafact.stats.intervals import difference_between_groups

__all__ = [
    "Influence",
    "add_suggestions",
    "influence",
    "own_draw",
    "read_suggestions",
    "suggestion_after",
    "suggestion_before",
]


@dataclass(frozen=True)
class Influence:
    """How far people go along with suggestions.

    Attributes:
        person: Who; ``all`` for everybody.
        shown: Decisions with a suggestion in sight, and how many of them agree with it.
        hidden: Decisions without one in sight, and how many of them agree with it.
        difference: The agreement in sight less that out of sight, with the bounds of a 95%
            interval; None where one of the two has no decision.
    """

    person: str
    shown: tuple[int, int]
    hidden: tuple[int, int]
    difference: tuple[float, float, float] | None


def own_draw(who: str, item: str, purpose: str) -> float:
    """Return a number from 0 to 1 that is always the same for a person, an item and a purpose."""
    digest = hashlib.blake2b(f"{purpose}\n{who}\n{item}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def suggestion_before(
    state: ReviewState, stage: Stage, who: str, item: str
) -> dict[str, str] | None:
    """Return the model's answers that stand beside somebody's form; None if none do."""
    return _shown(state, stage, who, item) if stage.suggestions == "before" else None


def suggestion_after(
    state: ReviewState, stage: Stage, who: str, item: str
) -> dict[str, str] | None:
    """Return the model's answers that somebody sees once they have answered; None if none."""
    return _shown(state, stage, who, item) if stage.suggestions == "after" else None


def _shown(state: ReviewState, stage: Stage, who: str, item: str) -> dict[str, str] | None:
    asked = {
        question: answer
        for question, (answer, _) in state.suggestions.get(item, {}).items()
        if question in stage.questions
    }
    if not asked or own_draw(who, item, f"suggestion {stage.id}") >= stage.suggestion_share:
        return None
    return asked


def add_suggestions(
    state: ReviewState,
    suggestions: Mapping[str, Mapping[str, str]],
    model: str,
    who: str,
    now: datetime,
) -> list[Event]:
    """Bring a model's answers in: by item, its answers by question. The same again changes nothing.

    Raises:
        NotAllowed: There is no such item or question, or an answer is none of the question's.
    """
    known = {question.id: question for question in state.project.questions}
    new: dict[str, dict[str, str]] = {}
    for item, answers in suggestions.items():
        if item not in state.items:
            raise NotAllowed(f"there is no item '{item[:40]}'")
        for name, answer in answers.items():
            if name not in known:
                raise NotAllowed(f"'{name[:40]}' is no question", hint=f"use {', '.join(known)}")
            options = known[name].options
            if options and answer not in options:
                raise NotAllowed(
                    f"item '{item[:40]}': '{answer[:40]}' is no answer to '{name}'",
                    hint=f"use {', '.join(options)}",
                )
        present = state.suggestions.get(item, {})
        if any(present.get(name) != (answer, model) for name, answer in answers.items()):
            new[item] = dict(answers)
    record = Recorder(state, now)
    for item, answers in new.items():
        record.add("suggested", who, item=item, body={"answers": answers, "model": model})
    return record.events


def read_suggestions(
    path: str | Path, question: str, column: str, words: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return a file's verdicts as suggestions on one question.

    Args:
        path: The file: verdicts of a judge, exported decisions, any table with ids.
        question: The question that they answer.
        column: The column with the verdict.
        words: By answer of the question, the file's word for it; other words stand for themselves.

    Raises:
        InputError: The file cannot be read, or a row lacks its id or has another answer of an item
            that was there before; the line is named.
    """
    theirs = {word.casefold(): answer for answer, word in words.items()}
    found: dict[str, dict[str, str]] = {}
    for line, row in read_rows(path):
        name = next((str(row[key]) for key in ("item_id", "id", "item") if row.get(key)), "")
        value = row.get(column)
        if not name or column not in row:
            raise InputError(
                f"has no '{column}' or no id",
                file=source_name(path),
                line=line,
                hint="name the column with --column",
            )
        if value is None or value == "":
            continue
        text = ("true" if value else "false") if isinstance(value, bool) else str(value).strip()
        answer = {question: theirs.get(text.casefold(), text)}
        if found.setdefault(name, answer) != answer:
            raise InputError(
                f"'{name[:40]}' has two verdicts",
                file=source_name(path),
                line=line,
                hint="give one judge's file",
            )
    return found


def influence(state: ReviewState, rng: np.random.Generator) -> list[Influence]:
    """Return how far people go along with suggestions, everybody together first.

    Only decisions on items that have a suggestion count. A decision agrees with it where all of
    its answers to questions with a suggestion do.

    Args:
        state: The review.
        rng: Draws the resamples of the intervals; an item's decisions are drawn together.
    """
    seen: dict[str, list[tuple[bool, bool, str]]] = {}
    for item in state.items.values():
        own = state.suggestions.get(item.id)
        for vote in item.votes if own else ():
            stage = state.project.stage(vote.stage)
            asked = {q: a for q, (a, _) in (own or {}).items() if q in vote.ballot.answers}
            if stage.suggestions == "none" or not asked or vote.origin is not None:
                continue
            agrees = all(vote.ballot.answers[name] == answer for name, answer in asked.items())
            shown = suggestion_after(state, stage, vote.who, item.id) is not None
            in_sight = vote.suggested is not None or shown
            seen.setdefault(vote.who, []).append((in_sight, agrees, item.id))
    if not seen:
        return []
    together = [one for own in seen.values() for one in own]
    rows = [_influence("all", together, rng)]
    return rows + [_influence(who, seen[who], rng) for who in sorted(seen)]


def _influence(who: str, rows: list[tuple[bool, bool, str]], rng: np.random.Generator) -> Influence:
    shown = [agrees for in_sight, agrees, _ in rows if in_sight]
    hidden = [agrees for in_sight, agrees, _ in rows if not in_sight]
    difference = None
    if shown and hidden:
        found = difference_between_groups(
            [float(agrees) for _, agrees, _ in rows],
            [in_sight for in_sight, _, _ in rows],
            [item for _, _, item in rows],
            rng=rng,
        )
        difference = (found.estimate, found.low, found.high)
    return Influence(
        who,
        (len(shown), sum(shown)),
        (len(hidden), sum(hidden)),
        difference,
    )
