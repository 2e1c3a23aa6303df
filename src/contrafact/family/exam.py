"""A family's exam: items whose verdicts are known, and how a judge is asked about them."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from contrafact.family.settings import TaskOptions
from contrafact.judges.verifier import Subject

if TYPE_CHECKING:
    from inspect_ai.model import Model

    from contrafact.family import Lazy
    from contrafact.judges.replies import Reading
    from contrafact.judges.rubric import Ask
    from contrafact.judges.surface import LeakItem
    from contrafact.prompts import PromptPack
    from contrafact.records import Verdict

__all__ = ["RESPONSE", "ExamItem", "ExamSpec", "Examiner", "RecordedExam"]
__all__ += ["draw_crossed", "draw_items", "draw_needed"]

RESPONSE = "response"
"""The name of the verdict on a whole response, used beside the criteria's names."""

AskTogether = Callable[["Model", "ExamItem", str], Awaitable[Mapping[str, "Verdict"]]]
"""Asks one judge about all criteria of an item with one prompt."""


@dataclass(frozen=True)
class ExamItem:
    """A text and the verdicts that a judge should give on it.

    Attributes:
        id: Equal for equal items.
        cluster: What similar items share: a headline, story or review.
        kind: How the item was made, such as ``contradiction``.
        about: The text that the item is about: the headline, the story, the review.
        known: The verdicts that are certain, by criterion.
        whole: Whether the text as a whole is right; None if the family has no such verdict.
        reference: A text with which leak tests compare its surface features.
        facts: Further columns of the file of items.
        material: What the family's prompts are made from, besides the text.
        pair: The key shared by items that are drawn as a pair, if not the text.
    """

    id: str
    cluster: str
    kind: str
    about: str
    text: str
    known: Mapping[str, bool]
    whole: bool | None = None
    reference: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    material: Any = None
    pair: str = ""

    @property
    def should_pass(self) -> bool:
        """Whether the item should pass: as a whole or, if unknown, on all known criteria."""
        return self.whole if self.whole is not None else all(self.known.values())


@dataclass(frozen=True)
class Examiner:
    """How a family asks a judge, exactly as in its runs.

    Attributes:
        prompts: Returns the prompt for each criterion of an item whose verdict is known; with
            ``together``, a single prompt under any name.
        shown: Returns the texts to judge, as they stand in the prompts.
        subject: Returns the data about an item that a verifier receives.
        together: Asks a judge about all criteria of an item in one call, instead of ``ask``.
        settings: Further settings of how a judge is asked, for the exam's file.
    """

    prompts: Callable[[ExamItem], Mapping[str, str]]
    shown: Callable[[ExamItem], Sequence[str]]
    ask: "Ask[Any] | None" = None
    subject: Callable[[ExamItem], Subject] | None = None
    together: AskTogether | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedExam:
    """An exam on one criterion by recorded replies, and a ``sample`` whose rate it corrects.

    ``templates`` are the answered ones with their hashes; ``replies`` are by judge and by the hash
    of the prompt (`JudgeCall.prompt_hash`), and ``read`` reads them as the examiner does.
    """

    criterion: str
    question: str
    items: "Sequence[ExamItem]"
    sample: "Sequence[ExamItem]"
    templates: Mapping[str, str]
    replies: Mapping[str, Mapping[str, str]]
    read: "Callable[[str, Sequence[str]], Reading[bool]]"


@dataclass(frozen=True)
class ExamSpec:
    """A family's exam.

    Attributes:
        task: The task whose judge is examined; its version is kept with the result.
        criteria: The judged columns of the task's per-item table, and their names in the exam.
        items: Returns the items, drawn by `draw_items`, given the options, their number (or None)
            and the seed of the draw.
        options: The exam's own options. An option that is a path names a file of items.
        surface: Returns the items for classifiers that see only surface features; their figures
            are shown beside the judge's.
        surface_reader: How a heading describes such a classifier: "reads no story".
        overall: Criteria that are verdicts on a whole kind of item. Each is made of the criteria
            whose names begin with it: ``flipping`` of ``flipping:reversed`` and others. The exam
            says for each whether the judge may be trusted with it.
        recorded: Returns an exam by recorded replies, which the demo shows.
    """

    task: str
    criteria: Mapping[str, str]
    items: Callable[[Any, int | None, int], Sequence[ExamItem]]
    examiner: Callable[["PromptPack", Any], Examiner]
    options: type[TaskOptions] = TaskOptions
    surface: Callable[[Sequence[ExamItem]], "Sequence[LeakItem]"] | None = None
    surface_reader: str = "reads nothing"
    overall: Sequence[str] = ()
    recorded: "Lazy[Callable[[], RecordedExam]] | None" = None


