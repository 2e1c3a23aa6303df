"""From what is asserted, and which causes are named, to English.

Every event has wordings for the story, others for answers and another for criteria (`Wordings`), so
that a text repeats of another what the two are about, and not what they say of it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from contrafact.families.cobe.synth.crossing import Claim, Situation
from contrafact.families.cobe.synth.lexicon import QUANTITY_WORDINGS, Clause, Kind, Noun, Pair
from contrafact.families.cobe.synth.plots import Plot

__all__ = [
    "CLOSINGS",
    "OPENINGS",
    "Narrative",
    "Wordings",
    "criterion_texts",
    "draw_wordings",
    "realize",
    "sentence",
]

OPENINGS = (
    "Here is the passage, rewritten for the change you describe:",
    "Sure! This is how it goes:",
    "Let me work through what the change touches, and what it leaves alone. The new version reads:",
    "**Rewritten passage**",
)
CLOSINGS = (
    "The rest of the passage is as you gave it.",
    "I have kept whatever does not depend on the change.",
    "Tell me if you would like a longer version!",
)
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
_AFTER_HEAD = re.compile(r" (?:of|for|with|to|from|in|on|at|by) ")
_TEXTS = ((0, 2), (2, 4), (4, 5))
"""Which of five wordings are those of the story, of its answers and of its criteria."""
_PLAIN = ("{one}, and {other}.", "{one}, and {other}.", "{one}. {other}.")
_OPEN = ("It remains unclear {clauses}.", "Nobody can say {clauses}.")


@dataclass(frozen=True)
class Wordings:
    """The wordings of one block, realized: no slot is left in them.

    Attributes:
        clauses: For every event, its wordings: two of the story, two of answers, one of criteria;
            each a pair, without trouble and with it.
        nouns: For every event, pairs of noun phrases: one for the story, one for answers.
        whole: The same with their entities, for where two are named together.
        latents: For every latent, two pairs of clauses for answers and one for criteria.
        amounts: Of the quantity, the wordings with ``{n}``, in the same five roles.
        quantity: What the quantity is, and its unit with a blank before it.
        pronouns: For latents, their clauses of answers with a pronoun for the entity; no wordings
            of latents for which a pronoun would be stiff, or which it would not tell apart.
    """

    clauses: Mapping[str, tuple[tuple[Clause, Clause], ...]]
    nouns: Mapping[str, tuple[tuple[str, str], ...]]
    whole: Mapping[str, tuple[tuple[str, str], ...]]
    latents: Mapping[str, tuple[tuple[Clause, Clause], ...]]
    amounts: tuple[Clause, ...]
    quantity: tuple[str, str]
    pronouns: Mapping[str, tuple[tuple[str, str], ...]]

    def record(self, plot: Plot) -> dict[str, object]:
        """Return them in the form of a file: what each value of a variable may be called."""
        found: dict[str, object] = {}
        for name, pairs in self.clauses.items():
            found[name] = {
                word: {
                    "clauses": [pair[value].stated for pair in pairs],
                    "supposed": [pair[value].supposed for pair in pairs[:2]],
                    "nouns": list(
                        dict.fromkeys(p[value] for p in (*self.nouns[name], *self.whole[name]))
                    ),
                }
                for value, word in enumerate(("false", "true"))
            }
        for name, pairs in self.latents.items():
            found[name] = {
                word: {
                    "clauses": [
                        *(pair[value].stated for pair in pairs),
                        *(pair[value] for pair in self.pronouns[name] if pair[value]),
                    ]
                }
                for value, word in enumerate(("false", "true"))
            }
        if plot.measure is not None:
            entity, unit = self.quantity
            found[plot.told[-1]] = {
                "amounts": [one.stated for one in self.amounts],
                "entity": entity,
                "unit": unit.strip(),
            }
        return found


def draw_wordings(plot: Plot, rng: Random) -> Wordings:
    """Return which wordings of each event serve the story, its answers and its criteria."""

    def filled(clause: Clause, entity: str) -> Clause:
        return Clause(clause.stated.replace("{x}", entity), clause.supposed.replace("{x}", entity))

    def of_kind(name: str) -> Kind:
        return plot.events[name].kind

    clauses, nouns, latents = {}, {}, {}
    pronouns: dict[str, tuple[tuple[str, str], ...]] = {}
    picks: dict[str, list[Pair]] = {}
    entities = {name: event.entity.format_map(plot.words) for name, event in plot.events.items()}
    for name, event in plot.events.items():
        x = entities[name]
        picks[name] = _apart(event.kind, [picks[n] for n in picks if of_kind(n) is event.kind], rng)
        clauses[name] = tuple((filled(a, x), filled(b, x)) for a, b in picks[name])
        nouns[name] = tuple(rng.sample(event.kind.nouns, 2))
    for latent, name in plot.latents.items():
        x = entities[name]
        # A latent is true where it keeps trouble away: where all is well.
        shields = rng.sample(plot.events[name].kind.shields, 3)
        latents[latent] = tuple((filled(bare, x), filled(safe, x)) for safe, bare in shields)
        pronouns[latent] = tuple(
            (_with_pronoun(bare.stated, x), _with_pronoun(safe.stated, x))
            for safe, bare in shields[:2]
        )
    seen = Counter(text for pairs in pronouns.values() for pair in pairs for text in pair)
    for latent, pairs in pronouns.items():
        pronouns[latent] = tuple(
            pair if seen[pair[0]] == seen[pair[1]] == 1 else ("", "") for pair in pairs
        )
    quantity = ("", "")
    amounts: tuple[Clause, ...] = ()
    if plot.quantity is not None:
        x = plot.quantity.entity.format_map(plot.words)
        counted = x.startswith("the number of")
        quantity = x, "" if counted or not plot.quantity.unit else f" {plot.quantity.unit}"
        amounts = tuple(
            Clause(one.stated.format(x=x, n="{n}", unit=quantity[1]), "")
            for one in rng.sample(QUANTITY_WORDINGS, 5)
        )
    return Wordings(clauses, *_references(nouns, entities), latents, amounts, quantity, pronouns)


def _with_pronoun(clause: str, entity: str) -> str:
    """Return a clause with a pronoun for its entity; nothing where that would be stiff."""
    head = _AFTER_HEAD.split(entity)[0]
    plural = head.endswith("s") and not head.endswith(("ss", "us"))
    if clause.startswith("{x}"):
        return f"{'they' if plural else 'it'}{clause.removeprefix('{x}')}"
    if clause.endswith("{x}") and not clause.endswith((" at {x}", " of {x}")):
        return f"{clause.removesuffix('{x}')}{'them' if plural else 'it'}"
    return ""


def _apart(kind: Kind, others: Sequence[Sequence[Pair]], rng: Random) -> list[Pair]:
    """Return a kind's wordings in an order that words no text as others of the kind word it."""
    best: list[Pair] = []
    fewest = 99
    for _ in range(12 if others else 1):
        order = rng.sample(kind.wordings, 5)
        alike = sum(
            len({id(one) for one in order[a:b]} & {id(one) for one in other[a:b]})
            for other in others
            for a, b in _TEXTS
        )
        if alike < fewest:
            best, fewest = order, alike
    return best


