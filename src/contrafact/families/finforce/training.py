"""FIN-FORCE in self-rewarding training: its prompts, the reading of replies, its checks.

FIN-FORCE, sections 4 and 5.3 and appendix B.2. The prompt for a pair is that of the zero-shot
method, so that a checkpoint is used like any model; the reply is the JSON object it asks for.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from inspect_ai.model import ModelOutput

from contrafact.families.finforce.data import (
    bundled_headlines,
    bundled_shots,
    load_headlines,
    raw_items,
)
from contrafact.families.finforce.generation import read_pair
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.methods.few_shot import Prompted
from contrafact.families.finforce.records import SIDES, Headline, Side
from contrafact.families.finforce.screen import proposal_by_rule
from contrafact.family.training import Answer, CheckedReply, ReadReply, TrainingItem, TrainingSpec
from contrafact.files.tables import read_rows
from contrafact.judges.replies import answer_text
from contrafact.prompts import PromptPack
from contrafact.records import content_id
from contrafact.text.delimit import delimit
from contrafact.text.diff import normalised_edit_distance
from contrafact.text.parsing import entities_many

# Data


def load_items(path: Path | None) -> list[TrainingItem]:
    if path is None:
        headlines = [*bundled_shots(), *bundled_headlines()]
        lines: dict[str, int] = {}
    else:
        headlines = load_headlines(path)
        lines = {
            _headline_id(item.headline): item.line
            for item in raw_items(path, read_rows(path))
            if isinstance(item.headline, str)
        }
    return [
        TrainingItem(
            headline.id,
            headline.text,
            None if headline.reference is None else {s: headline.reference.side(s) for s in SIDES},
            lines.get(headline.id),
        )
        for headline in headlines
    ]


def _headline_id(text: str) -> str:
    return content_id(text, prefix="h")


# Prompts and replies


class PairPrompts:
    def __init__(self, pack: PromptPack):
        self._pair = Prompted("zero-shot", pack)
        self._headline = pack.template("finforce/training/headline", required={"examples"})
        self._judge = pack.template(
            "finforce/training/judge-pair", required={"headline", "risk", "opportunity"}
        )

    def answer(self, item: str) -> str:
        """Return the prompt for both counterfactuals of a headline (FIN-FORCE, table 8)."""
        return self._pair.prompt(Headline.of(item))

    def new_item(self, examples: Sequence[str]) -> str:
        """Return the prompt for one new headline, from examples (FIN-FORCE, table 12)."""
        return self._headline.render(examples=[*map(delimit, examples)])

    def score(self, item: str, answer: Answer) -> str:
        """Return the prompt for a pair's points, 0 to 10 (FIN-FORCE, table 13)."""
        sides = {side: delimit(answer[side]) for side in SIDES}
        return self._judge.render(headline=delimit(item), **sides)


def pair_reply(headline: str, pair: Answer) -> str:
    answer = {
        "original_headline": delimit(headline),
        **{f"{side}_counterfactual": delimit(pair[side]) for side in SIDES},
    }
    return json.dumps(answer, ensure_ascii=False)


def read_reply(text: str, ended: bool = True) -> ReadReply:
    read = read_pair(
        ModelOutput.from_content("training", text, stop_reason="stop" if ended else "max_tokens")
    )
    invalid = "; ".join(dict.fromkeys(read.invalid.values())) or None
    return ReadReply({side: read.texts[side] for side in SIDES}, invalid, read.repairs)


_LONGEST = 250
_FEWEST_WORDS = 4
_WRAPS = re.compile(r"^</?example>|</?example>$|^[\"“'‘`*#\-•\s]+|(?<![\"”'’`*\s])[\"”'’`*\s]+$")
_LABEL = re.compile(
    r"^(?:new\s+)?(?:headline|title|news|answer)\s*(?:\d+\s*)?[:.]\s*", re.IGNORECASE
)


def read_headline(text: str, ended: bool = True) -> tuple[str, str | None]:
    """Return the headline in a reply's first line, and why it is not usable, or None if it is."""
    answer = answer_text(text)
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    if not lines:
        return "", answer.invalid
    headline = lines[0]
    for _ in range(3):
        headline = _LABEL.sub("", _WRAPS.sub("", headline)).strip()
    if not ended and len(lines) == 1:
        return headline, "cut off at the token limit"
    words = headline.split()
    if len(words) < _FEWEST_WORDS:
        return headline, f"under {_FEWEST_WORDS} words"
    if len(headline) > _LONGEST:
        return headline, f"over {_LONGEST} characters"
    if delimit(headline) != headline:
        return headline, "holds a tag or invisible characters"
    if _repeats([word.casefold() for word in words]):
        return headline, "says the same words twice"
    ruled = proposal_by_rule(headline)
    if ruled is not None and ruled.market_event is False:
        return headline, f"not a market event: {ruled.why}"
    return headline, None


