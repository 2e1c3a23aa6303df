"""Data to train an editor of stories, in splits that hold out graphs, places and events.

CoBe, sections 3.1 and 3.2. Two types of graph are held out, eight places with all of their rules,
and in each other place one event with its rules and wordings. Stories to learn from are of the
other places in turn; easy ones come first. The target answer is the story edited
in place (`in_place`), in its own words, so that a model learns what to change and not which other
wordings a file has.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any

from contrafact.families.cobe.data import PHRASINGS, read_story
from contrafact.families.cobe.in_place import in_place
from contrafact.families.cobe.phrasing import STATED, framing_named, request_of
from contrafact.families.cobe.records import GRAPHS
from contrafact.families.cobe.stories import verdicts
from contrafact.families.cobe.synth.compose import Cell, NoStory, draw_rows, line_of
from contrafact.families.cobe.synth.difficulty import LEVELS, Difficulty
from contrafact.families.cobe.synth.library import Library, bundled_library
from contrafact.family.training import EditSpec, EditTask
from contrafact.files.atomic import write_text
from contrafact.prompts import PromptPack
from contrafact.text.delimit import delimit

_HELD_GRAPHS = frozenset(("diamond", "hybrid"))
_HELD_SCENES = frozenset(
    ("hospital", "lake", "observatory", "port", "coffee", "satellite", "tram", "wedding")
)
_HELD_EVENTS = {
    "bank": "takeover",
    "bicycles": "orders",
    "bridge": "cutoff",
    "canal": "glass",
    "carehome": "visits",
    "drought": "wells",
    "festival": "concert",
    "film": "music",
    "institute": "paper",
    "lending": "mortgage",
    "marathon": "water",
    "morning": "car",
    "moving": "supper",
    "museum": "show",
    "pass": "loan",
    "polar": "bunk",
    "silver": "railway",
    "theatre": "violins",
    "turbine": "inspectors",
    "vaccination": "second",
    "warehouse": "cellar",
}
"""By training place, the event that is held out with its rules; it occurs in many stories."""
_SLOT = re.compile(r"\\\{\w+\\\}")
_DEMO = 2**31  # the seed of the demo, which no training has
_RAMP = 0.25
"""The share of the answers to learn that are of the easier levels, one after the other."""
_LEVELS = (*LEVELS[:3], Difficulty())
_TRIES = 40  # of a block for a place, until the next place has its turn


def _split_of(row: Mapping[str, Any]) -> str | None:
    """Return the split of a drawn story; None if a held-out event is in it but not edited."""
    proof = row["Proof"]
    scene, graph = proof["template"] in _HELD_SCENES, row["Graph type"] in _HELD_GRAPHS
    if scene:
        return "all" if graph else "scenes"
    held = _HELD_EVENTS[proof["template"]]
    if held not in _events_of(proof):
        return "graphs" if graph else "train"
    consequences = proof["consequences"].items()
    changed = {node for node, what in consequences if what["kind"] in ("set", "changes")}
    return "rules" if not graph and held in _events_of(proof, changed) else None


def _events_of(proof: Mapping[str, Any], nodes: "set[str] | None" = None) -> frozenset[str]:
    patterns = _patterns(proof["template"])
    names = set()
    for node, words in proof["wordings"].items():
        if (nodes is None or node in nodes) and "amounts" not in words:
            clause = words["true"]["clauses"][0]
            names |= {name for pattern, name in patterns if pattern.fullmatch(clause)}
    return frozenset(names)


@cache
def _patterns(name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    scene = next(scene for scene in bundled_library().scenes if scene.name == name)
    return tuple(
        (re.compile(_SLOT.sub(".+", re.escape(pair[True].stated))), event.name)
        for event in scene.events.values()
        for pair in event.wordings
    )


def _tasks(
    pack: PromptPack, split: str, seed: int, number: int, framing: str
) -> Iterator[EditTask]:
    """Draw tasks of a split endlessly, one for each story, in the three phrasings in turn."""
    request = request_of(pack, framing)
    template = pack.template("cobe/edit", required={"story", "query", "shots"})
    stories = _lessons(seed, number) if split == "train" else _stories(split, seed)
    for drawn, (row, answer) in enumerate(stories):
        text, query = row["Variation text"], row["Query"][drawn % len(PHRASINGS)]
        prompt = template.render(story=delimit(text), query=delimit(request(query)), shots=[])
        yield EditTask(f"{split}-{drawn}", prompt, answer, source=line_of(row))


_Story = tuple[dict[str, Any], str]
"""A story's row and its edit in place."""