def _references(
    nouns: Mapping[str, Sequence[tuple[str, str]]], entities: Mapping[str, str]
) -> tuple[dict[str, tuple[tuple[str, str], ...]], dict[str, tuple[tuple[str, str], ...]]]:
    """Return the noun phrases of every event, as short as no two read alike, and with entities."""
    read = {name: [tuple(map(Noun.of, pair)) for pair in pairs] for name, pairs in nouns.items()}
    seen = Counter(
        text for pairs in read.values() for text in {noun.short for pair in pairs for noun in pair}
    )

    def forms(*, short: bool) -> dict[str, tuple[tuple[str, str], ...]]:
        found = {}
        for name, pairs in read.items():
            texts = [
                noun.short if short and seen[noun.short] == 1 else noun.whole
                for pair in pairs
                for noun in pair
            ]
            filled = [text.replace("{x}", entities[name]) for text in texts]
            found[name] = tuple(zip(filled[::2], filled[1::2], strict=True))
        return found

    return forms(short=True), forms(short=False)


@dataclass(frozen=True)
class Narrative:
    """What a text shall say.

    Attributes:
        values: What is said of each event; None leaves it open.
        amount: The quantity's number; unused without one.
        claims: What connectors shall say.
        roles: For every event and the quantity, which of its wordings is used.
        noun: Which pair of noun phrases is used.
        latent: A latent that is mentioned, with its value and the wording; None for none.
    """

    plot: Plot
    wordings: Wordings
    values: Mapping[str, bool | None]
    amount: int
    claims: Sequence[Claim]
    roles: Mapping[str, int]
    noun: int
    latent: tuple[str, bool, int] | None = None

    def clause(self, name: str) -> str:
        """Return the clause that states a variable."""
        if name not in self.wordings.clauses:
            return self.wordings.amounts[self.roles[name]].stated.replace("{n}", f"{self.amount:,}")
        value = self.values[name]
        return self.wordings.clauses[name][self.roles[name]][bool(value)].stated

    def reference(self, names: Sequence[str]) -> str:
        """Return the noun phrases that refer to what was told of events."""
        nouns = self.wordings.nouns if len(names) == 1 else self.wordings.whole
        return " and ".join(nouns[name][self.noun][bool(self.values[name])] for name in names)


