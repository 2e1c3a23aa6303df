"""Drawing stories: from a seed, no two alike, every one checked before it is handed out."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.families.cobe.data import KnownStory
from contrafact.families.cobe.phrasing import queries
from contrafact.families.cobe.synth.answers import (
    criterion_texts,
    draw_setting,
    probed_modes,
    proof_record,
    right_answers,
    story_record,
    wrong_answers,
)
from contrafact.families.cobe.synth.cases import Case, cases
from contrafact.families.cobe.synth.check import check_story
from contrafact.families.cobe.synth.compose import (
    cells_of,
    compose_lines,
    domain_named,
)
from contrafact.families.cobe.synth.lexicon import bundled_lexicon, load_lexicon
from contrafact.families.cobe.synth.realization import realize
from contrafact.families.cobe.synth.template import Template, bundled_templates, load_templates
from contrafact.files.atomic import write_text
from contrafact.records import GRAPHS, Story
from contrafact.workers import end_with_parent

__all__ = [
    "Unproven",
    "choose",
    "draw_stories",
    "draw_story",
    "story_lines",
    "template_lines",
    "write_drawn",
]

_TRIES = 200
_CHUNK = 24


class Unproven(AssertionError):
    """The checker contradicts how a story was made: one of the two is wrong."""


def choose(
    templates: Sequence[Template], *, graph: str | None = None, domain: str | None = None
) -> tuple[Template, ...]:
    """Return the templates of a graph type and a domain.

    Raises:
        InputError: If there is none.
    """
    if graph is not None and graph not in GRAPHS:
        raise InputError(
            f"there is no graph type '{graph}'", hint=f"use one of {', '.join(GRAPHS)}"
        )
    chosen = tuple(t for t in templates if graph in (None, t.graph) and domain in (None, t.domain))
    if not chosen:
        raise InputError(
            f"no template is of graph '{graph}' and domain '{domain}'",
            hint="leave one of them out",
        )
    return chosen


def story_lines(
    n: int,
    seed: int,
    *,
    graph: str | None = None,
    domain: str | None = None,
    templates: str | None = None,
    private_lexicon: str | Path | None = None,
    processes: int = 1,
) -> Iterator[str]:
    """Return proven stories from any source, one JSON object a line.

    Args:
        n: How many stories.
        seed: Where randomness comes from.
        graph: Only this type of graph.
        domain: Only this domain, whatever its capitals.
        templates: Hand-written plots in place of composed ones: see `template_lines`.
        private_lexicon: A folder with a lexicon; the bundled one if none is given.
        processes: How many share the work.

    Raises:
        InputError: There is no such graph or domain, or a source cannot be used.
    """
    named = domain_named(domain) if domain is not None else None
    if templates is None:
        lexicon = bundled_lexicon() if private_lexicon is None else load_lexicon(private_lexicon)
        cells = cells_of(lexicon, graph=graph, domain=named)
        return compose_lines(n, seed, lexicon=lexicon, cells=cells, processes=processes)
    if private_lexicon is not None:
        raise InputError("a lexicon and templates exclude each other", hint="choose one source")
    return template_lines(str(templates), n, seed, graph=graph, domain=named, processes=processes)


def write_drawn(path: Path, n: int) -> None:
    """Write stories with their proofs to a JSON Lines file; the same number, the same file."""
    write_text(path, "".join(f"{line}\n" for line in story_lines(n, 0)))


def template_lines(
    source: str,
    n: int,
    seed: int,
    *,
    graph: str | None = None,
    domain: str | None = None,
    processes: int = 1,
) -> Iterator[str]:
    """Return stories of hand-written templates, one JSON object a line.

    Args:
        source: A folder of templates, or "bundled" for those that come with the package.
        n: How many stories.
        seed: Where randomness comes from.
        graph: Only templates of this type of graph.
        domain: Only templates of this domain.
        processes: How many share the work.

    Raises:
        InputError: As for `load_templates`, `choose` and `draw_stories`.
    """
    among = bundled_templates() if source == "bundled" else load_templates(source)
    chosen = choose(among, graph=graph, domain=domain)
    drawn = draw_stories(chosen, n, seed, processes=processes)
    return (json.dumps(story_record(one), ensure_ascii=False) for one in drawn)


def draw_stories(
    templates: Sequence[Template], n: int, seed: int, *, processes: int = 1
) -> Iterator[KnownStory]:
    """Yield stories, evenly over the templates, no two texts alike.

    The same templates, number and seed give the same stories, by however many processes.

    Args:
        templates: What to draw from.
        n: How many stories.
        seed: Where randomness comes from.
        processes: How many share the work.

    Raises:
        InputError: If the templates do not hold that many.
        Unproven: If a story is not what it is meant to be.
    """
    seen: set[str] = set()
    for index, story in enumerate(_firsts(templates, n, seed, processes)):
        for attempt in range(1, _TRIES):
            if story.story.text not in seen:
                break
            story = _draw(templates, seed, index, attempt)
        if story.story.text in seen:
            template, variation = _turn(templates, seed, index)
            raise InputError(
                f"template '{template.id}' seems to hold no more than {variation - 1:,} stories",
                hint="ask for fewer, or for more graph types and domains",
            )
        seen.add(story.story.text)
        yield story


def draw_story(
    template: Template, variation: int, rng: np.random.Generator, case: Case | None = None
) -> KnownStory:
    """Return one story of a template, proven.

    Args:
        template: The template.
        variation: The number that its id gets.
        rng: Where randomness comes from.
        case: The case to write; a random one if none is given.

    Raises:
        Unproven: If the checker contradicts how it was made.
    """
    if case is None:
        place = np.searchsorted(_shares(template), rng.random(), side="right")
        case = cases(template)[int(place)]
    setting = draw_setting(case, rng)
    supposed = template.stated[case.variable].supposed(setting.after[case.variable], setting.words)
    right = right_answers(setting, rng)
    story = Story(
        id=f"{template.number}v{variation}",
        core_set_id=template.number,
        variation_id=variation,
        domain=template.domain,
        text=realize(template, setting.words, setting.before, setting.style),
        queries=queries(supposed),
        answer=right[0].text,
        graph=template.graph,
        failure_modes=probed_modes(case, setting.before, setting.after),
        proof=proof_record(template.id, setting.words, case.proof),
        **criterion_texts(setting),
    )
    drawn = KnownStory(story=story, right=right, wrong=wrong_answers(setting, rng))
    problems = check_story(template, story_record(drawn))
    if problems:
        raise Unproven(f"{template.id}: {problems[0]}")
    return drawn


def _firsts(
    templates: Sequence[Template], n: int, seed: int, processes: int
) -> Iterator[KnownStory]:
    """Yield the first try at each story."""
    if processes == 1:
        yield from (_draw(templates, seed, index, 0) for index in range(n))
        return
    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(templates, seed)) as pool:
        yield from pool.map(_draw_here, range(n), chunksize=_CHUNK)


_here: list[tuple[Sequence[Template], int]] = []  # in a worker: what it draws from, and its seed


def _begin(templates: Sequence[Template], seed: int) -> None:
    end_with_parent()
    _here[:] = [(templates, seed)]


def _draw_here(index: int) -> KnownStory:
    templates, seed = _here[0]
    return _draw(templates, seed, index, 0)


def _draw(templates: Sequence[Template], seed: int, index: int, attempt: int) -> KnownStory:
    template, variation = _turn(templates, seed, index)
    return draw_story(template, variation, np.random.default_rng([seed, 2, index, attempt]))


def _turn(templates: Sequence[Template], seed: int, index: int) -> tuple[Template, int]:
    """Return whose turn it is: every round has each template once, in an order of its own."""
    done, place = divmod(index, len(templates))
    order = _order(len(templates), seed, done)
    return templates[order[place]], done + 1


@lru_cache(maxsize=8)
def _order(size: int, seed: int, done: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng([seed, 1, done]).permutation(size).tolist())


@cache
def _shares(template: Template) -> NDArray[np.float64]:
    """Return where each case ends on a line from 0 to 1: a case that asks more has more of it."""
    weights = []
    for case in cases(template):
        weight = 3.0 if len(case.changed) > 1 or case.moved else 1.0
        weight *= 2.0 if case.latents else 1.0
        weights.append(weight * (0.3 if case.open else 1.0))
    ends = np.cumsum(weights)
    return np.asarray(ends / ends[-1], dtype=np.float64)
