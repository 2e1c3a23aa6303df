"""Examples drawn at random: a story, the query, and every system's response, its edit marked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from contrafact.families.cobe.failure_modes import failure_modes
from contrafact.families.cobe.items import CRITERION_NAMES
from contrafact.report.edits import marked
from contrafact.report.visible import shorten
from contrafact.text.diff import word_diff

__all__ = ["Example", "ResponseShown", "draw_examples", "invalid_examples"]

_TEXT_LIMIT = 2_000


@dataclass(frozen=True)
class ResponseShown:
    """A system's response and what the judge said of it.

    Attributes:
        system: The system.
        edit: The response as markup, marked against the story; empty where there is none.
        invalid: Why there is none; empty otherwise.
        left_out: Characters not shown, of very long responses.
        verdicts: Of every criterion asked: its name, "yes", "no" or "unread", and the reason why
            it could not be read or the judge's probability of T, in words.
        mode: The suggested failure mode of a response that failed; empty otherwise.
    """

    system: str
    edit: Markup
    invalid: str
    left_out: int
    verdicts: tuple[tuple[str, str, str], ...]
    mode: str


@dataclass(frozen=True)
class Example:
    """One story in one phrasing.

    Attributes:
        where: Its id, phrasing, domain and graph.
        story: The story as it happened, shortened if very long.
        query: The query as it was asked.
        answer: The representative answer; empty without one.
        criteria: The criteria it has: name and text.
        responses: What the systems wrote.
    """

    where: str
    story: str
    query: str
    answer: str
    criteria: tuple[tuple[str, str], ...]
    responses: tuple[ResponseShown, ...]


def draw_examples(
    items: pd.DataFrame, systems: list[str], *, count: int = 20, rng: np.random.Generator
) -> list[Example]:
    """Draw stories at random, each in a phrasing drawn at random, and show all responses to it.

    Only the first few-shot draw is shown. Nothing is picked by hand or by verdict; a story comes
    again, in another phrasing, only where there are fewer stories than examples.

    Args:
        items: As ``prepare_items`` returns them.
        systems: The systems, in order.
        count: How many examples at most.
        rng: Where randomness comes from.
    """
    first = items[items["draw"].eq(items.groupby("system")["draw"].transform("min"))]
    asked = first.drop_duplicates(["sample_id", "phrasing"])[["sample_id", "phrasing"]]
    asked = asked.sort_values(["sample_id", "phrasing"], kind="stable")
    shuffled = asked.iloc[rng.permutation(len(asked))]
    turn = shuffled.groupby("sample_id").cumcount()
    chosen = shuffled.loc[turn.sort_values(kind="stable").index[:count]]
    parts = dict(list(first.groupby(["sample_id", "phrasing"], sort=False)))
    pairs = zip(chosen["sample_id"], chosen["phrasing"], strict=True)
    return [_example(parts[pair], systems) for pair in pairs]


def invalid_examples(items: pd.DataFrame, *, count: int = 8) -> pd.DataFrame:
    """Return up to ``count`` invalid responses, one for each reason before a second of any.

    Columns: ``system``, ``sample_id``, ``phrasing``, ``invalid_reason``.
    """
    invalid = items[items["valid"].eq(0)]
    nth = invalid.groupby("invalid_reason", dropna=False).cumcount()
    order = nth.sort_values(kind="stable").index[:count]
    return invalid.loc[order, ["system", "sample_id", "phrasing", "invalid_reason"]]


def _example(rows: pd.DataFrame, systems: list[str]) -> Example:
    row = rows.iloc[0]
    place = [str(row["sample_id"]), f"phrasing {row['phrasing']}", str(row["domain"])]
    texts = [("E1", "unchanged"), ("E2", "changed"), ("E4", "numerical"), ("E5", "latent")]
    return Example(
        where=" · ".join([*place, *([str(row["graph"])] if row["graph"] is not None else [])]),
        story=_shortened(str(row["story"])),
        query=_shortened(str(row["query"])),
        answer="" if row["answer"] is None else _shortened(str(row["answer"])),
        criteria=tuple(
            (name, _shortened(str(row[column])))
            for name, column in texts
            if row[column] is not None
        ),
        responses=tuple(
            _response(rows[rows["system"].eq(system)].iloc[0], system)
            for system in systems
            if rows["system"].eq(system).any()
        ),
    )


def _response(row: "pd.Series[Any]", system: str) -> ResponseShown:
    if row["text"] is None:
        why = "no reason kept" if row["invalid_reason"] is None else str(row["invalid_reason"])
        return ResponseShown(system, Markup(""), why, 0, (), "")
    text, left = shorten(str(row["text"]), _TEXT_LIMIT)
    story, _ = shorten(str(row["story"]), _TEXT_LIMIT)
    verdicts: list[tuple[str, str, str]] = []
    for name in CRITERION_NAMES:
        unread, probability = row[f"{name}_invalid"], float(row[f"{name}_probability"])
        if unread is not None:
            verdicts.append((name, "unread", str(unread)))
        elif not np.isnan(row[name]):
            said = "" if np.isnan(probability) else f"probability of T {probability:.2f}"
            verdicts.append((name, "yes" if row[name] == 1 else "no", said))
    mode = row["suggested_failure_mode"]
    named = "" if np.isnan(mode) else f"{int(mode)}. {failure_modes()[int(mode)].name}"
    edit = marked(word_diff(story, text))
    return ResponseShown(system, edit, "", left, tuple(verdicts), named)


def _shortened(text: str) -> str:
    kept, left = shorten(text, _TEXT_LIMIT)
    return f"{kept} …" if left else kept