def sentence(clause: str) -> str:
    """Return a clause as a sentence of its own."""
    return f"{clause[0].upper()}{clause[1:]}."


def realize(narrative: Narrative, rng: Random) -> str:
    """Return a text that says just this."""
    return _Text(narrative, rng).written()


class _Text:
    """A text on its way: what it says already, and what waits to be said."""

    def __init__(self, narrative: Narrative, rng: Random):
        self.narrative, self.rng = narrative, rng
        plot = narrative.plot
        parents = {name: gate.parents for name, gate in plot.gates.items()}
        if plot.measure is not None:
            parents[plot.told[-1]] = plot.measure.parents
        self.order = _ordered(parents, rng)
        self.links = {kind: rng.sample(words, len(words)) for kind, words in _LINKS.items()}
        self.texts: list[str] = []
        self.placed: set[str] = set()
        self.plain: list[str] = []  # variables to be stated, joined to nothing
        self.last: tuple[str, ...] = ()  # what the last sentence is about
        self.used: set[str] = set()  # words that joined something

    def written(self) -> str:
        """Return the whole text."""
        narrative, rng = self.narrative, self.rng
        claims = {claim.effect: claim for claim in narrative.claims}
        causes = {cause for claim in narrative.claims for cause in claim.causes}
        opened = []
        for name in self.order:
            if name in self.placed:
                continue
            if name in narrative.values and narrative.values[name] is None:
                self.placed.add(name)
                opened.append(f"whether {narrative.clause(name)}")
            elif name in claims:
                self._join(claims[name])
            elif name not in causes:
                self.placed.add(name)
                self.plain.append(name)
        self._flush()
        self.plain.extend(name for name in self.order if name not in self.placed)
        self._flush()
        if narrative.latent is not None:
            _mention(narrative, *narrative.latent, self.texts, rng)
        if opened:
            clauses = " or ".join([", ".join(opened[:-1]), opened[-1]] if opened[1:] else opened)
            self.texts.append(rng.choice(_OPEN).format(clauses=clauses))
        return " ".join(f"{text[0].upper()}{text[1:]}" for text in _capitals(self.texts))

    def _flush(self) -> None:
        """State what waits, one or two to a sentence."""
        while self.plain:
            one = self.plain.pop(0)
            if self.plain and self.rng.random() < 0.6:
                other = self.plain.pop(0)
                text = self.rng.choice(_PLAIN).format(
                    one=self.narrative.clause(one), other=self.narrative.clause(other)
                )
                self.texts.append(text)
                self.last = (other,) if text.count(".") == 2 else (one, other)
            else:
                self.texts.append(f"{self.narrative.clause(one)}.")
                self.last = (one,)

    def _pattern(self, patterns: Sequence[str], *, together: bool = False) -> str:
        """Return a way to join that this text has not used yet."""
        able = [one for one in patterns if not (together and one in _OF_ONE)]
        new = [one for one in able if _joining(one) not in self.used]
        pattern = self.rng.choice(new or able)
        self.used.add(_joining(pattern))
        return pattern

    def _join(self, claim: Claim) -> None:
        """State the effects of some causes, and at once what comes of them in turn."""
        narrative, placed = self.narrative, self.placed
        self._flush()
        causes = claim.causes
        effects = [
            one.effect
            for one in narrative.claims
            if one.effect not in placed and (one.causes, one.follows) == (causes, claim.follows)
        ]
        new = [cause for cause in causes if cause not in placed]
        if new and len(new) < len(causes):
            self.plain.extend(new)
            self._flush()
            placed.update(new)
            new = []
        effect = " and ".join(narrative.clause(one) for one in effects)
        if new:
            cause = " and ".join(narrative.clause(one) for one in causes)
            pattern = self._pattern(_CLAUSES[claim.follows], together=len(causes) > 1)
        elif set(self.last) == set(causes) and not any(
            link in self.texts[-1] for link in _ALL_LINKS
        ):
            cause, pattern = "", "{link} {effect}."
        else:
            cause = narrative.reference(causes)
            pattern = self._pattern(_NOUNS[claim.follows])
        link = self.links[claim.follows].pop() if "{link}" in pattern else ""
        self.texts.append(pattern.format(cause=cause, effect=effect, link=link))
        placed.update((*causes, *effects))
        self.last = tuple(effects)
        for one in narrative.claims:
            if one.effect not in placed and set(one.causes) == set(self.last):
                self._join(one)
                break


