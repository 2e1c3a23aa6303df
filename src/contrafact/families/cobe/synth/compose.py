"""Composing stories: from a seed, a plot, a block of crossed situations, and their texts.

CoBe, sections 3.1 and 3.2, appendix A.2. Every story is proven from its own record by both
algorithms of `contrafact.causal` and read back by `prove` before it is handed out.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from zlib import adler32, crc32

from contrafact.errors import InputError
from contrafact.families.cobe.data import LATENT, NUMERICAL
from contrafact.families.cobe.phrasing import queries
from contrafact.families.cobe.synth.crossing import SIZE, Block, Situation, draw_block
from contrafact.families.cobe.synth.library import (
    ANSWERS,
    Library,
    bundled_library,
    load_library,
)
from contrafact.families.cobe.synth.narrative import (
    Narrative,
    Wordings,
    criterion_texts,
    draw_wordings,
    realize,
)
from contrafact.families.cobe.synth.plots import draw_plot
from contrafact.families.cobe.synth.prove import check_story
from contrafact.families.cobe.synth.response import CLOSINGS, OPENINGS
from contrafact.records import DOMAINS, GRAPHS
from contrafact.workers import end_with_parent

__all__ = ["story_lines"]

CANARY = "contrafact-cobe-synth-canary-5e1d0c7a-93b4-4f6e-8a2b-c41f7d90e6b3"
"""Stands in every story's proof: a model that can complete it has seen such files in training."""
FIRST_CORE = 1001
"""The core set id of the first block; hand-written stories have smaller ones."""
_ODD_SHARE = 0.4
_TRIES = 400
FORMAT = 2
"""Files in which every verdict follows from the story's text."""
_VERSIONS = 99
"""How often a story is told anew until it differs from the others of its block."""
_TOLD_TWICE = 0.35
"""How often a rule is told although a connector tells it, too."""
_BLOCKS_AT_ONCE = 8
_PLACES = 1 << 27
"""How many numbers texts are told apart by."""

Row = dict[str, Any]


class Unproven(AssertionError):
    """The checker contradicts how a story was made: one of the two is wrong."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A domain and a type of graph."""

    domain: str
    graph: str


def cells_of(
    library: Library, *, graph: str | None = None, domain: str | None = None
) -> tuple[Cell, ...]:
    """Return a library's cells, of one graph or domain if given; an `InputError` if none.

    The domain is one of table 3, in any capitals.
    """
    if graph is not None and graph not in GRAPHS:
        raise InputError(
            f"there is no graph type '{graph}'", hint=f"use one of {', '.join(GRAPHS)}"
        )
    wanted = DOMAINS
    if domain is not None:
        named = " ".join(domain.split()).casefold()
        wanted = tuple(one for one in DOMAINS if one.casefold() == named)
        if not wanted:
            raise InputError(
                f"there is no domain '{domain}'", hint=f"use one of {', '.join(DOMAINS)}"
            )
    domains = [d for d in wanted if any(scene.domain == d for scene in library.scenes)]
    found = tuple(Cell(d, g) for d in domains for g in GRAPHS if graph in (None, g))
    if not found:
        raise InputError(f"the library has no place of '{domain}'", hint="choose another domain")
    return found