def _repeats(words: Sequence[str]) -> bool:
    threes = list(zip(words, words[1:], words[2:], strict=False))
    return len(set(threes)) < len(threes)


# Checks without a model

KINDS = ("subject", "edit", "forward", "form")
"""The kinds of points for each side, in the order of the paper's scale (FIN-FORCE, table 13)."""

_HIGHEST = float(len(SIDES) * len(KINDS))
_NAMES = {"ORG", "GPE", "PERSON", "NORP", "LOC", "PRODUCT", "FAC", "EVENT", "LAW"}
_NEAR, _FAR = 0.35, 0.95  # edit distances: a full point up to the first, none from the second
_NEW_WORDS = 3
_WORDS = (4, 45)
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SIDE_LABEL = re.compile(r"^\W*(?:risk|opportunity)\w*(?:\s+\w+)?\s*:", re.IGNORECASE)
_CONTENT_LETTERS = 4  # the fewest letters of a word that carries a headline's subject


def check_pairs(headlines: Sequence[str], replies: Sequence[ReadReply]) -> list[CheckedReply]:
    """Return the points of each reply, 0 to 8, by checks that need no model.

    Each side can get four points, as in the paper's scale (FIN-FORCE, table 13): subject, minimal
    edit, a step forward, form. There is no point for direction or realism, which words do not
    show. Points may be fractions, so that candidates rarely tie. A reply that needs repairs to be
    read loses a point; a reply that cannot be read gets none.
    """
    pairs = [reply.answer for reply in replies]
    once = list(dict.fromkeys(headlines))
    names = {
        text: [entity.text.casefold() for entity in entities if entity.label in _NAMES]
        for text, entities in zip(once, entities_many(once), strict=True)
    }
    checked = []
    for headline, reply, pair in zip(headlines, replies, pairs, strict=True):
        if pair is None:
            checked.append(CheckedReply(0.0))
            continue
        distances = {side: normalised_edit_distance(headline, pair[side]) for side in SIDES}
        same = _words(pair["risk"]) == _words(pair["opportunity"])
        sides: dict[Side, dict[str, float]] = {}
        for side in SIDES:
            sides[side] = {
                "subject": _subject_kept(headline, pair[side], names[headline]),
                "edit": min(1.0, max(0.0, (_FAR - distances[side]) / (_FAR - _NEAR))),
                "forward": float(not same and _adds(headline, pair[side])),
                "form": float(_is_one_headline(pair[side])),
            }
        total = sum(sum(points.values()) for points in sides.values()) - bool(reply.repairs)
        values = {kind: float(np.mean([sides[side][kind] for side in SIDES])) for kind in KINDS}
        values["edit_distance"] = float(np.mean(list(distances.values())))
        checked.append(CheckedReply(min(_HIGHEST, max(0.0, total)), values))
    return checked


def _subject_kept(headline: str, text: str, names: Sequence[str]) -> float:
    """Return the share of the headline's names that the text has; without names, of its words."""
    folded = text.casefold()
    if names:
        return sum(name in folded for name in names) / len(names)
    content = {word for word in _words(headline) if len(word) >= _CONTENT_LETTERS}
    return len(content & set(_words(text))) / len(content) if content else 1.0


def _adds(headline: str, text: str) -> bool:
    new = set(_words(text)) - set(_words(headline))
    numbers = set(_NUMBER.findall(text)) - set(_NUMBER.findall(headline))
    return len(new) >= _NEW_WORDS and not numbers


def _is_one_headline(text: str) -> bool:
    """Return whether a text has a headline's form: no label, no list, nothing repeated."""
    words = _words(text)
    return (
        _WORDS[0] <= len(words) <= _WORDS[1]
        and not _SIDE_LABEL.search(text)
        and not any(sign in text for sign in "{}[]<>|")
        and not _repeats(words)
    )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


TRAINING = TrainingSpec(
    item="headline",
    items="headlines",
    answer="both counterfactuals",
    presets=Path(__file__).parent / "training_presets",
    load=load_items,
    row=lambda headline, pair: {
        "headline": headline,
        **{f"{side}_counterfactual": pair[side] for side in SIDES},
    },
    item_id=_headline_id,
    prompts=PairPrompts,
    reply=pair_reply,
    read=read_reply,
    read_item=read_headline,
    check=check_pairs,
    measures=("subject", "edit_distance"),
    methods=METHODS,
    method_input=Headline.of,
    method_answer=lambda made: ReadReply({side: made.texts[side] for side in SIDES}).answer,
)
"""The family's functions and settings for training."""
