"""Composing stories: from a seed, a plot, a block of crossed situations, and their texts.

CoBe, sections 3.1 and 3.2, appendices A.2 and B.1. Every story is proven from its own record by
both algorithms of `contrafact.causal` and read back by `prove` before it is handed out.
"""

import json
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from zlib import adler32, crc32

from contrafact.causal.model import Graph
from contrafact.errors import InputError
from contrafact.families.cobe.phrasing import queries
from contrafact.families.cobe.records import DOMAINS, GRAPHS
from contrafact.families.cobe.synth.crossing import SIZE, Block, Situation, draw_block
from contrafact.families.cobe.synth.difficulty import TRAPS, Difficulty
from contrafact.families.cobe.synth.library import (
    ANSWERS,
    Library,
    Scene,
    bundled_library,
    load_library,
)
from contrafact.families.cobe.synth.narrative import (
    Narrative,
    Wordings,
    criteria,
    draw_wordings,
    realize,
)
from contrafact.families.cobe.synth.plots import QUANTITY, draw_plot
from contrafact.families.cobe.synth.prove import check_story
from contrafact.families.cobe.synth.response import CLOSINGS, OPENINGS
from contrafact.workers import end_with_parent

__all__ = ["compose", "line_of"]

CANARY = "contrafact-cobe-synth-canary-5e1d0c7a-93b4-4f6e-8a2b-c41f7d90e6b3"
"""In every story's proof: a model that can complete it has seen such files in training."""
FIRST_CORE = 1001
"""The core set id of the first block; hand-written stories have smaller ones."""
_ODD_SHARE = 0.4
"""How many second right answers offer two versions, or have text around them."""
_TRIES, _TRIES_OF_SCENE = 400, 20
"""How often a block is tried, and how often in one scene before the next."""
FORMAT = 2
"""The format of files in which every verdict follows from the story's text."""
_FITS, _FITS_OF_SCENE = 100, 20
"""How often a block is drawn until all of its stories are of a difficulty, and how often in scenes
of which one comes first: a scene may have none."""
_VERSIONS = 99
"""How often a story is told anew until it differs from the others of its block."""
_TOLD_TWICE = 0.35
"""How often a story tells a rule that one of its connectors tells as well."""
_BLOCKS_AT_ONCE = 8
_TEXT_NUMBERS = 1 << 27
"""How many numbers there are to tell texts apart: a bit each, 16 MiB."""

Row = dict[str, Any]


class Unproven(AssertionError):
    """The checker contradicts how a story was made: one of the two is wrong."""


class NoStory(AssertionError):
    """A place and a type of graph gave no story in many draws."""


@dataclass(frozen=True, slots=True)
class Cell:
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
        folded = " ".join(domain.split()).casefold()
        wanted = tuple(name for name in DOMAINS if name.casefold() == folded)
        if not wanted:
            raise InputError(
                f"there is no domain '{domain}'", hint=f"use one of {', '.join(DOMAINS)}"
            )
    domains = [d for d in wanted if any(scene.domain == d for scene in library.scenes)]
    cells = tuple(Cell(d, g) for d in domains for g in GRAPHS if graph in (None, g))
    if not cells:
        raise InputError(f"the library has no place of '{domain}'", hint="choose another domain")
    return cells


