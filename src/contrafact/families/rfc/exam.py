"""The exam's rewritten pairs with known verdicts: crossed pairs, labelled pairs and controls.

``exam_items.jsonl`` holds frames: short reports on invented companies, with slots that can say one
thing or its contrary, each in two wordings. Originals use the first wording, rewrites the second,
so that unchanged content is reworded as much as changed content, and the words that a rewrite
repeats from its original tell nothing. Within a frame, rewrites are paired with several originals;
``docs/exam.md`` says how each pair is made, and why its faults are beyond doubt.

So a rewrite is right for one original and wrong for another, or, if it contradicts itself, each of
its halves is as often part of a right rewrite. `exam_labelled.jsonl` names bundled pairs with
labels and, for faulty pairs, the criteria that they fail; a criterion is asked only if its verdict
is certain. Controls (a changed figure or name, a copy) are faults that facts find: verdicts on them
are reported apart, as ``KIND:control``, as are numerical pairs, which facts decide.

``exam_hard.jsonl`` holds the pairs of ``--level hard``, each with the reason for its verdicts,
which no judge is shown: as many pairs of a kind are sound as faulty, and they share their texts.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.family.exam import Examiner, ExamItem, ExamSpec, draw_needed
from contrafact.family.settings import LevelOptions, StructuredOptions
from contrafact.records import Verdict, content_id
from contrafact.text.delimit import delimit

if TYPE_CHECKING:
    from inspect_ai.model import Model

    from contrafact.judges.surface import LeakItem
    from contrafact.prompts import PromptPack

WHOLES: tuple[Manipulation, ...] = ("flipping", "sentiment", "causal")
"""The manipulations whose meaning a judge decides."""

CONTROL = "control"
"""The name for faults that facts find, as in ``flipping:control``: a judge should fail them."""

_HERE = Path(__file__)
_ORIGINAL, _REWRITE = 0, 1
_CONTROLS = ("figure or name", "copy")
_BOTH_WAYS = (0, 3)
"""Which of a frame's six causal originals also occur with the parties swapped."""


class _Pair(NamedTuple):
    original: str
    rewritten: str


@cache
def rfc_items() -> tuple[ExamItem, ...]:
    return (*crossed_items(), *labelled_items())


@cache
def hard_items() -> tuple[ExamItem, ...]:
    return tuple(
        _item(
            row["manipulation"],
            f"hard, {row['made']}",
            f"hard-{row['frame']}",
            _Pair(row["original"], row["rewritten"]),
            row["known"],
        )
        for row in _rows(_HERE.with_name("exam_hard.jsonl"))
    )


# Crossed items


@cache
def crossed_items() -> tuple[ExamItem, ...]:
    making = {"flipping": _flips, "sentiment": _tones, "causal": _causes}
    found: list[ExamItem] = []
    for place, frame in enumerate(_rows(_HERE.with_name("exam_items.jsonl"))):
        found += making[frame["kind"]](frame, f"x{place}", place % 2 == 1)
    return tuple(found)


def _flips(frame: Mapping[str, Any], cluster: str, reverse: bool) -> Iterator[ExamItem]:
    """Yield a flipping frame's items; signs are the directions of its slots h, s and t."""

    def text(signs: str, event: int, wording: int) -> str:
        ways = {
            name: "up" if sign == "+" else "down" for name, sign in zip("hst", signs, strict=True)
        }
        words = {name: frame["slots"][name][way][wording] for name, way in ways.items()}
        return str(frame["text"]).format(**words, e=frame["events"][event][wording])

    def pair(before: str, after: str, event: int, new: int | None = None) -> _Pair:
        if reverse:
            before, after = (one.translate(str.maketrans("+-", "-+")) for one in (before, after))
        other = event if new is None else new
        return _Pair(text(before, event, _ORIGINAL), text(after, other, _REWRITE))

    right = {"reversed": True, "coherent": True, "nothing_added": True}
    for before, after, event in (
        ("+++", "---", 0),
        ("++-", "--+", 0),
        ("+++", "---", 1),
        ("---", "+++", 1),
    ):
        yield _item("flipping", "sound", cluster, pair(before, after, event), right)
    for before, after in (("+++", "--+"), ("++-", "---")):
        known = right | {"reversed": False}
        yield _item("flipping", "unturned", cluster, pair(before, after, 0), known)
    for before, after, event in (("+++", "-+-", 0), ("---", "+-+", 1)):
        known = {"reversed": False, "coherent": False}
        yield _item("flipping", "contradiction", cluster, pair(before, after, event), known)
    for event in (0, 1):
        known = right | {"nothing_added": False}
        added = pair("+++", "---", event, 1 - event)
        yield _item("flipping", "event added", cluster, added, known)


