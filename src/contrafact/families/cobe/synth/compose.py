"""Composing stories: from a seed, a plot, a block of crossed situations, and their texts.

CoBe, sections 3.1 and 3.2, appendix A.2. Every story is proven from its own record by both
algorithms of `contrafact.causal` and read back by `prove` before it is handed out.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from contrafact.errors import InputError
from contrafact.families.cobe.data import LATENT, NUMERICAL
from contrafact.families.cobe.phrasing import queries
from contrafact.families.cobe.synth.crossing import SIZE, Block, Situation, draw_block
from contrafact.families.cobe.synth.lexicon import Lexicon, bundled_lexicon, load_lexicon
from contrafact.families.cobe.synth.narrative import (
    CLOSINGS,
    OPENINGS,
    Narrative,
    Wordings,
    criterion_texts,
    draw_wordings,
    realize,
)
from contrafact.families.cobe.synth.plots import draw_plot
from contrafact.families.cobe.synth.prove import check_story
from contrafact.files.atomic import write_text
from contrafact.records import DOMAINS, GRAPHS
from contrafact.workers import end_with_parent

__all__ = [
    "Cell",
    "Seen",
    "cells_of",
    "compose",
    "compose_block",
    "domain_named",
    "story_lines",
    "write_drawn",
]

_CANARY = "contrafact-cobe-synth-canary-5e1d0c7a-93b4-4f6e-8a2b-c41f7d90e6b3"
"""Stands in every story's proof: a model that can complete it has seen such files in training."""
_FIRST_CORE = 1001  # of the first block; hand-written stories have smaller ones
_ODD_SHARE = 0.4
_TRIES = 400
_VERSIONS, _MOST_ALIKE = 10, 0.45
"""How many versions of a story are tried, until it shares no more of its 3-grams with another of
its block."""
_WORD = re.compile(r"[a-z0-9']+")
_BLOCKS_AT_ONCE = 8
_SEEN_BITS = 1 << 27
"""Size of the table of texts that were drawn; it does not grow with the number of stories."""

Row = dict[str, Any]


class Unproven(AssertionError):
    """The checker contradicts how a story was made: one of the two is wrong."""


class Cell(NamedTuple):
    """A domain and a type of graph."""

    domain: str
    graph: str


def cells_of(
    lexicon: Lexicon, *, graph: str | None = None, domain: str | None = None
) -> tuple[Cell, ...]:
    """Return the cells of a lexicon, or those of one type of graph or domain.

    Raises:
        InputError: If there is none.
    """
    if graph is not None and graph not in GRAPHS:
        raise InputError(
            f"there is no graph type '{graph}'", hint=f"use one of {', '.join(GRAPHS)}"
        )
    domains = [d for d in DOMAINS if any(scene.domain == d for scene in lexicon.scenes)]
    found = tuple(
        Cell(d, g) for d in domains for g in GRAPHS if domain in (None, d) and graph in (None, g)
    )
    if not found:
        raise InputError(f"the lexicon has no scene of '{domain}'", hint="choose another domain")
    return found


def domain_named(name: str) -> str:
    """Return the domain of table 3 that a name means, whatever its capitals.

    Raises:
        InputError: If it means none.
    """
    for domain in DOMAINS:
        if domain.casefold() == " ".join(name.split()).casefold():
            return domain
    raise InputError(f"there is no domain '{name}'", hint=f"use one of {', '.join(DOMAINS)}")


