"""What a text settles: every causal model that agrees with what it tells, and what all of them say.

A text tells facts, and relations: in sentences that tell a rule, and by its connectors. The noise
of what happened is held under an intervention, so every mechanism is there one function of its told
causes (Balke and Pearl, 1994), and a hidden common cause is as it was. The family of models that
agree with a text is all choices of one such function for every event: of those that give the fact,
go the way that everyone takes for granted (what a cause furthers), and agree with each relation
that is told. A verdict is proven where all members of the family give it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from contrafact.causal.model import Value

_MOST_MODELS = 4096


@dataclass(frozen=True, slots=True)
class Relation:
    """A sentence that tells how things hang together.

    Attributes:
        says: The sentence.
        form: "any" or "all": the effect comes of any of its causes, or of all together; "up" or
            "down": the number moves so with each of its causes; "common": the causes have an untold
            cause in common.
        shield: The latent that holds the effect back.
    """

    says: str
    form: str
    causes: tuple[str, ...]
    effect: str
    shield: str = ""

    def record(self) -> dict[str, object]:
        """Return it in the form of a file."""
        found: dict[str, object] = {"says": self.says, "form": self.form}
        found |= {"causes": list(self.causes), "effect": self.effect}
        return found | ({"unless": self.shield} if self.shield else {})

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "Relation":
        """Read it from a file.

        Raises:
            KeyError, TypeError, ValueError: It is not what `record` gives.
        """
        causes = given["causes"]
        form, shield = str(given["form"]), str(given.get("unless", ""))
        if not isinstance(causes, Sequence) or form not in ("any", "all", "up", "down", "common"):
            raise ValueError(f"a relation of the form '{form}' is not known")
        return cls(str(given["says"]), form, tuple(map(str, causes)), str(given["effect"]), shield)


@dataclass(frozen=True, slots=True)
class Joining:
    """What a connector says of events: that the effect would not be without the causes, or is in
    spite of them."""

    causes: tuple[str, ...]
    effect: str
    follows: bool


_Function = tuple[bool, ...]
"""What comes of every setting of the causes, the first one's bit the lowest."""


@dataclass(frozen=True, slots=True)
class _Choice:
    function: _Function
    shield: tuple[str, bool] | None


@dataclass(frozen=True)
class Family:
    """All causal models that agree with a text.

    ``choices``: the functions that an event may follow by; ``ways``: if a cause raises a number.
    """

    facts: Mapping[str, Value]
    parents: Mapping[str, tuple[str, ...]]
    choices: Mapping[str, tuple[_Choice, ...]]
    ways: Mapping[tuple[str, str], bool]

    def implied(self) -> dict[str, bool | None]:
        """Return what holds back, and whether it is there; None where that is open."""
        found: dict[str, set[bool]] = {}
        for choices in self.choices.values():
            for choice in choices:
                if choice.shield is not None:
                    found.setdefault(choice.shield[0], set()).add(choice.shield[1])
        return {name: values.pop() if len(values) == 1 else None for name, values in found.items()}

    def after(self, supposed: Mapping[str, Value]) -> dict[str, set[Value]]:
        """Return what every event can be under an intervention, in some member of the family.

        Raises:
            ValueError: The family is too large.
        """
        if prod(len(choices) for choices in self.choices.values()) > _MOST_MODELS:
            raise ValueError("the text leaves too much open")
        found: dict[str, set[Value]] = {name: set() for name in self.choices}
        for member in product(*self.choices.values()):
            values: dict[str, bool] = {}
            for name, choice in zip(self.choices, member, strict=True):
                if name in supposed:
                    values[name] = bool(supposed[name])
                else:
                    setting = _setting(values[one] for one in self.parents[name])
                    values[name] = choice.function[setting]
                found[name].add(values[name])
        return found

    def directions(self, number: str, after: Mapping[str, set[Value]]) -> set[str]:
        """Return which ways a number may go: up, down or nowhere; both where none is told."""
        ways: set[str] = set()
        for cause in self.parents[number]:
            moved = {value for value in after[cause] if value != self.facts[cause]}
            if not moved:
                continue
            up = self.ways.get((number, cause))
            if up is None:
                ways |= {"up", "down"}
            else:
                ways.add("down" if up == self.facts[cause] else "up")
            if len(after[cause]) > 1:
                ways.add("nowhere")
        return ways or {"nowhere"}