def _tones(frame: Mapping[str, Any], cluster: str, reverse: bool) -> Iterator[ExamItem]:
    """Yield a sentiment frame's items; of three degrees of tone, rewrites have the middle one."""
    mild, middle, extreme = range(3)

    def text(way: str, degree: int, event: int, wording: int) -> str:
        words = {name: ways[way][degree] for name, ways in frame["slots"].items()}
        return str(frame["text"]).format(**words, e=frame["events"][event][wording])

    def pair(way: str, degree: int, event: int, way2: str = "", new: int | None = None) -> _Pair:
        after = text(way2 or way, middle, event if new is None else new, _REWRITE)
        return _Pair(text(way, degree, event, _ORIGINAL), after)

    good, bad = ("bad", "good") if reverse else ("good", "bad")
    right = {"stronger": True, "same_direction": True, "nothing_added": True}
    for way in (good, bad):
        for event in (0, 1):
            yield _item("sentiment", "sound", cluster, pair(way, mild, event), right)
    for way, event in ((good, 0), (bad, 1)):
        known = right | {"stronger": False}
        yield _item("sentiment", "weaker", cluster, pair(way, extreme, event), known)
    for way, other, event in ((good, bad, 0), (bad, good, 1)):
        turned = pair(way, mild, event, other)
        yield _item("sentiment", "turned", cluster, turned, {"same_direction": False})
    for way, event in ((good, 1), (bad, 0)):
        known = right | {"nothing_added": False}
        added = pair(way, mild, event, new=1 - event)
        yield _item("sentiment", "fact added", cluster, added, known)


def _causes(frame: Mapping[str, Any], cluster: str, reverse: bool) -> Iterator[ExamItem]:
    """Yield the items of a causal frame: three causes, of which a text denies one."""
    parties = frame["parties"]

    def text(cause: int, denied: int, turned: bool, wording: int) -> str:
        first, second = reversed(parties) if turned else parties
        effect = frame["effect"][wording].format(a=first, b=second)
        effect = f"{effect[0].upper()}{effect[1:]} because of {frame['causes'][cause][wording]}"
        effect += ", traders said"
        return f"{frame['head']}. {effect}. {frame['denials'][denied]}."

    def pair(cause: int, new: int, denied: int, turned: bool, after: bool | None = None) -> _Pair:
        other = turned if after is None else after
        return _Pair(text(cause, denied, turned, _ORIGINAL), text(new, denied, other, _REWRITE))

    right = {"cause_changed": True, "effect_kept": True, "coherent": True}
    for place, (cause, denied) in enumerate(permutations(range(3), 2)):
        turned = (denied == 1) != reverse  # the same for both texts that deny this cause
        third = 3 - cause - denied
        yield _item("causal", "sound", cluster, pair(cause, third, denied, turned), right)
        same = pair(cause, cause, denied, turned)
        yield _item("causal", "same cause", cluster, same, right | {"cause_changed": False})
        contrary = pair(cause, denied, denied, turned)
        known = {"effect_kept": True, "coherent": False}
        yield _item("causal", "denied cause", cluster, contrary, known)
        if place not in _BOTH_WAYS:
            continue
        other = pair(cause, third, denied, not turned)
        yield _item("causal", "sound", cluster, other, right)
        for before in (turned, not turned):
            changed = pair(cause, third, denied, before, not before)
            known = {"effect_kept": False, "coherent": True}
            yield _item("causal", "effect changed", cluster, changed, known)


