"""From what is asserted, and which causes are named, to English.

Story, answers and criteria word an event differently (`Wordings`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from contrafact.families.cobe.synth.crossing import Claim, Situation
from contrafact.families.cobe.synth.library import AMOUNTS, CRITERIA, Clause, Pair
from contrafact.families.cobe.synth.plots import QUANTITY, Plot
from contrafact.families.cobe.synth.relations import Relation

_LINKS = {
    True: ("As a result,", "For that reason,", "Because of this,", "Therefore,", "That is why"),
    False: ("Even so,", "Nevertheless,", "All the same,", "Despite this,", "In spite of this,"),
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
    True: (
        "Because of {cause}, {effect}.",
        "{effect} because of {cause}.",
        "Due to {cause}, {effect}.",
    ),
    False: (
        "Despite {cause}, {effect}.",
        "{effect} despite {cause}.",
        "In spite of {cause}, {effect}.",
    ),
}
_OF_ONE = frozenset(
    pattern for patterns in _CLAUSES.values() for pattern in patterns if pattern[:8] == "{cause},"
) | {"{cause}. {link} {effect}."}
"""How one cause is joined to its effect, and two are not: the "and" between them wants a word that
governs both."""
_JOINING = re.compile(r"\{\w+\}|[.,]")
_PLAIN = ("{one}, and {other}.", "{one}, and {other}.", "{one}. {other}.")
_OPEN = ("It remains unclear {clauses}.", "Nobody can say {clauses}.")


@dataclass(frozen=True)
class Wordings:
    """The wordings of one block, realized: no slot is left in them.

    Attributes:
        clauses: For every event, its wordings: one of the story, two of answers, one of criteria;
            each a pair, of what did not happen and what did.
        nouns: For every event, pairs of noun phrases: one for the story, one for answers.
        latents: For every latent, two pairs of clauses for answers and one for criteria.
        amounts: Of the quantity, the wordings with ``{n}``, in the same four roles.
        quantity: What the quantity is, and its unit with a blank before it.
    """

    clauses: Mapping[str, tuple[tuple[Clause, Clause], ...]]
    nouns: Mapping[str, tuple[tuple[str, str], ...]]
    latents: Mapping[str, tuple[tuple[Clause, Clause], ...]]
    amounts: tuple[str, ...]
    quantity: tuple[str, str]
    relations: tuple[Relation, ...]
    opening: str

    def record(self, plot: Plot) -> dict[str, object]:
        """Return them in the form of a file: what each value of a variable may be called."""
        found: dict[str, object] = {}
        for name, pairs in self.clauses.items():
            found[name] = {
                word: {
                    "clauses": [pair[value].stated for pair in pairs],
                    "supposed": [pairs[0][value].supposed],
                    "nouns": list(dict.fromkeys(pair[value] for pair in self.nouns[name])),
                }
                for value, word in enumerate(("false", "true"))
            }
        for name, pairs in self.latents.items():
            found[name] = {
                word: {"clauses": [pair[value].stated for pair in pairs]}
                for value, word in enumerate(("false", "true"))
            }
        if plot.measure is not None:
            entity, unit = self.quantity
            found[QUANTITY] = {
                "amounts": list(self.amounts),
                "entity": entity,
                "unit": unit.strip(),
            }
        return found


def draw_wordings(plot: Plot, rng: Random) -> Wordings:
    """Return which wordings of each event serve the story, its answers and its criteria."""
    words = plot.words

    def drawn(pairs: Sequence[Pair], number: int) -> tuple[tuple[Clause, Clause], ...]:
        chosen = rng.sample(pairs, number)
        return tuple((one.filled(words), other.filled(words)) for one, other in chosen)

    clauses, nouns, latents = {}, {}, {}
    for name, event in plot.events.items():
        clauses[name] = drawn(event.wordings, CRITERIA + 1)
        nouns[name] = tuple(
            (one.format_map(words), other.format_map(words))
            for one, other in rng.sample(event.nouns, 2)
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
            one.format(x=quantity[0], n="{n}", unit=unit) for one in rng.sample(AMOUNTS, 4)
        )
    opening = rng.choice(plot.scene.openings).format_map(words)
    return Wordings(
        clauses, nouns, latents, amounts, quantity, tuple(_relations(plot, rng)), opening
    )


_EITHER = (
    "either {one} or {other} will {effect}",
    "{one} will {effect}, and so will {other}",
)
_TOGETHER = (
    "it takes both {one} and {other} to {effect}",
    "only {one} and {other} together can {effect}",
)
_BEHIND = (
    "{topic} can lie behind both {one} and {other}, and neither of the two leads to the other",
    "{one} and {other} can both come from {topic}, while neither brings about the other",
)


def _relations(plot: Plot, rng: Random) -> Iterator[Relation]:
    """Yield the sentences that tell how things hang together, causes first."""

    def told(text: str, **more: str) -> str:
        return sentence(text.format(**plot.words, **more))

    if plot.common is not None:
        one, other, behind = plot.common
        text = rng.choice(_BEHIND)
        names = {"one": plot.events[one].cause, "other": plot.events[other].cause}
        if rng.random() < 0.5:
            names = {"one": names["other"], "other": names["one"]}
        says = sentence(text.format(**names, topic=behind.topic).format_map(plot.words))
        yield Relation(says, "common", (one, other), "")
    for name, gate in plot.gates.items():
        event = plot.events[name]
        causes = [plot.events[cause] for cause in gate.parents]
        if len(causes) == 1:
            link = event.links[causes[0].name]
            shield = gate.without if gate.without in plot.latents else ""
            yield Relation(
                told(link.unless if shield else link.rule), "any", gate.parents, name, shield
            )
        elif causes:
            text = rng.choice(_TOGETHER if gate.form == "all" else _EITHER)
            rng.shuffle(causes)
            filled = text.format(one=causes[0].cause, other=causes[1].cause, effect=event.effect)
            yield Relation(told(filled), gate.form, gate.parents, name)
    if plot.measure is not None and plot.quantity is not None:
        way = "up" if plot.measure.gain > 0 else "down"
        for cause in plot.measure.parents:
            move = plot.quantity.links[plot.events[cause].name]
            yield Relation(told(move.rule), way, (cause,), QUANTITY)


@dataclass(frozen=True)
class Narrative:
    """What a text shall say.

    Attributes:
        values: What it says of each event; None leaves it open.
        roles: For every event and the quantity, which of its wordings is used.
        latent: A latent that is mentioned, with its value and the wording; None for none.
        turned: Whether every connector says the opposite.
        before: What the text begins with: where it takes place, and how things hang together.
    """

    plot: Plot
    wordings: Wordings
    values: Mapping[str, bool | None]
    amount: int
    claims: Sequence[Claim]
    roles: Mapping[str, int]
    noun: int
    latent: tuple[str, bool, int] | None = None
    turned: bool = False
    before: Sequence[str] = ()

    def clause(self, name: str) -> str:
        """Return the clause that states a variable."""
        if name not in self.wordings.clauses:
            return self.wordings.amounts[self.roles[name]].replace("{n}", f"{self.amount:,}")
        value = self.values[name]
        return self.wordings.clauses[name][self.roles[name]][bool(value)].stated

    def reference(self, names: Sequence[str]) -> str:
        """Return the noun phrases that refer to what was told of events."""
        nouns = self.wordings.nouns
        return " and ".join(nouns[name][self.noun][bool(self.values[name])] for name in names)


def sentence(clause: str) -> str:
    """Return a clause as a sentence of its own."""
    return f"{clause[0].upper()}{clause[1:]}."


def realize(narrative: Narrative, rng: Random) -> str:
    """Return a text that says just this."""
    plot = narrative.plot
    waiting = {claim.effect: claim for claim in narrative.claims}
    order = _ordered(plot.parents, rng)
    placed: set[str] = set()
    texts: list[str] = []
    last: tuple[str, ...] = ()
    links = {kind: rng.sample(words, len(words)) for kind, words in _LINKS.items()}
    plain: list[str] = []

    def aside(name: str) -> bool:
        return name in plot.events and plot.events[name].aside

    def flush() -> None:
        nonlocal last
        while plain:
            one = plain.pop(0)
            if plain and not aside(one) and not aside(plain[0]) and rng.random() < 0.6:
                other = plain.pop(0)
                text = rng.choice(_PLAIN).format(
                    one=narrative.clause(one), other=narrative.clause(other)
                )
                texts.append(text)
                last = (other,) if text.count(".") == 2 else (one, other)
            else:
                texts.append(f"{narrative.clause(one)}.")
                last = (one,)

    def chosen(patterns: Sequence[str], *, together: bool = False) -> str:
        """Return a way to join that this text has not used yet."""
        able = [one for one in patterns if not (together and one in _OF_ONE)]
        new = [one for one in able if _joining(one) not in used]
        pattern = rng.choice(new or able)
        used.add(_joining(pattern))
        return pattern

    used: set[str] = set()
    opened = []
    waiting_for = {cause for claim in narrative.claims for cause in claim.causes}

    def assert_effect(claim: Claim) -> None:
        """State the effects of some causes, and at once what comes of them in turn."""
        nonlocal last
        flush()
        causes = claim.causes
        effects = [
            one.effect
            for one in narrative.claims
            if one.effect not in placed and (one.causes, one.follows) == (causes, claim.follows)
        ]
        new = [cause for cause in causes if cause not in placed]
        if new and len(new) < len(causes):
            plain.extend(new)
            flush()
            placed.update(new)
            new = []
        effect = " and ".join(narrative.clause(one) for one in effects)
        if new:
            cause = " and ".join(narrative.clause(one) for one in causes)
            pattern = chosen(
                _CLAUSES[claim.follows is not narrative.turned], together=len(causes) > 1
            )
        elif set(last) == set(causes) and not any(link in texts[-1] for link in _ALL_LINKS):
            cause, pattern = "", "{link} {effect}."
        else:
            cause = narrative.reference(causes)
            pattern = chosen(_NOUNS[claim.follows is not narrative.turned])
        link = links[claim.follows is not narrative.turned].pop() if "{link}" in pattern else ""
        texts.append(pattern.format(cause=cause, effect=effect, link=link))
        placed.update((*causes, *effects))
        last = tuple(effects)
        for one in narrative.claims:
            if one.effect not in placed and set(one.causes) == set(last):
                assert_effect(one)
                break

    for name in order:
        if name in placed:
            continue
        if name in narrative.values and narrative.values[name] is None:
            placed.add(name)
            opened.append(f"whether {narrative.clause(name)}")
            continue
        claim = waiting.get(name)
        if claim is not None:
            assert_effect(claim)
        elif name not in waiting_for:
            placed.add(name)
            plain.append(name)
    flush()
    plain.extend(name for name in order if name not in placed)
    flush()
    if narrative.latent is not None:
        latent, there, role = narrative.latent
        text = f"{narrative.wordings.latents[latent][role][there].stated}."
        texts.insert(0 if rng.random() < 0.5 else len(texts), text)
    if opened:
        clauses = " or ".join([", ".join(opened[:-1]), opened[-1]] if opened[1:] else opened)
        texts.append(rng.choice(_OPEN).format(clauses=clauses))
    return " ".join(
        f"{text[0].upper()}{text[1:]}" for text in (*narrative.before, *_capitals(texts))
    )


def _joining(pattern: str) -> str:
    """Return the word by which a pattern joins; nothing where the texts have links for that."""
    return _JOINING.sub("", pattern).strip().lower()


def _capitals(texts: Sequence[str]) -> list[str]:
    found = []
    for text in texts:
        first, stop, second = text.partition(". ")
        found.append(f"{first}{stop}{second[:1].upper()}{second[1:]}")
    return found


def _ordered(parents: Mapping[str, Sequence[str]], rng: Random) -> list[str]:
    left = rng.sample(list(parents), len(parents))
    order: list[str] = []
    while left:
        ready = next(n for n in left if all(p in order or p not in parents for p in parents[n]))
        left.remove(ready)
        order.append(ready)
    return order


def criterion_texts(
    one: Situation, wordings: Wordings, latent: Mapping[str, bool], rng: Random
) -> dict[str, str | None]:
    """Return the criteria of a story, by the fields of `Story`, in wordings of their own.

    CoBe, section 3.2. ``unchanged`` (E1) is what is told and must stay, ``changed`` (E2) what is
    set and what must change with it, ``numerical`` (E4) which way the quantity moves from its
    figure before, ``latent`` (E5) what is implied and never told.
    """
    _, _, stays, changes, _ = one.bits

    def in_words(bits: int) -> str:
        names = [name for place, name in enumerate(one.facts) if bits >> place & 1]
        rng.shuffle(names)
        return " ".join(sentence(wordings.clauses[n][CRITERIA][one.facts[n]].stated) for n in names)

    numerical = None
    if one.plot.measure is not None:
        entity, unit = wordings.quantity
        up = one.after_quantity > one.before_quantity
        before = f"{one.before_quantity:,}{unit}"
        numerical = sentence(rng.choice(_MOVES[up]).format(x=entity, before=before))
    implied = " ".join(
        sentence(wordings.latents[name][2][value].stated) for name, value in latent.items()
    )
    return {
        "unchanged": in_words(stays),
        "changed": in_words(changes),
        "numerical": numerical,
        "latent": implied or None,
    }


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