def _lessons(seed: int, number: int) -> Iterator[_Story]:
    """Draw stories to learn from, of the training places in turn; the first share is easier."""
    library, wanted, drawn = bundled_library(), Random(f"{seed} train").getrandbits(32), 0
    scenes = [scene for scene in library.scenes if scene.name not in _HELD_SCENES]
    for turn in count():
        for scene in Random(f"{wanted} {turn}").sample(scenes, len(scenes)):
            level = _LEVELS[min(int(drawn / (_RAMP * number) * 3), 3)]
            cells = [Cell(scene.domain, one) for one in level.graphs if one not in _HELD_GRAPHS]
            here = replace(library, scenes=(scene,))
            for again in range(_TRIES):
                with suppress(NoStory):
                    rows = draw_rows(here, cells, wanted, turn * _TRIES + again)
                    if _split_of(rows[0]) == "train" and all(map(level.fits, rows)):
                        told = [(row, answer) for row in rows if (answer := in_place(row))]
                        drawn += len(told)
                        yield from told
                        break


def _stories(split: str, seed: int) -> Iterator[_Story]:
    """Draw one story of each plot of a split, so that measured tasks are independent."""
    library = bundled_library()
    cells = _cells(library, split)
    wanted = "train" if split == "same" else split
    seed_of_split = Random(f"{seed} {split}").getrandbits(32)  # no two splits draw the same stories
    for block in count():
        for row in draw_rows(library, cells, seed_of_split, block):
            if _split_of(row) == wanted and (answer := in_place(row)) is not None:
                yield row, answer
                break


def write_held_out(path: Path, n: int) -> None:
    """Write the demo's stories, which are in no split for training or measurement."""
    rows = (row for row, _ in islice(_stories("all", _DEMO), n))
    write_text(path, "".join(f"{line_of(row)}\n" for row in rows))


def _cells(library: Library, split: str) -> list[Cell]:
    new_graphs, new_scenes = split in ("graphs", "all"), split in ("scenes", "all")
    graphs = [graph for graph in GRAPHS if (graph in _HELD_GRAPHS) == new_graphs]
    scenes = (scene for scene in library.scenes if (scene.name in _HELD_SCENES) == new_scenes)
    domains = sorted({scene.domain for scene in scenes})
    return [Cell(domain, graph) for domain in domains for graph in graphs]


def _passed(source: str, answer: str) -> bool | None:
    """Return whether an answer passes all criteria of its story; None if that is undecided."""
    passed = verdicts(read_story(json.loads(source)), answer).values()
    return False if False in passed else None if None in passed else True


EDITING = EditSpec(
    presets=Path(__file__).parent / "training_presets",
    train=f"drawn stories of four types of graph and {len(_HELD_EVENTS)} scenes, without one event "
    "of each",
    splits={
        "same": "nothing: new stories of the graphs, scenes and events of training",
        "graphs": "the types of graph (diamond, hybrid)",
        "scenes": "the scenes, and with them all rules and wordings",
        "rules": "events, with their rules and wordings, that are supposed or have to change",
        "all": "types of graph and scenes, with all rules and wordings",
    },
    framing=lambda name: framing_named(name or STATED),
    tasks=_tasks,
    passed=_passed,
)