def _mention(
    narrative: Narrative, latent: str, value: bool, role: int, texts: list[str], rng: Random
) -> None:
    """Put a latent first or last, or with a pronoun after the sentence on its event alone."""
    wordings, event = narrative.wordings, narrative.plot.latents[latent]
    mention = wordings.pronouns[latent][role][value]
    alone = f"{narrative.clause(event)}."
    entity = narrative.plot.events[event].entity.format_map(narrative.plot.words)
    if mention and alone in texts and alone.startswith(entity):
        place = texts.index(alone) + 1
        # A link looks back to the sentence before.
        if not texts[place : place + 1] or not texts[place].startswith(_ALL_LINKS):
            texts.insert(place, f"{mention}.")
            return
    texts.insert(
        0 if rng.random() < 0.5 else len(texts), f"{wordings.latents[latent][role][value].stated}."
    )


def _joining(pattern: str) -> str:
    """Return the word by which a pattern joins; nothing where the texts have links for that."""
    return _JOINING.sub("", pattern).strip().lower()


def _capitals(texts: Sequence[str]) -> list[str]:
    """Begin every sentence with a capital, also those within one of our patterns."""
    found = []
    for text in texts:
        first, stop, second = text.partition(". ")
        found.append(f"{first}{stop}{second[:1].upper()}{second[1:]}")
    return found


def _ordered(parents: Mapping[str, Sequence[str]], rng: Random) -> list[str]:
    """Return the variables in a random order, causes before effects."""
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
        return " ".join(sentence(wordings.clauses[n][4][one.facts[n]].stated) for n in names)

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
