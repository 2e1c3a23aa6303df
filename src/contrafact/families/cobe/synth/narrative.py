"""English texts that say given values of events and given connectors between them.

Story, answers and criteria word an event differently (`Wordings`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from contrafact.families.cobe.data import LATENT, NUMERICAL
from contrafact.families.cobe.synth.crossing import Situation
from contrafact.families.cobe.synth.library import CRITERIA, Clause, Pair
from contrafact.families.cobe.synth.plots import QUANTITY, Plot
from contrafact.families.cobe.synth.relations import ConnectorClaim, Relation

_LINKS = {
    True: ("As a result,", "For that reason,", "Therefore,", "That is why"),
    False: ("Even so,", "Nevertheless,", "All the same,", "In spite of this,"),
}
_ALL_LINKS = tuple(link for links in _LINKS.values() for link in links)
_CLAUSES = {
    True: (
        *("{cause}, so {effect}.", "{cause}, and so {effect}.", "Because {cause}, {effect}."),
        *("Since {cause}, {effect}.", "{effect} because {cause}.", "{cause}. {link} {effect}."),
        "{effect}, since {cause}.",
    ),
    False: (
        *("{cause}, but {effect}.", "{cause}, yet {effect}.", "Although {cause}, {effect}."),
        *("Even though {cause}, {effect}.", "{effect}, although {cause}."),
        *("{cause}. {link} {effect}.", "{effect} even though {cause}."),
    ),
}
_NOUNS = {
    True: ("Because of {cause}, {effect}.", "{effect} because of {cause}."),
    False: ("Despite {cause}, {effect}.", "{effect} despite {cause}."),
}
_OF_ONE = frozenset(
    pattern for patterns in _CLAUSES.values() for pattern in patterns if pattern[:8] == "{cause},"
) | {"{cause}. {link} {effect}."}
"""Patterns for one cause: where two are joined by "and", the connector has to govern both."""
_SLOTS_AND_MARKS = re.compile(r"\{\w+\}|[.,]")
_PLAIN = ("{one}, and {other}.", "{one}, and {other}.", "{one}. {other}.")
_OPEN = ("It remains unclear {clauses}.", "Nobody can say {clauses}.")


@dataclass(frozen=True)
class Wordings:
    """The wordings of one block of stories, with names filled in.

    Attributes:
        clauses: For every event, four pairs of clauses (it did not happen, it did happen): one pair
            for the story, two for answers, one for criteria.
        nouns: For every event, pairs of noun phrases: one for the story, one for answers.
        latents: For every latent, two pairs of clauses for answers and one for criteria.
        amounts: Wordings of the quantity with ``{n}``, in the same four roles.
        quantity: The quantity's name, and its unit with a leading space.
        opening: The sentence at the beginning; ``then`` the one after the rules, empty if none.
    """

    clauses: Mapping[str, tuple[tuple[Clause, Clause], ...]]
    nouns: Mapping[str, tuple[tuple[str, str], ...]]
    latents: Mapping[str, tuple[tuple[Clause, Clause], ...]]
    amounts: tuple[str, ...]
    quantity: tuple[str, str]
    relations: tuple[Relation, ...]
    opening: str
    then: str

    def record(self, plot: Plot) -> dict[str, object]:
        """Return the wordings as a file has them, by variable and value."""
        record: dict[str, object] = {}
        for name, pairs in self.clauses.items():
            record[name] = {
                word: {
                    "clauses": [pair[value].stated for pair in pairs],
                    "supposed": [pairs[0][value].supposed],
                    "nouns": list(dict.fromkeys(pair[value] for pair in self.nouns[name])),
                }
                for value, word in enumerate(("false", "true"))
            }
        for name, pairs in self.latents.items():
            record[name] = {
                word: {"clauses": [pair[value].stated for pair in pairs]}
                for value, word in enumerate(("false", "true"))
            }
        if plot.measure is not None:
            entity, unit = self.quantity
            amounts = list(self.amounts)
            record[QUANTITY] = {"amounts": amounts, "entity": entity, "unit": unit.strip()}
        return record


def draw_wordings(plot: Plot, rng: Random) -> Wordings:
    """Draw the wordings of each event for the story, its answers and its criteria."""
    words = plot.words

    def drawn(pairs: Sequence[Pair], number: int) -> tuple[tuple[Clause, Clause], ...]:
        chosen = rng.sample(pairs, number)
        return tuple((no.filled(words), yes.filled(words)) for no, yes in chosen)

    clauses, nouns, latents = {}, {}, {}
    for name, event in plot.events.items():
        clauses[name] = drawn(event.wordings, CRITERIA + 1)
        nouns[name] = tuple(
            (no.format_map(words), yes.format_map(words)) for no, yes in rng.sample(event.nouns, 2)
        )
    for latent, name in () if plot.hedged else plot.latents.items():
        cause = plot.events[plot.gates[name].parents[0]].name
        latents[latent] = drawn(plot.events[name].links[cause].shields, 3)
    quantity = ("", "")
    amounts: tuple[str, ...] = ()
    if plot.quantity is not None:
        unit = f" {plot.quantity.unit}" if plot.quantity.unit else ""
        quantity = plot.quantity.what.format_map(words), unit
        amounts = tuple(
            amount.format(x=quantity[0], n="{n}", unit=unit, **words)
            for amount in rng.sample(plot.quantity.says, 4)
        )
    opening = rng.choice(plot.scene.openings).format_map(words)
    then = rng.choice(plot.scene.then or ("",)).format_map(words)
    relations = tuple(_relations(plot, rng))
    return Wordings(clauses, nouns, latents, amounts, quantity, relations, opening, then)


_EITHER = ("either {one} or {other} will {effect}", "{one} will {effect}, and so will {other}")
_TOGETHER = (
    "it takes both {one} and {other} to {effect}",
    "only {one} and {other} together can {effect}",
)
_BEHIND = (
    "{topic} can be behind both {one} and {other}, and neither of these leads to the other",
    "{one} and {other} can both come from {topic}, and neither is a reason for the other",
)


def _relations(plot: Plot, rng: Random) -> Iterator[Relation]:
    """Yield the sentences that tell the causal relations, causes first."""

    def filled(text: str, **more: str) -> str:
        inserted = {slot: phrase.format_map(plot.words) for slot, phrase in more.items()}
        return sentence(text.format(**plot.words, **inserted))

    if plot.common is not None:
        first, second, behind = plot.common
        text = rng.choice(behind.together or _BEHIND)
        one, other = rng.sample([plot.events[first].cause, plot.events[second].cause], 2)
        says = filled(text, one=one, other=other, topic=behind.topic)
        yield Relation(says, "common", (first, second), "")
    for name, gate in plot.gates.items():
        event = plot.events[name]
        causes = [plot.events[cause] for cause in gate.parents]
        if len(causes) == 1:
            link = event.links[causes[0].name]
            shield = gate.without if gate.without in plot.latents else ""
            yield Relation(
                filled(link.unless if shield else link.rule), "any", gate.parents, name, shield
            )
        elif causes:
            text = rng.choice(event.joint or (_TOGETHER if gate.form == "all" else _EITHER))
            rng.shuffle(causes)
            one, other = (cause.cause for cause in causes)
            says = filled(text, one=one, other=other, effect=event.effect)
            yield Relation(says, gate.form, gate.parents, name)
    if plot.measure is not None and plot.quantity is not None:
        way = "up" if plot.measure.gain > 0 else "down"
        for cause in plot.measure.parents:
            move = plot.quantity.links[plot.events[cause].name]
            yield Relation(filled(move.rule), way, (cause,), QUANTITY)


@dataclass(frozen=True)
class Narrative:
    """The content of a text.

    Attributes:
        values: What it says of each event; None leaves it open.
        roles: For every event and the quantity, which of its wordings is used.
        noun: Which of the pairs of noun phrases is used.
        latent: A latent that is mentioned, with its value and the wording.
        turned: Whether every connector says the opposite.
        before: Sentences at the beginning: where it takes place, and the causal relations.
        in_order: Whether causes are told before effects; else only where a connector joins them.
    """

    plot: Plot
    wordings: Wordings
    values: Mapping[str, bool | None]
    amount: int
    claims: Sequence[ConnectorClaim]
    roles: Mapping[str, int]
    noun: int
    latent: tuple[str, bool, int] | None = None
    turned: bool = False
    before: Sequence[str] = ()
    in_order: bool = True

    @property
    def causes(self) -> Mapping[str, Sequence[str]]:
        """For every variable, those that are told before it."""
        if self.in_order:
            return self.plot.parents
        joined = {claim.effect: claim.causes for claim in self.claims}
        return {name: joined.get(name, ()) for name in self.plot.told}

    def clause(self, name: str) -> str:
        """Return the clause that states a variable."""
        if name not in self.wordings.clauses:
            return self.wordings.amounts[self.roles[name]].replace("{n}", f"{self.amount:,}")
        value = self.values[name]
        return self.wordings.clauses[name][self.roles[name]][bool(value)].stated

    def reference(self, names: Sequence[str]) -> str:
        """Return the noun phrases that refer to events that the text has told."""
        nouns = self.wordings.nouns
        return " and ".join(nouns[name][self.noun][bool(self.values[name])] for name in names)


def sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


def realize(narrative: Narrative, rng: Random) -> str:
    return _Realization(narrative, rng).text()


class _Realization:
    """The realization of one narrative: sentences so far, and the events that they tell.

    Events are told causes first. One that a connector joins to its causes waits for its claim;
    the others wait in ``plain`` until a claim or the end needs them told.
    """

    def __init__(self, narrative: Narrative, rng: Random) -> None:
        self.narrative, self.rng = narrative, rng
        self.order = _causes_first(narrative.causes, rng)
        self.placed: set[str] = set()
        self.sentences: list[str] = []
        self.last: tuple[str, ...] = ()  # what the last sentence is about
        self.links = {kind: rng.sample(words, len(words)) for kind, words in _LINKS.items()}
        self.plain: list[str] = []
        self.used: set[str] = set()  # the connectors of the text so far

    def text(self) -> str:
        narrative, rng = self.narrative, self.rng
        claim_of = {claim.effect: claim for claim in narrative.claims}
        causes_of_claims = {cause for claim in narrative.claims for cause in claim.causes}
        opened = []
        for name in self.order:
            if name in self.placed:
                continue
            if name in narrative.values and narrative.values[name] is None:
                self.placed.add(name)
                opened.append(f"whether {narrative.clause(name)}")
            elif name in claim_of:
                self.state_claim(claim_of[name])
            elif name not in causes_of_claims:
                self.placed.add(name)
                self.plain.append(name)
        self.state_plain()
        self.plain.extend(name for name in self.order if name not in self.placed)
        self.state_plain()
        sentences = self.sentences
        if narrative.latent is not None:
            latent, there, role = narrative.latent
            sentence_of_latent = f"{narrative.wordings.latents[latent][role][there].stated}."
            sentences.insert(0 if rng.random() < 0.5 else len(sentences), sentence_of_latent)
        if opened:
            clauses = " or ".join([", ".join(opened[:-1]), opened[-1]] if opened[1:] else opened)
            sentences.append(rng.choice(_OPEN).format(clauses=clauses))
        return " ".join(
            f"{text[0].upper()}{text[1:]}" for text in (*narrative.before, *_capitals(sentences))
        )

    def state_plain(self) -> None:
        """State the events that wait, in sentences of one or two."""
        clause, events = self.narrative.clause, self.narrative.plot.events
        while self.plain:
            first = self.plain.pop(0)
            can_join = bool(self.plain) and not any(
                name in events and events[name].aside for name in (first, self.plain[0])
            )
            if can_join and self.rng.random() < 0.6:
                second = self.plain.pop(0)
                text = self.rng.choice(_PLAIN).format(one=clause(first), other=clause(second))
                self.sentences.append(text)
                self.last = (second,) if text.count(".") == 2 else (first, second)
            else:
                self.sentences.append(f"{clause(first)}.")
                self.last = (first,)

    def state_claim(self, claim: ConnectorClaim) -> None:
        """State the effects of some causes, and at once what those effects bring about in turn."""
        narrative, causes = self.narrative, claim.causes
        self.state_plain()
        effects = [
            other.effect
            for other in narrative.claims
            if other.effect not in self.placed
            and (other.causes, other.follows) == (causes, claim.follows)
        ]
        new = [cause for cause in causes if cause not in self.placed]
        if new and len(new) < len(causes):
            self.plain.extend(new)
            self.state_plain()
            self.placed.update(new)
            new = []
        follows = claim.follows is not narrative.turned
        effect = " and ".join(narrative.clause(name) for name in effects)
        if new:
            cause = " and ".join(narrative.clause(name) for name in causes)
            # Of a chain the second connector is the linking one; in an answer, where it is would
            # tell which of its connectors were turned.
            goes_on = any(set(other.causes) == set(effects) for other in narrative.claims)
            patterns = [
                pattern
                for pattern in _CLAUSES[follows]
                if not (narrative.before and goes_on and "{link}" in pattern)
            ]
            pattern = self.choose(patterns, of_several=len(causes) > 1)
        elif set(self.last) == set(causes) and not any(
            link in self.sentences[-1] for link in _ALL_LINKS
        ):
            cause, pattern = "", "{link} {effect}."
        else:
            cause = narrative.reference(causes)
            pattern = self.choose(_NOUNS[follows])
        link = self.links[follows].pop() if "{link}" in pattern else ""
        self.sentences.append(pattern.format(cause=cause, effect=effect, link=link))
        self.placed.update((*causes, *effects))
        self.last = tuple(effects)
        for other in narrative.claims:
            if other.effect not in self.placed and set(other.causes) == set(self.last):
                self.state_claim(other)
                break

    def choose(self, patterns: Sequence[str], *, of_several: bool = False) -> str:
        """Return a pattern whose connector this text has not used, as long as there is one."""
        able = [pattern for pattern in patterns if not (of_several and pattern in _OF_ONE)]
        new = [pattern for pattern in able if _connector(pattern) not in self.used]
        pattern = self.rng.choice(new or able)
        self.used.add(_connector(pattern))
        return pattern


def _connector(pattern: str) -> str:
    """Return the connector of a pattern; nothing where that is one of `_LINKS`."""
    return _SLOTS_AND_MARKS.sub("", pattern).strip().lower()


def _capitals(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        first, stop, second = text.partition(". ")
        yield f"{first}{stop}{second[:1].upper()}{second[1:]}"


def _causes_first(parents: Mapping[str, Sequence[str]], rng: Random) -> list[str]:
    """Return the variables in a random order in which no effect comes before its causes."""
    left = rng.sample(list(parents), len(parents))
    order: list[str] = []
    while left:
        ready = next(n for n in left if all(p in order or p not in parents for p in parents[n]))
        left.remove(ready)
        order.append(ready)
    return order


def criteria(situation: Situation, wordings: Wordings, rng: Random) -> list[str]:
    """Return the criteria of a story, as a file lists them (CoBe, section 3.2).

    E1 has the told events that are not downstream and stay; E2 those that are set or change
    downstream; E4 the way that the quantity moves from its figure in the story; E5 what the story
    implies and does not tell. E3, on connectors, has no text of its own.
    """

    def in_words(mask: int) -> str:
        names = situation.events(mask)
        rng.shuffle(names)
        return " ".join(
            sentence(wordings.clauses[n][CRITERIA][situation.facts[n]].stated) for n in names
        )

    numerical = []
    if situation.moves:
        entity, unit = wordings.quantity
        up = situation.after_quantity > situation.before_quantity
        before = f"{situation.before_quantity:,}{unit}"
        moves = sentence(rng.choice(_MOVES[up]).format(x=entity, before=before))
        numerical = [f"{NUMERICAL} {moves}"]
    implied = " ".join(
        sentence(wordings.latents[name][2][value].stated)
        for name, value in situation.implied.items()
    )
    latent = [f"{LATENT} {implied}"] * bool(implied)
    bits = situation.bits
    stays = in_words(bits.stays)
    if situation.plot.measure is not None and not situation.moves:
        amount = wordings.amounts[CRITERIA].replace("{n}", f"{situation.before_quantity:,}")
        stays = f"{stays} {sentence(amount)}"
    return [stays, in_words(bits.changes), *numerical, *latent]


_MOVES = {
    True: (
        *("{x} is higher than {before}", "{x} goes up from {before}", "{x} is more than {before}"),
        "{x} goes above {before}",
    ),
    False: (
        *("{x} is lower than {before}", "{x} goes down from {before}", "{x} is less than {before}"),
        "{x} drops below {before}",
    ),
}