def _setting(values: Iterable[bool]) -> int:
    return sum(value << place for place, value in enumerate(values))


@lru_cache(maxsize=8)
def _monotone(number: int) -> tuple[_Function, ...]:
    """Return all functions of so many causes that none of them hinders."""
    size = 1 << number
    return tuple(
        function
        for function in product((False, True), repeat=size)
        if all(
            function[low] <= function[low | 1 << place]
            for low in range(size)
            for place in range(number)
        )
    )


def family_of(
    facts: Mapping[str, Value],
    parents: Mapping[str, Sequence[str]],
    numbers: Iterable[str],
    relations: Sequence[Relation],
    joinings: Sequence[Joining],
) -> Family:
    """Return all causal models that agree with a text.

    Args:
        facts: What it tells, by variable.
        parents: For every told variable, what everyone takes for a possible cause of it; causes
            first.
        relations: What its sentences tell.
        joinings: What its connectors tell.

    Raises:
        ValueError: No model agrees with it, or it tells a link that nobody takes for possible.
    """
    links = [(one.causes, one.effect) for one in relations if one.form != "common"]
    links += [(one.causes, one.effect) for one in joinings]
    for causes, effect in links:
        if not set(causes) <= set(parents.get(effect, ())):
            raise ValueError(f"{list(causes)} cannot be causes of '{effect}'")
    quantities = set(numbers)
    ways = {
        (one.effect, cause): one.form == "up"
        for one in relations
        if one.form in ("up", "down")
        for cause in one.causes
    }
    choices = {}
    for name, own in parents.items():
        if name not in quantities:
            rules = [one for one in relations if one.effect == name]
            claims = [one for one in joinings if one.effect == name]
            choices[name] = tuple(_choices(facts, name, tuple(own), rules, claims))
            if not choices[name]:
                raise ValueError(f"nothing that is told of '{name}' agrees with the facts")
    return Family(facts, {n: tuple(c) for n, c in parents.items()}, choices, ways)


def _choices(
    facts: Mapping[str, Value],
    name: str,
    causes: tuple[str, ...],
    rules: Sequence[Relation],
    claims: Sequence[Joining],
) -> Iterator[_Choice]:
    now = _setting(bool(facts[cause]) for cause in causes)
    bit = {cause: 1 << place for place, cause in enumerate(causes)}
    shields = {rule.shield for rule in rules if rule.shield}
    options: list[tuple[str, bool] | None] = [None]
    if shields:
        options = [(min(shields), there) for there in (False, True)]
    for function in _monotone(len(causes)):
        if function[now] != facts[name]:
            continue
        if any(
            claim.follows and function[now ^ sum(bit[one] for one in claim.causes)] == facts[name]
            for claim in claims
        ):
            continue
        for shield in options:
            held = shield is not None and shield[1]
            if all(function == (_nothing if held else _ruled)(rule, causes) for rule in rules):
                yield _Choice(function, shield)


def _nothing(rule: Relation, causes: tuple[str, ...]) -> _Function:
    return (False,) * (1 << len(causes))


@lru_cache(maxsize=1024)
def _ruled(rule: Relation, causes: tuple[str, ...]) -> _Function:
    """Return the function that a sentence tells: any of its causes, or all of them."""
    place = [causes.index(one) for one in rule.causes]
    join = any if rule.form == "any" else all
    return tuple(join(setting >> at & 1 for at in place) for setting in range(1 << len(causes)))