def compose(
    n: int,
    seed: int,
    *,
    graph: str | None = None,
    domain: str | None = None,
    difficulty: Difficulty | None = None,
    private_lexicon: str | Path | None = None,
    processes: int = 1,
) -> Iterator[Row]:
    """Return proven stories in the paper's schema, evenly over the cells, no two texts alike.

    The same arguments give the same stories, by however many processes; a longer draw begins with
    the shorter one, but for a last block that was cut short.

    Args:
        graph: Only this type of graph; ``domain``: only this domain, in any capitals.
        difficulty: Only stories of this difficulty; all if not given.
        private_lexicon: A folder with rules; the bundled ones if not given.

    Raises:
        InputError: There is no such graph or domain, the rules cannot be used, or no story of the
            difficulty was found in many draws.
        Unproven: A story is not what it is meant to be.
    """
    library = load_library(private_lexicon) if private_lexicon else bundled_library()
    cells = cells_of(library, graph=graph, domain=domain)
    draw = partial(draw_rows, library, cells, seed)
    if difficulty is not None:
        cells = tuple(cell for cell in cells if cell.graph in difficulty.graphs)
        if not cells:
            raise InputError(
                f"this difficulty has no graph of type '{graph}'",
                hint=f"use one of {', '.join(difficulty.graphs)}",
            )
        draw = partial(draw_fitting, library, cells, difficulty, seed)
    blocks = range(-(-n // SIZE))
    drawn = map(draw, blocks) if processes == 1 else blocks_ahead(draw, blocks, processes)
    return islice(_without_repeats(draw, drawn), n)


def _without_repeats(
    draw: Callable[[int, int], list[Row]], blocks: Iterable[list[Row]]
) -> Iterator[Row]:
    """Yield the stories of blocks; a block with a text of an earlier one is drawn again."""
    seen = bytearray(_TEXT_NUMBERS // 8)  # does not grow with the number of stories
    for index, rows in enumerate(blocks):
        numbers, again = _text_numbers(rows), 0
        while any(seen[number >> 3] >> (number & 7) & 1 for number in numbers):
            again += 1
            rows = draw(index, again)
            numbers = _text_numbers(rows)
        for number in numbers:
            seen[number >> 3] |= 1 << (number & 7)
        yield from rows


def _text_numbers(rows: Sequence[Row]) -> list[int]:
    """Return a number of each text; seldom has a new text that of an old, and is drawn anew."""
    texts = [row["Variation text"].encode() for row in rows]
    # Stable across processes and runs, unlike `hash`.
    return [(crc32(text) << 32 | adler32(text)) % _TEXT_NUMBERS for text in texts]


_here: list[Callable[[int], Any]] = []  # in a worker: what draws a block


def blocks_ahead(
    draw: Callable[[int], list[Row]], blocks: Iterable[int], processes: int
) -> Iterator[list[Row]]:
    """Yield the drawn stories of each block, in order, from processes that end with the
    iterator.
    """
    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(draw,)) as pool:
        # A bounded number of pieces is under way, so that memory stays flat however many there are.
        left = iter(blocks)
        pieces = iter(lambda: list(islice(left, _BLOCKS_AT_ONCE)), [])
        waiting = deque(pool.submit(_share, piece) for piece in islice(pieces, 4 * processes))
        try:
            while waiting:
                done = waiting.popleft()
                waiting.extend(pool.submit(_share, piece) for piece in islice(pieces, 1))
                yield from done.result()
        finally:
            # Wait for the workers: if this process ended first, nobody would tell them to end.
            pool.shutdown(cancel_futures=True)


def _begin(draw: Callable[[int], Any]) -> None:
    end_with_parent()
    _here[:] = [draw]


def _share(blocks: Sequence[int]) -> list[Any]:
    return [_here[0](index) for index in blocks]


def line_of(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)


def draw_fitting(
    library: Library,
    cells: Sequence[Cell],
    difficulty: Difficulty,
    seed: int,
    index: int,
    again: int = 0,
) -> list[Row]:
    """Return the stories of one block, all of a difficulty; an `InputError` if none was found."""
    for more in range(_FITS):
        try:
            rows = draw_rows(library, cells, seed, index, again * _FITS + more, difficulty)
        except NoStory:
            continue
        if all(map(difficulty.fits, rows)):
            return rows
    asked = ", ".join(f"{name}={value}" for name, value in asdict(difficulty).items())
    raise InputError(
        f"no story of this difficulty was found in {_FITS:,} draws ({asked})",
        hint="widen its ranges",
    )


def draw_rows(
    library: Library,
    cells: Sequence[Cell],
    seed: int,
    index: int,
    again: int = 0,
    wanted: Difficulty | None = None,
) -> list[Row]:
    """Return the stories of one block, proven.

    Raises:
        Unproven: If a story is not what it is meant to be.
        NoStory: If none can be drawn.
    """
    cell, scenes = _place(library, cells, seed, index)
    # The blocks of a draw are about one trap after the other.
    focus = (
        wanted.traps[(index + again) % len(wanted.traps)] if wanted and wanted.least_traps else ""
    )
    for attempt in range(_TRIES):
        rng = Random(f"{seed} {index} {again} {attempt}")
        scene = scenes[(attempt // _TRIES_OF_SCENE + again // _FITS_OF_SCENE) % len(scenes)]
        plot = draw_plot(library, scene, cell.graph, rng, wanted, focus)
        block = None if plot is None else draw_block(plot, rng, wanted, focus)
        if block is None:
            continue
        rows = list(_rows(block, FIRST_CORE + index, rng, wanted))
        for row in rows:
            problems = check_story(row)
            if problems:
                raise Unproven(f"seed {seed}, block {index}: {problems[0]}")
        return rows
    raise NoStory(f"no story of {cell.domain}, {cell.graph} was found in {_TRIES} draws")


def _place(
    library: Library, cells: Sequence[Cell], seed: int, index: int
) -> tuple[Cell, list[Scene]]:
    """Return the cell of a block, and the scenes of its domain, the one that is due first.

    Blocks go through every cell once, then through all again in a new order; the blocks of a domain
    go through its scenes likewise. So a few blocks are of different scenes, where there are enough.
    """
    rounds, position = divmod(index, len(cells))
    order = Random(f"{seed} order {rounds}").sample(list(cells), len(cells))
    domain = order[position].domain
    scenes = [scene for scene in library.scenes if scene.domain == domain]
    before = sum(cell.domain == domain for cell in order[:position])
    before += rounds * sum(cell.domain == domain for cell in cells)
    turn, due = divmod(before, len(scenes))
    scenes = Random(f"{seed} scenes {domain} {turn}").sample(scenes, len(scenes))
    return order[position], scenes[due:] + scenes[:due]


def _rows(block: Block, core: int, rng: Random, wanted: Difficulty | None = None) -> Iterator[Row]:
    """Yield the four stories of a block as objects of the paper's schema (appendix A.2)."""
    plot = block.stories[0].plot
    wordings = draw_wordings(plot, rng)
    model = plot.text()
    shared = {
        "format": FORMAT,
        "canary": CANARY,
        "template": plot.scene.name,
        "graph": model.graph,
        "mechanisms": model.mechanisms,
        "noise": model.noise,
        "told": list(model.told),
        "quantities": list(model.quantities),
        "wordings": wordings.record(plot),
        "relations": [relation.record() for relation in wordings.relations],
        "setting": [text for text in (wordings.opening, wordings.then) if text],
    }
    answers = [_answers(block, index, wordings, rng) for index in range(SIZE)]
    structured = wanted is not None and wanted.structured
    texts = _stories(block, wordings, rng, apart=wanted is not None and wanted.apart)
    for index, situation in enumerate(block.stories):
        supposed = [
            wordings.clauses[name][0][value].supposed for name, value in situation.supposed.items()
        ]
        rng.shuffle(supposed)
        listed = criteria(situation, wordings, rng)
        right, wrong = _known_answers(block, index, answers, named=structured)
        traps = [name for name in TRAPS if name in situation.traps] if structured else []
        rng.shuffle(wrong)
        facts: dict[str, Any] = dict(situation.facts)
        if plot.measure is not None:
            facts[plot.told[-1]] = situation.before_quantity
        yield {
            "Core Set ID": core,
            "Variation ID": index + 1,
            "Domain": plot.scene.domain,
            "Variation text": texts[index],
            "Query": list(queries(supposed)),
            "Representative answer": right[0]["text"],
            "Evaluation criteria": listed,
            "Graph type": plot.graph,
            "Failure modes": _failure_modes(situation),
            "Right answers": right,
            "Wrong answers": wrong,
            "Proof": {
                **shared,
                "facts": facts,
                "intervention": dict(situation.supposed),
                "consequences": _consequences(situation),
                **({"traps": traps} if structured else {}),
            },
        }


def _known_answers(
    block: Block, index: int, answers: Sequence[Sequence["_Answer"]], *, named: bool
) -> tuple[list[Row], list[Row]]:
    """Return the right and the wrong answers of one story of a block, with their verdicts.

    The wrong answers are its own with every connector reversed, and the right answers of the
    others; ``named`` says what mistakes these make.
    """
    situation = block.stories[index]
    asked = ["E1", "E2", "E3"]
    asked += ["E4"] * situation.moves + ["E5"] * bool(situation.implied)

    def known(text: str, why: str, failed: Collection[str] = (), **more: Any) -> Row:
        fails = {"fails": min(failed)} if failed else {}
        verdicts = {name: name not in failed for name in asked}
        return {"text": text, **fails, "why": why, **more, "verdicts": verdicts}

    right = [known(answer.text, answer.why) for answer in answers[index]]
    turned = "Its connectors say the opposite of what they join."
    wrong = [
        known(answer.turned, turned, {"E3"}, counterpart=answer.text) for answer in answers[index]
    ]
    for other in range(SIZE):
        if other != index:
            failed = block.fails[other][index]
            mistakes = _mistakes(block.stories[other], situation, failed)
            text = "; ".join(dict.fromkeys(why for _, why in mistakes))
            why = f"{text[0].upper()}{text[1:]}."
            names = list(dict.fromkeys(name for name, _ in mistakes))
            more = {"mistakes": names} if named else {}
            wrong += [known(answer.text, why, failed, **more) for answer in answers[other]]
    return right, wrong


def _consequences(situation: Situation) -> dict[str, dict[str, Any]]:
    consequences: dict[str, dict[str, Any]] = {}
    for name, fact in situation.facts.items():
        then = situation.after[name]
        kind = "set" if name in situation.supposed else "stays" if then == fact else "changes"
        consequences[name] = {"kind": kind if then is not None else "undetermined", "after": then}
    if situation.plot.measure is not None:
        amount = situation.after_quantity
        up = amount > situation.before_quantity
        consequences[QUANTITY] = (
            {"kind": "changes", "after": amount, "direction": "up" if up else "down"}
            if situation.moves
            else {"kind": "stays", "after": amount}
        )
    for name, value in situation.implied.items():
        consequences[name] = {"kind": "stays", "after": value}
    return consequences


def _stories(block: Block, wordings: Wordings, rng: Random, *, apart: bool) -> list[str]:
    """Return the texts of a block's stories, no two alike."""
    texts: list[str] = []
    for index in range(SIZE):
        versions = (_story(block, index, wordings, rng, apart=apart) for _ in range(_VERSIONS))
        texts.append(next(text for text in versions if text not in texts))
    return texts


def _story(block: Block, index: int, wordings: Wordings, rng: Random, *, apart: bool) -> str:
    """Return a story: where it is, the rules, and what happened.

    ``apart`` puts rules and facts in any order, and about half of the rules behind the facts.
    """
    situation = block.stories[index]
    plot = situation.plot
    claims = block.story_claims[index]
    joined = {claim.effect for claim in claims if claim.follows and len(claim.causes) == 1}
    # A rule may be left out where a connector tells the same: "because" of the effect's one cause.
    rules = [
        relation.says
        for relation in wordings.relations
        if relation.effect not in joined
        or relation.shield
        or relation.form != "any"
        or len(plot.parents[relation.effect]) > 1
        or rng.random() < _TOLD_TWICE
    ]
    late: list[str] = []
    if apart:
        rng.shuffle(rules)
        middle = len(rules) // 2
        rules, late = rules[:middle], rules[middle:]
    narrative = Narrative(
        plot=plot,
        wordings=wordings,
        values=situation.facts,
        amount=situation.before_quantity,
        claims=claims,
        in_order=not apart,
        roles=dict.fromkeys(plot.told, 0),
        noun=0,
        before=[wordings.opening, *rules, *([wordings.then] if rules and wordings.then else [])],
    )
    return " ".join([realize(narrative, rng), *late])


@dataclass(frozen=True, slots=True)
class _Answer:
    """A right answer: its text, why it is right, and the text with every connector turned."""

    text: str
    why: str
    turned: str


def _answers(block: Block, index: int, wordings: Wordings, rng: Random) -> list[_Answer]:
    """Return the right answer of a story in two ways; the second may have text around it.

    The judge is to take an answer that offers several versions, or says more than was asked
    (CoBe, appendix C.2).
    """
    situation = block.stories[index]
    plot = situation.plot

    def realized(roles: Mapping[str, int], role: int) -> tuple[str, str]:
        """Return the answer, and the same answer with every connector reversed."""
        latent = None
        if block.latent is not None:
            latent = (block.latent, situation.implied[block.latent], role)
        seed = rng.getrandbits(64)
        narrative = Narrative(
            plot=plot,
            wordings=wordings,
            values=situation.after,
            amount=situation.after_quantity,
            claims=block.answer_claims[index],
            roles=roles,
            noun=1,
            latent=latent,
        )
        turned = replace(narrative, turned=True)
        return realize(narrative, Random(seed)), realize(turned, Random(seed))

    roles = {name: rng.choice(ANSWERS) for name in plot.told}
    other_roles = {name: sum(ANSWERS) - role for name, role in roles.items()}
    first, second = realized(roles, 0), realized(other_roles, 1)
    why, form = "The same in other words.", "{}"
    if rng.random() < _ODD_SHARE:
        if rng.random() < 0.4:
            other = realized(other_roles, 1)
            why = "It offers two versions with the same content."
            form = "Option 1: {}\n\nOption 2: {}"
            second = form.format(other[0], second[0]), form.format(other[1], second[1])
            form = "{}"
        else:
            form = f"{rng.choice(OPENINGS)}\n\n{{}}\n\n{rng.choice(CLOSINGS)}"
            why = "It has text around the edit that was not asked for."
    return [
        _Answer(first[0], "The story, edited.", first[1]),
        _Answer(form.format(second[0]), why, form.format(second[1])),
    ]


def _mistakes(
    answered: Situation, situation: Situation, failed: frozenset[str]
) -> list[tuple[str, str]]:
    """Return the mistakes that one situation's answer makes in another's story: a name, and why."""
    above = Graph(situation.plot.parents).ancestors(situation.supposed)
    mistakes = []
    bits = situation.bits
    for index, (name, fact) in enumerate(situation.facts.items()):
        then = answered.after[name]
        if bits.stays >> index & 1 and then != fact:
            if then is None:
                mistakes.append(("leaves open", "it leaves open what stays"))
            elif name in above:
                mistakes.append(
                    ("backtracks", "it changes a cause of the edited event to fit the edit")
                )
            else:
                mistakes.append(("spills over", "it changes what the edit does not touch"))
        if bits.changes >> index & 1 and then == fact:
            if name in situation.supposed:
                mistakes.append(("leaves out the change", "it undoes the edit itself"))
            else:
                mistakes.append(("stops short", "it leaves an effect of the edit as it was"))
    if "E3" in failed:
        mistakes.append(("joins wrongly", "a connector claims what is not so"))
    moved = answered.after_quantity != situation.before_quantity
    if "E4" in failed:
        mistakes.append(("moves the number wrongly", "the quantity moves the wrong way"))
    elif moved and situation.plot.measure is not None and not situation.moves:
        mistakes.append(("moves the number", "the quantity moves, which should stay"))
    if "E5" in failed:
        mistakes.append(("breaks what is implied", "it contradicts what the story implies"))
    return mistakes


def _failure_modes(situation: Situation) -> list[int]:
    """Return the failure modes of appendix B.1 that a story probes, by the paper's numbers."""
    plot, supposed = situation.plot, set(situation.supposed)
    graph = {name: set(gate.parents) for name, gate in plot.gates.items()}
    descendants = Graph(graph).descendants(supposed) - supposed
    kept = set(situation.events(situation.bits.stays))
    changed = set(situation.events(situation.bits.changes))
    siblings = {n for n in graph if any(graph[n] & graph[s] for s in supposed)}
    common = {name for name, gate in plot.gates.items() if gate.source == "u_common"}
    if common & supposed:
        siblings |= common
    against_cause = any(
        situation.after[cause] != situation.after[name]
        for name in supposed
        for cause in graph[name]
    )
    modes = {
        # Causal connection is not logical dependency: a descendant stays, or what is set goes
        # against a cause of it.
        1: bool(kept & (descendants | supposed)) or against_cause,
        # Correlation is not causation: an event with a cause in common with what is set stays.
        2: bool((siblings - supposed) & kept),
        # Causal connections are followed: a descendant changes.
        3: len(changed) > len(supposed) or plot.measure is not None,
        # Physics, chemistry, biology: a law of nature brings about a descendant.
        4: any(
            plot.events[name].links[plot.events[cause].name].nature
            for name in descendants
            for cause in graph[name] & changed
        ),
        # Latent conditions are inferred and held.
        5: bool(situation.implied),
        # Causal implication: a connector has to change.
        6: set(situation.story_claims) != set(situation.claims),
        # The appropriate causes: of the several causes of a descendant, only some change.
        7: any(
            len(graph[name]) > 1 and 0 < len(graph[name] & changed) < len(graph[name])
            for name in descendants
        ),
    }
    return [mode for mode, holds in modes.items() if holds]