def compose(n: int, seed: int, *, private_lexicon: str | Path | None = None) -> Iterator[Row]:
    """Yield stories as objects of the paper's schema with our additions; see `story_lines`."""
    return map(json.loads, story_lines(n, seed, private_lexicon=private_lexicon))


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
    the shorter one, but for a last block that was cut short.

    Args:
        graph: Only this type of graph; ``domain``: only this domain, whatever its capitals.
        private_lexicon: A folder with rules; the bundled ones if none is given.
        processes: How many share the work.

    Raises:
        InputError: There is no such graph or domain, or the rules cannot be used.
        Unproven: A story is not what it is meant to be.
    """
    library = bundled_library() if private_lexicon is None else load_library(private_lexicon)
    cells = cells_of(library, graph=graph, domain=domain)
    draw = partial(compose_block, library, cells, seed)
    blocks = range(-(-n // SIZE))
    firsts = map(draw, blocks) if processes == 1 else blocks_ahead(draw, blocks, processes)

    def lines() -> Iterator[str]:
        seen = bytearray(_PLACES // 8)  # does not grow with the number of stories
        for index, (block, texts) in enumerate(firsts):
            again = 0
            while any(seen[at >> 3] >> (at & 7) & 1 for at in map(_place, texts)):
                again += 1
                block, texts = draw(index, again)
            for at in map(_place, texts):
                seen[at >> 3] |= 1 << (at & 7)
            yield from block

    return islice(lines(), n)


def _place(text: str) -> int:
    """Return a number of a text; now and then a new one has that of an old, and is drawn anew."""
    data = text.encode()  # stable across processes and runs, unlike `hash`
    return (crc32(data) << 32 | adler32(data)) % _PLACES


_Drawn = TypeVar("_Drawn")
_here: list[Callable[[int], Any]] = []  # in a worker: what draws a block


def blocks_ahead(
    draw: Callable[[int], _Drawn], blocks: Iterable[int], processes: int
) -> Iterator[_Drawn]:
    """Yield what is drawn of blocks in their order, by processes that end with the iterator."""
    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(draw,)) as pool:
        # A bounded number of pieces is under way, so that memory stays flat however many there are.
        left = iter(blocks)
        pieces = iter(lambda: list(islice(left, _BLOCKS_AT_ONCE)), [])
        waiting = deque(pool.submit(_share, one) for one in islice(pieces, 4 * processes))
        try:
            while waiting:
                done = waiting.popleft()
                waiting.extend(pool.submit(_share, one) for one in islice(pieces, 1))
                yield from done.result()
        finally:
            # Waited for: where this process ends at once, nobody would tell them to end.
            pool.shutdown(cancel_futures=True)


def _begin(draw: Callable[[int], Any]) -> None:
    end_with_parent()
    _here[:] = [draw]


def _share(blocks: Sequence[int]) -> list[Any]:
    return [_here[0](index) for index in blocks]


def compose_block(
    library: Library, cells: Sequence[Cell], seed: int, index: int, again: int = 0
) -> tuple[list[str], list[str]]:
    """Return the stories of one block, as lines of a file, and their texts.

    Raises:
        Unproven: If a story is not what it is meant to be, or none can be drawn.
    """
    done, place = divmod(index, len(cells))
    cell = Random(f"{seed} order {done}").sample(list(cells), len(cells))[place]
    scenes = [scene for scene in library.scenes if scene.domain == cell.domain]
    for attempt in range(_TRIES):
        rng = Random(f"{seed} {index} {again} {attempt}")
        plot = draw_plot(library, rng.choice(scenes), cell.graph, rng)
        if plot is None:
            continue
        block = draw_block(plot, rng)
        if block is not None:
            rows = list(_rows(block, FIRST_CORE + index, rng))
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
        "format": FORMAT,
        "canary": CANARY,
        "template": plot.scene.name,
        "graph": text.graph,
        "mechanisms": text.mechanisms,
        "noise": text.noise,
        "told": list(text.told),
        "quantities": list(text.quantities),
        "wordings": wordings.record(plot),
        "relations": [one.record() for one in wordings.relations],
        "setting": [wordings.opening],
    }
    answers = [_answers(block, place, wordings, rng) for place in range(SIZE)]
    stories = _stories(block, wordings, rng)
    for place, one in enumerate(block.stories):
        supposed = [
            wordings.clauses[name][0][value].supposed for name, value in one.supposed.items()
        ]
        rng.shuffle(supposed)
        latents = one.implied
        criteria = criterion_texts(one, wordings, latents, rng)
        listed = [criteria["unchanged"], criteria["changed"]]
        if criteria["numerical"]:
            listed.append(f"{NUMERICAL} {criteria['numerical']}")
        if criteria["latent"]:
            listed.append(f"{LATENT} {criteria['latent']}")
        asked = ["E1", "E2", "E3"] + ["E4"] * (plot.measure is not None) + ["E5"] * bool(latents)
        right = [
            {"text": text, "why": why, "verdicts": dict.fromkeys(asked, True)}
            for text, why, _ in answers[place]
        ]
        wrong: list[Row] = [
            {
                "text": text,
                "fails": "E3",
                "why": "Its connectors say the opposite of what they join.",
                "counterpart": right_text,
                "verdicts": {name: name != "E3" for name in asked},
            }
            for right_text, _, text in answers[place]
        ]
        for other in range(SIZE):
            failed = block.fails[other][place]
            if other == place:
                continue
            why = _why(block.stories[other], one, failed)
            wrong += [
                {
                    "text": text,
                    "fails": min(failed),
                    "why": why,
                    "verdicts": {name: name not in failed for name in asked},
                }
                for text, _, _ in answers[other]
            ]
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
            "Evaluation criteria": listed,
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
    texts: list[str] = []
    for place in range(SIZE):
        tried = (_story(block, place, wordings, rng) for _ in range(_VERSIONS))
        texts.append(next(text for text in tried if text not in texts))
    return texts


def _story(block: Block, place: int, wordings: Wordings, rng: Random) -> str:
    """Return a story: where it is, how things hang together, and what happened."""
    one = block.stories[place]
    plot = one.plot
    claims = block.told[place]
    joined = {claim.effect for claim in claims if claim.follows and len(claim.causes) == 1}
    laws = [
        relation.says
        for relation in wordings.relations
        if relation.effect not in joined
        or relation.shield
        or relation.form != "any"
        or len(plot.parents[relation.effect]) > 1
        or rng.random() < _TOLD_TWICE
    ]
    narrative = Narrative(
        plot=plot,
        wordings=wordings,
        values=one.facts,
        amount=one.before_quantity,
        claims=claims,
        roles=dict.fromkeys(plot.told, 0),
        noun=0,
        before=[wordings.opening, *laws],
    )
    return realize(narrative, rng)


def _answers(
    block: Block, place: int, wordings: Wordings, rng: Random
) -> list[tuple[str, str, str]]:
    """Return the right answer of a story, told in two ways: text, why, the connectors turned."""
    one = block.stories[place]
    plot = one.plot

    def told(roles: Mapping[str, int], role: int) -> tuple[str, str]:
        latent = None
        if block.latent is not None:
            latent = (block.latent, one.implied[block.latent], role)
        seed = rng.getrandbits(64)
        texts = []
        for turned in (False, True):
            narrative = Narrative(
                plot=plot,
                wordings=wordings,
                values=one.after,
                amount=one.after_quantity,
                claims=block.voiced[place],
                roles=roles,
                noun=1,
                latent=latent,
                turned=turned,
            )
            texts.append(realize(narrative, Random(seed)))
        return texts[0], texts[1]

    roles = {name: rng.choice(ANSWERS) for name in plot.told}
    again = {name: sum(ANSWERS) - role for name, role in roles.items()}
    first, second = told(roles, 0), told(again, 1)
    why, form = "The same, told otherwise.", "{}"
    if rng.random() < _ODD_SHARE:
        if rng.random() < 0.4:
            other = told(again, 1)
            why = "It offers two versions, which say the same."
            form = "Option 1: {}\n\nOption 2: {}"
            second = form.format(other[0], second[0]), form.format(other[1], second[1])
            form = "{}"
        else:
            form = f"{rng.choice(OPENINGS)}\n\n{{}}\n\n{rng.choice(CLOSINGS)}"
            why = "Text that nobody asked for stands around the edit."
    return [
        (first[0], "The story, edited.", first[1]),
        (form.format(second[0]), why, form.format(second[1])),
    ]


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
    only goes along with what is set. 3: something changes downstream. 4: a law of nature says what
    comes of something that changes. 5: something is implied. 6: a connector has to change. 7: an
    effect has several causes, of which some are touched.
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
        4: any(
            plot.events[name].links[plot.events[cause].name].nature
            for name in below - set(one.supposed)
            for cause in graph[name] & moved
        ),
        5: bool(one.implied),
        6: set(one.story_claims) != set(one.claims),
        7: any(
            len(graph[n]) > 1 and 0 < len(graph[n] & moved) < len(graph[n])
            for n in below - set(one.supposed)
        ),
    }
    return [mode for mode, holds in modes.items() if holds]
