"""What a verifier of edits learns from: stories' criteria, and lessons that lead up to them.

CoBe, section 3.2. Every answer of a story with known answers is an item of the criteria that its
story asks (`contrafact.families.cobe.synth.crossing`: each text is right for one story and wrong
for another). The lessons ask simpler things of clauses whose values the proof's wordings tell:

===========  =====================================================================
lesson       asked of a text
===========  =====================================================================
``quoted``   whether a clause stands among others word for word, or its opposite
``trouble``  whether one sentence tells of trouble, or that all is well; drawn stories only
``clause``   whether one sentence states the same as another, in other words
``among``    whether a clause stands among a few others in other words, or its opposite
``stated``   whether a clause is stated among others
``denied``   whether the opposite of a clause is stated
``all``      whether all of some clauses are stated
``none``     whether the opposite of each of some clauses is stated
===========  =====================================================================
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from contrafact.families.cobe.data import KnownStory, known_story, load_known
from contrafact.families.cobe.items import CRITERION_NAMES
from contrafact.families.cobe.synth.compose import CANARY, compose
from contrafact.families.cobe.synth.leak import item_of
from contrafact.families.cobe.synth.prove import Reader
from contrafact.family.learning import LearningSpec
from contrafact.judges.surface import LeakItem
from contrafact.judges.verifier import Subject

__all__ = ["LEARNING", "LESSONS", "lesson_items", "question"]

LESSONS = ("quoted", "trouble", "clause", "among", "stated", "denied", "all", "none")
_MOST_CLAUSES = 4
_OWN_SEEDS = 1_000_003
"""Added to a training's seed, so that it draws none of the stories of an exam of the same seed."""
_ASKED = {
    "quoted": "It states this: {text}",
    "trouble": "It tells of trouble.",
    "clause": "It states this: {text}",
    "among": "It states this: {text}",
    "stated": "It states this: {text}",
    "denied": "It states the opposite of this: {text}",
    "all": "It states all of this: {text}",
    "none": "It states the opposite of each of these: {text}",
    "E1": "It states all of this: {text}",
    "E2": "It states the opposite of each of these: {text}",
    "E3": "Its connectors join only what hangs together here: {text}",
    "E4": "It has this change: {text}",
    "E5": "It does not deny this: {text}",
}


def question(criterion: str, item: LeakItem) -> str:
    """Return what is asked; connectors are asked about with the story, which says what follows."""
    text = " ".join(item.about) if criterion == "E3" else item.asked[criterion]
    return _ASKED[criterion].format(text=text)


def lesson_items(known: KnownStory, rng: Random) -> Iterator[LeakItem]:
    """Yield the lessons that the known answers of a story hold, as many that hold as do not.

    A story without the wordings of a proof holds none.

    Args:
        known: The story.
        rng: Draws clauses and wordings.
    """
    proof = known.story.proof or {}
    if "wordings" not in proof:
        return
    forms: Mapping[str, Any] = proof["wordings"]
    told = [name for name in proof["told"] if "amounts" not in forms[name]]
    if not told:
        return
    reader = Reader(forms)

    def clause(name: str, value: bool, *, but: str = "") -> str:
        every = forms[name][str(value).lower()]["clauses"]
        chosen = rng.choice([one for one in every if one != but] or every)
        return f"{chosen[0].upper()}{chosen[1:]}."

    def bare(sentence: str) -> str:
        return sentence[0].lower() + sentence[1:-1]

    def made(text: str, lesson: str, asked: str, holds: bool) -> LeakItem:
        item = item_of(known.story, text, {lesson: holds})
        # What it is about is the clauses alone: a lesson is asked without a story.
        return replace(item, about=(asked, ""), asked={lesson: asked})

    for name in told:
        value = rng.random() < 0.5
        asked = clause(name, value)
        for holds in (True, False):
            other = clause(name, value is holds, but=bare(asked))
            if other != asked:
                yield made(other, "clause", asked, holds)
            # Of stories by others nobody knows whether what is true in them is trouble.
            if proof.get("canary") == CANARY:
                yield made(clause(name, holds), "trouble", "", holds)
        others = rng.sample(told, min(len(told), rng.randint(1, 3)))
        for lesson in ("quoted", "among"):
            for holds in (True, False):
                parts = [clause(one, rng.random() < 0.5) for one in others if one != name]
                same = asked if lesson == "quoted" else clause(name, value, but=bare(asked))
                parts.insert(rng.randint(0, len(parts)), same if holds else clause(name, not value))
                yield made(" ".join(parts), lesson, asked, holds)
    # The lessons after these are of the known answers, all the clauses of which stand around.
    for answer in (*known.right, *known.wrong):
        stated = {
            name: next(iter(values))
            for name, values in reader.read(answer.text).values.items()
            if name in told and len(values) == 1 and None not in values
        }
        if not stated:
            continue
        for lesson in LESSONS[4:]:
            count = 1
            if lesson in ("all", "none"):
                count = rng.randint(min(2, len(stated)), min(_MOST_CLAUSES, len(stated)))
            names = rng.sample(sorted(stated), count)
            holds = rng.random() < 0.5
            turned = names[: 0 if holds else rng.randint(1, max(1, count // 2))]
            wanted = lesson in ("stated", "all")
            rng.shuffle(names)
            parts = [
                clause(name, bool(stated[name]) is (wanted is (name not in turned)))
                for name in names
            ]
            yield made(answer.text, lesson, " ".join(parts), holds)


def _items(count: int, seed: int, data: Path | None) -> list[LeakItem]:
    rng = Random(seed)
    stories: Iterator[KnownStory] = (
        map(known_story, compose(count, _OWN_SEEDS + seed))
        if data is None
        else islice(load_known(data), count)
    )
    found: list[LeakItem] = []
    for known in stories:
        for answer in (*known.right, *known.wrong):
            found.append(item_of(known.story, answer.text, known.verdicts(answer)))
        found += lesson_items(known, rng)
    return found


def _subject(subject: Subject) -> LeakItem | None:
    criteria: Mapping[str, str] | None = subject.get("criteria")
    if criteria is None:
        return None
    queries: Sequence[str] = subject["queries"]
    return LeakItem(
        text=subject["response"],
        about=(subject["text"], queries[0] if queries else ""),
        asked=criteria,
        verdicts={},
        block="",
        groups={},
    )


LEARNING = LearningSpec(
    criteria=CRITERION_NAMES,
    lessons=LESSONS,
    items=_items,
    question=question,
    subject=_subject,
)
