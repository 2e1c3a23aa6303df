"""Items with known verdicts for an exam of FIN-FORCE's judge, of our own writing.

``exam_items.jsonl`` holds 20 events (two of each category of table 1), each with two parties. Each
event makes two headlines: it happens to one party and not to the other, and the other way round.
Risk and opportunity counterfactuals, in two wordings each, name their party and its event.
So, by the guidelines of appendix A.7 and by construction:

================  =====================  ==============  ==========================================
kind              forward compatibility  directionality  made of
================  =====================  ==============  ==========================================
``pass``          true                   true            a text on the party of the event
``denied``        false                  not asked       the same on the other party
``wrong-side``    not asked              false           a text that passes or turns, asked of the
                                                         other side
``restated``      not asked              false           the second wording after a headline that
                                                         says it already, in the first
``turned``        not asked              true            the second wording after a headline that
                                                         says what the other side does, in the first
``vague``         not asked              false           a text that shows no turn at all
================  =====================  ==============  ==========================================

Every text but the vague ones is right on some items and wrong on others, the headlines of an event
have the same words, and the items of short and of long headlines pass equally often, so that no
surface feature tells a verdict. A criterion is asked only if its verdict is certain.

``exam_hard.jsonl`` holds the items of ``--level hard``, each with the reason for its verdict, which
no judge is shown: a text is right beside one headline (or on one side) and wrong beside another, or
two texts of nearly the same words differ in the verdict.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.families.finforce.records import CRITERIA, SIDES, Headline, Side
from contrafact.family.exam import Examiner, ExamItem, ExamSpec, draw_crossed
from contrafact.family.settings import LevelOptions, StructuredOptions
from contrafact.records import content_id
from contrafact.text.delimit import delimit

if TYPE_CHECKING:
    from contrafact.judges.surface import LeakItem
    from contrafact.prompts import PromptPack

_FORWARD, _DIRECTION = CRITERIA


@cache
def finforce_items() -> tuple[ExamItem, ...]:
    """Return all items, in the table's order of kinds: 160, 160, 240, 80, 80 and 20."""
    items: list[ExamItem] = []
    for event, row in enumerate(_rows("exam_items.jsonl")):
        items += _crossed(row, reverse=event % 2 == 1)
    return tuple(items)


@cache
def hard_items() -> tuple[ExamItem, ...]:
    return tuple(
        ExamItem(
            id=content_id(row["headline"], row["kind"], row["side"], row["text"], prefix="x"),
            cluster=f"hard-{row['event']}",
            kind=f"hard, {row['kind']}",
            about=row["headline"],
            text=row["text"],
            known={row["criterion"]: row["known"]},
            facts={"side": row["side"]},
            material=Headline.of(row["headline"], category=row["category"]),
            # Two texts beside one headline are a pair as well as one text beside two.
            pair=f"hard-{row['event']}",
        )
        for row in _rows("exam_hard.jsonl")
    )


def _rows(name: str) -> list[dict[str, Any]]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _items(options: LevelOptions, n: int | None, seed: int) -> Sequence[ExamItem]:
    return draw_crossed(hard_items() if options.level == "hard" else finforce_items(), n, seed)


def _crossed(row: Mapping[str, Any], *, reverse: bool) -> list[ExamItem]:
    """Return the items of one event; ``reverse`` puts the denial first in its headlines."""
    parties = row["parties"]

    def headline(text: str, other: str) -> Headline:
        parts = [text, row["denial"].format(x=other)]
        joined = ", while ".join(reversed(parts) if reverse else parts)
        return Headline.of(f"{joined[0].upper()}{joined[1:]}", category=row["category"])

    def item(about: Headline, kind: str, side: Side, text: str, **known: bool) -> ExamItem:
        return ExamItem(
            id=content_id(about.text, kind, side, text, prefix="x"),
            cluster=content_id(row["event"], *parties, prefix="h"),
            kind=kind,
            about=about.text,
            text=f"{text[0].upper()}{text[1:]}",
            known=known,
            facts={"side": side},
            material=about,
        )

    items: list[ExamItem] = []
    for party, other in (parties, reversed(parties)):
        met = headline(row["event"].format(x=party), other)
        for side, opposite in zip(SIDES, reversed(SIDES), strict=True):
            first, again = (text.format(x=party) for text in row[side])
            turn = row[opposite][1].format(x=party)
            for text in (first, again):
                denied = headline(row["event"].format(x=other), party)
                items += [
                    item(met, "pass", side, text, **{_FORWARD: True, _DIRECTION: True}),
                    item(denied, "denied", side, text, **{_FORWARD: False}),
                    item(met, "wrong-side", opposite, text, **{_DIRECTION: False}),
                ]
            restated = headline(f"{first[0].lower()}{first[1:]}" if reverse else first, other)
            items += [
                item(restated, "restated", side, again, **{_DIRECTION: False}),
                item(restated, "turned", opposite, turn, **{_DIRECTION: True}),
                item(restated, "wrong-side", side, turn, **{_DIRECTION: False}),
            ]
    party = parties[reverse]
    about = headline(row["event"].format(x=party), parties[1 - reverse])
    vague = row["vague"].format(x=party)
    items.append(item(about, "vague", SIDES[reverse], vague, **{_DIRECTION: False}))
    return items


def examiner(pack: "PromptPack", options: StructuredOptions) -> Examiner:
    """Return an examiner that asks as `contrafact.families.finforce.judging.Judging` does."""
    from contrafact.families.finforce.judging import Judging, criteria_of
    from contrafact.judges.rubric import true_or_false

    judging = Judging(pack, structured=options.structured)

    def prompts(item: ExamItem) -> Mapping[str, str]:
        side: Side = "opportunity" if item.facts["side"] == "opportunity" else "risk"
        names = [criterion.name for criterion in criteria_of(side)]
        asked = dict(zip(names, judging.prompts(item.material, side, item.text), strict=True))
        return {name: asked[name] for name in item.known}

    def shown(item: ExamItem) -> Sequence[str]:
        return delimit(item.about), delimit(item.text)

    return Examiner(prompts, shown, true_or_false(structured=options.structured))


def surface_items(items: Sequence[ExamItem]) -> "list[LeakItem]":
    """Return items for testing whether surface features of text and headline give verdicts away."""
    from contrafact.judges.surface import LeakItem

    return [
        LeakItem(
            text=item.text,
            about=(item.about, item.facts["side"]),
            asked=dict.fromkeys(CRITERIA, item.facts["side"]),
            verdicts=item.known,
            block=item.cluster,
            groups={"event": item.cluster},
        )
        for item in items
    ]


EXAM = ExamSpec(
    task="finforce",
    criteria={name: name for name in CRITERIA},
    items=_items,
    examiner=examiner,
    options=LevelOptions,
    surface=surface_items,
    surface_reader="reads no headline",
)