def draw_items(items: Sequence[ExamItem], n: int | None, seed: int) -> list[ExamItem]:
    """Return ``n`` items drawn at random, half of which should pass, evenly over kinds.

    If a kind has too few, the other kinds of its half fill the gap; if a half has too few, the
    other half does. The order of the items is kept; all are returned if ``n`` is None.
    """
    import numpy as np

    if n is None or n >= len(items):
        return list(items)
    rng = np.random.default_rng([seed, 0])
    halves: list[list[int]] = []
    for passing in (True, False):
        kinds: dict[str, list[int]] = {}
        for number, item in enumerate(items):
            if item.should_pass is passing:
                kinds.setdefault(item.kind, []).append(number)
        shuffled = [rng.permutation(kinds[kind]).tolist() for kind in sorted(kinds)]
        # One of each kind, then another of each, and so on.
        turns = zip_longest(*shuffled)
        halves.append([number for turn in turns for number in turn if number is not None])
    passes, fails = halves
    first = max(n - n // 2, n - len(fails))
    chosen = passes[:first]
    chosen += fails[: n - len(chosen)]
    return [items[number] for number in sorted(chosen)]


def draw_crossed(items: Sequence[ExamItem], n: int | None, seed: int) -> list[ExamItem]:
    """Return items drawn in pairs of the same text (or `ExamItem.pair`), one of which passes.

    So the text alone does not reveal the verdict. Pairs come first that bring each criterion to
    `MIN_EXAM` items of either verdict; then of the items that should fail, those that fail criteria
    with few failures so far. `draw_items` draws what pairs cannot supply.
    """
    import numpy as np

    from contrafact.stats.correction import MIN_EXAM

    if n is None or n >= len(items):
        return list(items)
    texts: dict[str, tuple[list[int], list[int]]] = {}
    for place, item in enumerate(items):
        texts.setdefault(item.pair or item.text, ([], []))[item.should_pass].append(place)
    crossed = [sides for sides in texts.values() if all(sides)]
    rng = np.random.default_rng([seed, 0])
    drawn: Counter[tuple[str, bool]] = Counter()
    chosen: list[int] = []

    def lacking(place: int) -> int:
        return sum(drawn[verdict] < MIN_EXAM for verdict in items[place].known.items())

    def needed(turn: int) -> int:
        return sum(max(map(lacking, side)) for side in crossed[turn])

    def seen(place: int) -> float:
        own = [drawn[name, False] for name, known in items[place].known.items() if not known]
        return sum(own) / len(own)

    turns = rng.permutation(len(crossed)).tolist()
    while turns and len(chosen) + 1 < n:
        turn = max(turns, key=needed)  # the first of equals, so at random
        turns.remove(turn)
        wrong, right = (rng.permutation(side).tolist() for side in crossed[turn])
        pair = max(right, key=lacking), min(wrong, key=lambda place: (-lacking(place), seen(place)))
        for place in pair:
            drawn.update(items[place].known.items())
        chosen += pair
    return _filled(items, chosen, n, seed)


def draw_needed(items: Sequence[ExamItem], n: int | None, seed: int) -> list[ExamItem]:
    """Return ``n`` items, those first that criteria need for `MIN_EXAM` items of either verdict.

    Items that should fail and that should pass take turns, as long as both are needed; `draw_items`
    draws the rest. A criterion of which all items have the same verdict needs none.
    """
    import numpy as np

    from contrafact.stats.correction import MIN_EXAM

    if n is None or n >= len(items):
        return list(items)
    known = {verdict for item in items for verdict in item.known.items()}
    drawn: Counter[tuple[str, bool]] = Counter(
        {(name, verdict): MIN_EXAM for name, verdict in known if (name, not verdict) not in known}
    )
    order = np.random.default_rng([seed, 0]).permutation(len(items)).tolist()
    sides = [
        [place for place in order if items[place].should_pass is side] for side in (False, True)
    ]
    chosen: list[int] = []

    def lacking(place: int) -> tuple[int, int]:
        short = [MIN_EXAM - drawn[verdict] for verdict in items[place].known.items()]
        return max(0, *short), sum(count for count in short if count > 0)

    while any(sides) and len(chosen) < n:
        side = sides.pop(0)
        place = max(side, key=lacking, default=None)  # the first of equals, so at random
        if place is not None and any(lacking(place)):
            side.remove(place)
            chosen.append(place)
            drawn.update(items[place].known.items())
            sides.append(side)
    return _filled(items, chosen, n, seed)


def _filled(items: Sequence[ExamItem], chosen: Sequence[int], n: int, seed: int) -> list[ExamItem]:
    """Return the chosen items, in order, with those that `draw_items` draws to make ``n``."""
    taken = set(chosen)
    left = [item for place, item in enumerate(items) if place not in taken]
    more = draw_items(left, n - len(chosen), seed) if len(chosen) < n else []
    ids = {items[place].id for place in chosen} | {item.id for item in more}
    return [item for item in items if item.id in ids]
