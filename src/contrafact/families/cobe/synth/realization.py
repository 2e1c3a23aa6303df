"""Surface realization: from what is asserted of each variable to English, connectors and all.

The connectors follow what is asserted: an effect that goes the way its cause pushes it comes
with "so" or "because", one that does not with "but" or "although". A style (order of sentences,
place of causes, choice of connectors) is drawn once and can realize any assertions, so that a story
and its edits are written alike.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from contrafact.families.cobe.synth.template import Asserted, Template, Words

__all__ = ["Assertions", "Edge", "Style", "draw_style", "realize", "sentence", "stated_edges"]

Assertions = Mapping[str, Asserted]
Edge = tuple[str, str]
"""A cause and its effect."""

_START = re.compile(r"(?:^|(?<=[.\n] ))[a-z]")


@dataclass(frozen=True, slots=True)
class Style:
    """How the stories of one template are written.

    Attributes:
        order: The variables of the story, causes before effects: the order in which they come up.
        picks: For every variable, a number that picks among the ways to join it to its causes.
        links: For every variable, which word may begin its sentence; none comes twice.
        pairs: Whether two effects of one cause may share a sentence.
        first: Whether what has no edges comes first, and confounded causes come side by side.
    """

    order: tuple[str, ...]
    picks: Mapping[str, int]
    links: Mapping[str, int]
    pairs: bool
    first: bool


def draw_style(template: Template, rng: np.random.Generator) -> Style:
    """Return a random style."""
    keys = dict(zip(template.stated, rng.permutation(len(template.stated)).tolist(), strict=True))
    order: list[str] = []
    parents = template.stated_graph.parents
    while len(order) < len(keys):
        ready = [n for n in keys if n not in order and all(p in order for p in parents[n])]
        order.append(min(ready, key=keys.__getitem__))
    picks = dict(zip(order, rng.integers(0, 1 << 16, len(order)).tolist(), strict=True))
    shuffled = rng.permutation(max(len(order), len(_connectors()["link"]))).tolist()
    links = dict(zip(order, shuffled[: len(order)], strict=True))
    pairs, first = (bool(x) for x in rng.integers(0, 2, 2))
    return Style(tuple(order), picks, links, pairs, first)


def stated_edges(template: Template, assertions: Assertions) -> dict[Edge, bool]:
    """Return every cause and effect that are both asserted, and whether the effect follows."""
    return {
        (cause, effect): template.usual(
            cause, effect, assertions[cause].value, assertions[effect].value
        )
        for effect in template.stated
        if effect in assertions
        for cause in template.stated_graph.parents[effect]
        if cause in assertions
    }


def sentence(clause: str) -> str:
    """Return a clause as a sentence of its own."""
    return f"{clause[0].upper()}{clause[1:]}."


def realize(
    template: Template,
    words: Words,
    assertions: Assertions,
    style: Style,
    joined: Mapping[Edge, bool] | None = None,
    cut: Collection[str] = (),
) -> str:
    """Return the assertions as a text.

    Args:
        template: The template.
        words: What fills its slots.
        assertions: What is said of each variable; what is left out is not written.
        style: How it is written.
        joined: For some causes and effects, whether the connector says that the effect follows,
            in place of what the assertions make true.
        cut: Variables that were set: nothing that is told is joined to them as their cause.
    """
    return _Realizer(template, words, assertions, style, joined or {}, cut).text()


class _Realizer:
    def __init__(
        self,
        template: Template,
        words: Words,
        assertions: Assertions,
        style: Style,
        joined: Mapping[Edge, bool],
        cut: Collection[str],
    ) -> None:
        self.template, self.words, self.style = template, words, style
        self.assertions = assertions
        self.follows = {**stated_edges(template, assertions), **joined}
        self.order = [name for name in style.order if name in assertions]
        self.causes = {
            name: []
            if name in cut
            else [p for p in self.order if p in template.stated_graph.parents[name]]
            for name in self.order
        }
        self.stated: set[str] = set()
        self.last: tuple[str, ...] = ()  # the variables of the last sentence's main clauses
        self.sentences: list[str] = []

    def text(self) -> str:
        joined = {cause for causes in self.causes.values() for cause in causes}
        alone = [n for n in self.order if not self.causes[n] and n not in joined]
        effects = [n for n in self.order if self.causes[n]]
        if self.style.first:
            self._unrelated([*alone, *self._confounded(alone)])
        while effects:
            name = effects.pop(0)
            partner = self._partner(name, effects)
            if partner:
                effects.remove(partner)
                self._pair(name, partner)
            else:
                self._effect(name)
        if not self.style.first:
            self._unrelated(alone)
        return " ".join(self.sentences)

    def _confounded(self, alone: list[str]) -> list[str]:
        """Return causes that share an unobserved cause, to be written side by side."""
        for group in self.template.confounded:
            roots = [n for n in self.order if n in group and not self.causes[n] and n not in alone]
            if len(roots) + len([n for n in alone if n in group]) > 1:
                return roots
        return []

    def _unrelated(self, names: list[str]) -> None:
        names = list(names)
        while names:
            one = names.pop(0)
            other = names.pop(0) if names else None
            if other is None:
                self._say("{one}.", (one,), one=self._clause(one))
            else:
                plain = _pick("adjacent", self.style.picks[one])["plain"]
                mains = (one, other) if plain.count(".") == 1 else (other,)
                self._say(plain, mains, one=self._clause(one), other=self._clause(other))
            self.stated |= {one} | ({other} if other else set())

    def _partner(self, name: str, effects: list[str]) -> str | None:
        """Return another effect of the same one cause that goes the same way, if it may join."""
        if not self.style.pairs or len(self.causes[name]) != 1:
            return None
        cause = self.causes[name][0]
        for other in effects:
            same = self.causes[other] == [cause]
            if same and self.follows[cause, name] == self.follows[cause, other]:
                return other
        return None

    def _pair(self, name: str, other: str) -> None:
        cause = self.causes[name][0]
        follows = self.follows[cause, name]
        again = cause in self.stated
        first = self._noun(cause) if again else self._clause(cause)
        parts = {"cause": first, "effect": self._clause(name), "other": self._clause(other)}
        self._join("shared_again" if again else "shared", _kind(follows), (name, other), parts)
        self.stated |= {cause, name, other}

    def _effect(self, name: str) -> None:
        causes = self.causes[name]
        ways = {cause: self.follows[cause, name] for cause in causes}
        again = [cause for cause in causes if cause in self.stated]
        same = len(set(ways.values())) == 1
        kind = _kind(ways[causes[0]]) if same else "mixed"
        of = self._noun if again else self._clause
        if same and len(again) == len(causes) and set(self.last) == set(causes):
            how, parts = "before", {}
        elif len(causes) == 1:
            how, parts = "again" if again else "one", {"cause": of(causes[0])}
        elif len(again) == 1:
            new = next(cause for cause in causes if cause not in again)
            kind = kind if same else "new_follows" if ways[new] else "new_against"
            how, parts = "one_again", {"noun": of(again[0]), "clause": self._clause(new)}
        else:
            how = "both_again" if again else "two"
            parts = {"cause": of(causes[0]), "other": of(causes[1])}
            if not same:
                parts = {_kind(ways[cause]): of(cause) for cause in causes}
        self._join(how, kind, (name,), {**parts, "effect": self._clause(name)})
        self.stated |= {name, *causes}

    def _join(self, how: str, kind: str, mains: tuple[str, ...], parts: Mapping[str, str]) -> None:
        link = _pick("link", self.style.links[mains[0]]).get(kind, "")
        self._say(_pick(how, self.style.picks[mains[0]])[kind], mains, link=link, **parts)

    def _clause(self, name: str) -> str:
        return self.template.stated[name].realized(self.assertions[name], self.words)

    def _noun(self, name: str) -> str:
        noun = self.template.stated[name].nouns[self.assertions[name].value]
        return noun.format_map(self.words)

    def _say(self, pattern: str, mains: tuple[str, ...], **parts: str) -> None:
        text = pattern.format_map(parts)
        self.sentences.append(_START.sub(lambda m: m[0].upper(), text))
        self.last = mains


def _kind(follows: bool) -> str:
    return "follows" if follows else "against"


@cache
def _connectors() -> dict[str, list[dict[str, str]]]:
    text = (
        files("contrafact.families.cobe.synth")
        .joinpath("connectors.toml")
        .read_text(encoding="utf-8")
    )
    return tomllib.loads(text)


def _pick(how: str, pick: int) -> dict[str, str]:
    ways = _connectors()[how]
    return ways[pick % len(ways)]