def story_lines(
    n: int,
    seed: int,
    *,
    graph: str | None = None,
    domain: str | None = None,
    private_lexicon: str | Path | None = None,
    processes: int = 1,
) -> Iterator[str]:
    """Return proven stories, one JSON object a line, evenly over the cells, no two texts alike.

    The same arguments give the same stories, by however many processes; a longer draw begins with
    the shorter one, but for a last block that was cut short. Stories are of all domains and types
    of graph, or of one, told of the bundled lexicon or of that in a folder.

    Raises:
        InputError: There is no such graph or domain, or the lexicon cannot be used.
        Unproven: If a story is not what it is meant to be.
    """
    named = None if domain is None else domain_named(domain)
    lexicon = bundled_lexicon() if private_lexicon is None else load_lexicon(private_lexicon)
    cells = cells_of(lexicon, graph=graph, domain=named)

    def lines() -> Iterator[str]:
        seen = Seen()
        blocks = -(-n // SIZE)
        for index, (block, texts) in enumerate(_firsts(lexicon, cells, blocks, seed, processes)):
            again = 0
            while seen.any_of(texts):
                again += 1
                block, texts = compose_block(lexicon, cells, seed, index, again)
            seen.add(texts)
            yield from block

    return islice(lines(), n)


def write_drawn(path: Path, n: int) -> None:
    """Write stories with their proofs to a JSON Lines file; the same number, the same file."""
    write_text(path, "".join(f"{line}\n" for line in story_lines(n, 0)))


def compose(n: int, seed: int) -> Iterator[Row]:
    """Yield stories as objects of the paper's schema with our additions; see `story_lines`."""
    return map(json.loads, story_lines(n, seed))


class Seen:
    """The texts that were drawn, as bits of a table; now and then a new one looks like an old."""

    def __init__(self) -> None:
        self._bits = bytearray(_SEEN_BITS // 8)

    def any_of(self, texts: Sequence[str]) -> bool:
        """Return whether one of the texts was drawn before."""
        return any(self._bits[at >> 3] >> (at & 7) & 1 for at in map(_place, texts))

    def add(self, texts: Sequence[str]) -> None:
        """Know texts from now on."""
        for at in map(_place, texts):
            self._bits[at >> 3] |= 1 << (at & 7)


def _place(text: str) -> int:
    # Stable across processes and runs, unlike `hash`.
    from zlib import adler32, crc32

    data = text.encode()
    return (crc32(data) << 32 | adler32(data)) % _SEEN_BITS


def _firsts(
    lexicon: Lexicon, cells: Sequence[Cell], blocks: int, seed: int, processes: int
) -> Iterator[tuple[list[str], list[str]]]:
    if processes == 1:
        for index in range(blocks):
            yield compose_block(lexicon, cells, seed, index)
        return
    with ProcessPoolExecutor(
        processes, initializer=_begin, initargs=(lexicon, cells, seed)
    ) as pool:
        # A bounded number of pieces is under way, so that memory stays flat however many there are.
        starts = iter(range(0, blocks, _BLOCKS_AT_ONCE))
        waiting = [pool.submit(_share, s, blocks) for s in islice(starts, 4 * processes)]
        while waiting:
            done = waiting.pop(0)
            yield from done.result()
            waiting += [pool.submit(_share, s, blocks) for s in islice(starts, 1)]


_here: list[tuple[Lexicon, Sequence[Cell], int]] = []  # in a worker: what it draws from


def _begin(lexicon: Lexicon, cells: Sequence[Cell], seed: int) -> None:
    end_with_parent()
    _here[:] = [(lexicon, cells, seed)]


def _share(start: int, blocks: int) -> list[tuple[list[str], list[str]]]:
    lexicon, cells, seed = _here[0]
    end = min(blocks, start + _BLOCKS_AT_ONCE)
    return [compose_block(lexicon, cells, seed, index) for index in range(start, end)]


def compose_block(
    lexicon: Lexicon, cells: Sequence[Cell], seed: int, index: int, again: int = 0
) -> tuple[list[str], list[str]]:
    """Return the stories of one block, as lines of a file, and their texts.

    Raises:
        Unproven: If a story is not what it is meant to be, or none can be drawn.
    """
    done, place = divmod(index, len(cells))
    cell = Random(f"{seed} order {done}").sample(list(cells), len(cells))[place]
    scenes = [scene for scene in lexicon.scenes if scene.domain == cell.domain]
    for attempt in range(_TRIES):
        rng = Random(f"{seed} {index} {again} {attempt}")
        plot = draw_plot(lexicon, rng.choice(scenes), cell.graph, rng)
        if plot is None:
            continue
        block = draw_block(plot, rng)
        if block is not None:
            rows = list(_rows(block, _FIRST_CORE + index, rng))
            for row in rows:
                problems = check_story(row)
                if problems:
                    raise Unproven(f"seed {seed}, block {index}: {problems[0]}")
            lines = [json.dumps(row, ensure_ascii=False) for row in rows]
            return lines, [row["Variation text"] for row in rows]
    raise Unproven(f"no story of {cell.domain}, {cell.graph} came of {_TRIES} draws")


def _rows(block: Block, core: int, rng: Random) -> Iterator[Row]:
    plot = block.stories[0].plot
    wordings = draw_wordings(plot, rng)
    text = plot.text()
    shared = {
        "canary": _CANARY,
        "template": plot.scene.name,
        "graph": text.graph,
        "mechanisms": text.mechanisms,
        "noise": text.noise,
        "told": list(text.told),
        "quantities": list(text.quantities),
        "wordings": wordings.record(plot),
    }
    answers = [_answers(block, place, wordings, rng) for place in range(SIZE)]
    stories = _stories(block, wordings, rng)
    for place, one in enumerate(block.stories):
        supposed = [
            wordings.clauses[name][rng.randrange(2)][value].supposed
            for name, value in one.supposed.items()
        ]
        rng.shuffle(supposed)
        criteria = criterion_texts(one, wordings, one.implied, rng)
        asked = ["E1", "E2", "E3"]
        asked += ["E4"] * (plot.measure is not None) + ["E5"] * bool(one.implied)
        right = [
            {"text": text, "why": why, "verdicts": dict.fromkeys(asked, True)}
            for text, why in answers[place]
        ]
        wrong = _wrong(block, place, answers, asked)
        rng.shuffle(wrong)
        facts: dict[str, Any] = dict(one.facts)
        if plot.measure is not None:
            facts[plot.told[-1]] = one.before_quantity
        yield {
            "Core Set ID": core,
            "Variation ID": place + 1,
            "Domain": plot.scene.domain,
            "Variation text": stories[place],
            "Query": list(queries(supposed)),
            "Representative answer": right[0]["text"],
            "Evaluation criteria": _listed(criteria),
            "Graph type": plot.graph,
            "Failure modes": _modes(block, place),
            "Right answers": right,
            "Wrong answers": wrong,
            "Proof": {
                **shared,
                "facts": facts,
                "intervention": dict(one.supposed),
                "consequences": _consequences(one),
            },
        }


def _listed(criteria: Mapping[str, str | None]) -> list[str | None]:
    found = [criteria["unchanged"], criteria["changed"]]
    if criteria["numerical"]:
        found.append(f"{NUMERICAL} {criteria['numerical']}")
    if criteria["latent"]:
        found.append(f"{LATENT} {criteria['latent']}")
    return found


def _wrong(
    block: Block, place: int, answers: Sequence[Sequence[tuple[str, str]]], asked: Sequence[str]
) -> list[Row]:
    """Return the other stories' answers as wrong answers of one."""
    found = []
    for other in range(SIZE):
        if other == place:
            continue
        failed = block.fails[other][place]
        why = _why(block.stories[other], block.stories[place], failed)
        verdicts = {name: name not in failed for name in asked}
        found += [
            {"text": text, "fails": min(failed), "why": why, "verdicts": dict(verdicts)}
            for text, _ in answers[other]
        ]
    return found


def _consequences(one: Situation) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, fact in one.facts.items():
        then = one.after[name]
        kind = "set" if name in one.supposed else "stays" if then == fact else "changes"
        found[name] = {"kind": kind if then is not None else "undetermined", "after": then}
    if one.plot.measure is not None:
        up = one.after_quantity > one.before_quantity
        found[one.plot.told[-1]] = {
            "kind": "changes",
            "after": one.after_quantity,
            "direction": "up" if up else "down",
        }
    for name, value in one.implied.items():
        found[name] = {"kind": "stays", "after": value}
    return found


def _stories(block: Block, wordings: Wordings, rng: Random) -> list[str]:
    """Return the stories of a block, worded so that no two read nearly alike.

    Facts may differ in one event, or in none where something else is supposed; words, order and
    joining then have to differ.
    """
    texts: list[str] = []
    grams: list[set[tuple[str, str, str]]] = []
    for place in range(SIZE):
        nearest = 2.0
        for _ in range(_VERSIONS):
            text = _story(block, place, wordings, rng)
            words = _WORD.findall(text.lower())
            own = set(zip(words, words[1:], words[2:], strict=False))
            near = max((len(own & one) / len(own | one) for one in grams), default=0.0)
            if near < nearest:
                nearest, best = near, (text, own)
            if near <= _MOST_ALIKE:
                break
        texts.append(best[0])
        grams.append(best[1])
    return texts


def _story(block: Block, place: int, wordings: Wordings, rng: Random) -> str:
    one = block.stories[place]
    plot = one.plot
    narrative = Narrative(
        plot=plot,
        wordings=wordings,
        values=one.facts,
        amount=one.before_quantity,
        claims=block.told[place],
        roles={name: rng.choice((0, 1)) for name in plot.told},
        noun=0,
    )
    return realize(narrative, rng)


def _answers(block: Block, place: int, wordings: Wordings, rng: Random) -> list[tuple[str, str]]:
    """Return the right answer of a story, told in two ways, each with why it is right."""
    one = block.stories[place]
    plot = one.plot

    def told(roles: Mapping[str, int], role: int) -> str:
        latent = None
        if block.latent is not None:
            latent = (block.latent, one.implied[block.latent], role)
        narrative = Narrative(
            plot=plot,
            wordings=wordings,
            values=one.after,
            amount=one.after_quantity,
            claims=block.voiced[place],
            roles=roles,
            noun=1,
            latent=latent,
        )
        return realize(narrative, rng)

    roles = {name: rng.choice((2, 3)) for name in plot.told}
    turned = {name: 5 - role for name, role in roles.items()}
    first, second = told(roles, 0), told(turned, 1)
    why = "The same, told otherwise."
    if rng.random() < _ODD_SHARE:
        if rng.random() < 0.4:
            second = f"Option 1: {told(turned, 1)}\n\nOption 2: {second}"
            why = "It offers two versions, which say the same."
        else:
            second = f"{rng.choice(OPENINGS)}\n\n{second}\n\n{rng.choice(CLOSINGS)}"
            why = "Text that nobody asked for stands around the edit."
    return [(first, "The story, edited."), (second, why)]


def _why(one: Situation, other: Situation, failed: frozenset[str]) -> str:
    """Return what is wrong with one situation's answer in another's story, by what it is like."""
    graph = {name: gate.parents for name, gate in other.plot.gates.items()}
    above: set[str] = set()
    edge = [p for name in other.supposed for p in graph[name]]
    while edge:
        name = edge.pop()
        if name not in above:
            above.add(name)
            edge += graph[name]
    reasons = []
    _, _, stays, changes, _ = other.bits
    for place, (name, fact) in enumerate(other.facts.items()):
        then = one.after[name]
        if stays >> place & 1 and then != fact:
            if then is None:
                reasons.append("it leaves open what stays")
            elif name in above:
                reasons.append("it changes a cause of what was edited, to fit the edit")
            else:
                reasons.append("it changes what the edit does not touch")
        if changes >> place & 1 and then == fact:
            if name in other.supposed:
                reasons.append("it undoes the edit itself")
            else:
                reasons.append("it leaves an effect of the edit as it was")
    if "E3" in failed:
        reasons.append("a connector claims what is not so")
    if "E4" in failed:
        reasons.append("the quantity moves the wrong way")
    if "E5" in failed:
        reasons.append("it contradicts what the story implies")
    text = "; ".join(dict.fromkeys(reasons))
    return f"{text[0].upper()}{text[1:]}."


def _modes(block: Block, place: int) -> list[int]:
    """Return the failure modes of appendix B.1 that a story probes.

    1: something downstream of the change stays, or goes against a cause that stays. 2: something
    only goes along with what is set. 3: something changes downstream. 5: something is implied. 6:
    a connector has to change. 7: an effect has several causes, of which some are touched. Mode 4,
    a law of nature, is for a person to say.
    """
    one = block.stories[place]
    plot = one.plot
    graph = {name: set(gate.parents) for name, gate in plot.gates.items()}
    below = set(one.supposed)
    for name in graph:
        if graph[name] & below:
            below.add(name)
    _, _, stays, changes, _ = one.bits
    kept = {name for p, name in enumerate(one.facts) if stays >> p & 1}
    moved = {name for p, name in enumerate(one.facts) if changes >> p & 1}
    siblings = {n for n in graph if any(graph[n] & graph[s] for s in one.supposed)}
    common = [name for name, gate in plot.gates.items() if gate.source == "u_common"]
    if set(common) & set(one.supposed):
        siblings |= set(common)
    cut = any(one.after[p] != one.after[n] for n in one.supposed for p in graph[n])
    modes = {
        1: bool(kept & below) or cut,
        2: bool((siblings - set(one.supposed)) & kept),
        3: len(moved) > len(one.supposed) or plot.measure is not None,
        5: bool(one.implied),
        6: set(one.story_claims) != set(one.claims),
        7: any(
            len(graph[n]) > 1 and 0 < len(graph[n] & moved) < len(graph[n])
            for n in below - set(one.supposed)
        ),
    }
    return [mode for mode, holds in modes.items() if holds]