def _item(
    kind: Manipulation, made: str, cluster: str, pair: _Pair, known: Mapping[str, bool]
) -> ExamItem:
    """Return an exam item; its verdict on the whole is true if all ``known`` criteria are."""
    verdicts = {f"{kind}:{name}": value for name, value in known.items()}
    if CONTROL not in known:
        verdicts[kind] = all(known.values())
    whole = verdicts.get(kind) if kind in WHOLES else None
    return ExamItem(
        id=content_id(kind, *pair, prefix="x"),
        cluster=cluster,
        kind=f"{kind}: {made}",
        about=pair.original,
        text=pair.rewritten,
        known=verdicts,
        whole=whole,
        facts={"manipulation": kind},
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# Labelled pairs, and what facts find


@cache
def labelled_items() -> tuple[ExamItem, ...]:
    """Return the labelled pairs, then controls: faults that facts find, and copies."""
    samples = _HERE.parent / "samples"
    pairs = {
        row["id"]: row
        for path in sorted(samples.glob("contract_pairs_*.jsonl"))
        for row in _rows(path)
    }
    found = []
    for row in _rows(_HERE.with_name("exam_labelled.jsonl")):
        own = pairs[row["id"]]
        kind, made = own["manipulation"], row["made"]
        pair = _Pair(own["original"], own["original" if made == "copy" else "rewritten"])
        known = dict.fromkeys(row["true"], True) | dict.fromkeys(row["false"], False)
        if made in _CONTROLS:
            known = {CONTROL: False}
        cluster = content_id(pair.original, prefix="p")
        found.append(_item(kind, f"labelled, {made}", cluster, pair, known))
    return tuple(found)


# The judge's side


def examiner(pack: "PromptPack", options: StructuredOptions) -> Examiner:
    """Return an examiner that asks judges as `contrafact.families.rfc.judging.Judging` does."""
    from contrafact.families.rfc.judging import CRITERIA, Judging

    judging = Judging(pack, structured=options.structured)

    def prompts(item: ExamItem) -> Mapping[str, str]:
        kind = _kind(item)
        ((_, prompt),) = judging.prompts(kind, item.about, item.text)
        return {kind: prompt}

    def shown(item: ExamItem) -> Sequence[str]:
        return delimit(item.about), delimit(item.text)

    async def together(judge: "Model", item: ExamItem, prompt: str) -> Mapping[str, Verdict]:
        from contrafact.judges.judge import all_pass

        kind = _kind(item)
        names = [one.name for one in CRITERIA[kind]]
        given = await judging.ask(judge, names, prompt, None, (item.about, item.text))
        passed = all_pass(one.passed for one in given)
        why = "; ".join(f"{one.criterion}: {one.invalid}" for one in given if one.invalid)
        whole = Verdict(
            criterion=kind,
            passed=passed,
            invalid=why if passed is None else None,
            judge=given[0].judge,
        )
        parts = {f"{kind}:{one.criterion}": one for one in given}
        return {**parts, kind: whole, f"{kind}:{CONTROL}": whole}

    return Examiner(prompts, shown, together=together, settings={"each": judging.each})


def _kind(item: ExamItem) -> Manipulation:
    return next(kind for kind in MANIPULATIONS if kind == item.facts["manipulation"])


def surface_items(items: Sequence[ExamItem]) -> "list[LeakItem]":
    """Return crossed and labelled items for testing whether surface features give verdicts away.

    The features are those of the rewrite and how much of its original it repeats; folds are by
    original and by frame. Controls and numerical pairs, which facts decide, are left out.
    """
    from contrafact.judges.surface import LeakItem

    return [
        LeakItem(
            text=item.text,
            about=(item.about, ""),
            asked={},
            verdicts={name: value for name, value in item.known.items() if name not in WHOLES},
            block=item.cluster,
            groups={"frame": item.cluster},
        )
        for item in items
        if item.whole is not None
    ]


def _items(options: LevelOptions, n: int | None, seed: int) -> Sequence[ExamItem]:
    return draw_needed(hard_items() if options.level == "hard" else rfc_items(), n, seed)


EXAM = ExamSpec(
    task="rfc-detect",
    criteria={},
    items=_items,
    examiner=examiner,
    options=LevelOptions,
    surface=surface_items,
    surface_reader="reads no meaning",
    overall=MANIPULATIONS,
)
