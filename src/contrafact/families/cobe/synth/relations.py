"""All causal models that agree with a text, and what follows in every one of them.

A text tells facts, and relations: by sentences that state a rule, and by its connectors. Under an
intervention the noise of what happened is held, so every mechanism is one function of its told
causes (Balke and Pearl, 1994), and a hidden common cause stays as it was. A model that agrees with
the text chooses one such function for every event: one that gives the event's fact, that no cause
hinders, and that agrees with each relation told. A verdict is proven where all these models give
it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from contrafact.causal.model import Value


@dataclass(frozen=True, slots=True)
class Relation:
    """A sentence that states a causal relation.

    Attributes:
        says: The sentence.
        form: "any" or "all": any of the causes brings about the effect, or all together do; "up" or
            "down": each cause moves the number that way; "common": the causes have an untold cause
            in common.
        shield: The latent that holds the effect back.
    """

    says: str
    form: str
    causes: tuple[str, ...]
    effect: str
    shield: str = ""

    def record(self) -> dict[str, object]:
        record: dict[str, object] = {"says": self.says, "form": self.form}
        record |= {"causes": list(self.causes), "effect": self.effect}
        return record | ({"unless": self.shield} if self.shield else {})

    @classmethod
    def of(cls, record: Mapping[str, object]) -> "Relation":
        """Read it from what `record` gives; KeyError, TypeError or ValueError if it is not that."""
        causes = record["causes"]
        form, shield = str(record["form"]), str(record.get("unless", ""))
        if not isinstance(causes, Sequence) or form not in ("any", "all", "up", "down", "common"):
            raise ValueError(f"a relation of the form '{form}' is not known")
        return cls(
            str(record["says"]), form, tuple(map(str, causes)), str(record["effect"]), shield
        )


@dataclass(frozen=True, slots=True)
class ConnectorClaim:
    """What a connector says of events: the effect would not be without the causes, or is in spite
    of them."""

    causes: tuple[str, ...]
    effect: str
    follows: bool


_Function = tuple[bool, ...]
"""The effect for every setting of the causes; the lowest bit is the first cause."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A function that a mechanism can be, and whether a latent holds its event back."""

    function: _Function
    shield: tuple[str, bool] | None


@dataclass(frozen=True)
class Family:
    """All causal models that agree with a text.

    ``choices`` are the functions that an event's mechanism can be; ``ways`` says of a number and a
    cause whether the cause raises it.
    """

    facts: Mapping[str, Value]
    parents: Mapping[str, tuple[str, ...]]
    choices: Mapping[str, tuple[Choice, ...]]
    ways: Mapping[tuple[str, str], bool]

    def implied(self) -> dict[str, bool | None]:
        """Return for every latent whether it is there; None where the models differ."""
        possible: dict[str, set[bool]] = {}
        for choices in self.choices.values():
            for choice in choices:
                if choice.shield is not None:
                    latent, there = choice.shield
                    possible.setdefault(latent, set()).add(there)
        return {name: min(there) if len(there) == 1 else None for name, there in possible.items()}

    def after(self, supposed: Mapping[str, Value]) -> dict[str, set[Value]]:
        """Return the values that every event has under an intervention, in any of the models.

        Events are worked through from causes to effects. What is kept are the joint values that
        the models allow of those events that still have an effect to come; an event whose effects
        are all known is dropped (variable elimination), as every mechanism is chosen on its own.
        """
        possible: dict[str, set[Value]] = {}
        left = list(self.choices)
        frontier: tuple[str, ...] = ()
        states: set[tuple[bool, ...]] = {()}
        while left:
            name = left.pop(0)
            needed = {cause for other in left for cause in self.parents[other]}
            kept = tuple(event for event in (*frontier, name) if event in needed)
            after: set[tuple[bool, ...]] = set()
            seen: set[Value] = set()
            for state in states:
                values = dict(zip(frontier, state, strict=True))
                for value in self._values(name, values, supposed):
                    seen.add(value)
                    joint = values | {name: value}
                    after.add(tuple(joint[event] for event in kept))
            possible[name], frontier, states = seen, kept, after
        return possible

    def _values(
        self, name: str, causes: Mapping[str, bool], supposed: Mapping[str, Value]
    ) -> set[bool]:
        """Return the values that an event can have where its causes have these."""
        if name in supposed:
            return {bool(supposed[name])}
        setting = _setting(causes[cause] for cause in self.parents[name])
        return {choice.function[setting] for choice in self.choices[name]}

    def directions(self, number: str, after: Mapping[str, set[Value]]) -> set[str]:
        """Return which ways a number may go: up, down or nowhere; both where no rule says it."""
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
    return sum(value << bit for bit, value in enumerate(values))


@lru_cache(maxsize=8)
def _monotone(number: int) -> tuple[_Function, ...]:
    """Return all functions of so many causes of which none ever hinders the effect."""
    size = 1 << number
    return tuple(
        function
        for function in product((False, True), repeat=size)
        if all(
            function[low] <= function[low | 1 << cause]
            for low in range(size)
            for cause in range(number)
        )
    )


def family_of(
    facts: Mapping[str, Value],
    parents: Mapping[str, Sequence[str]],
    numbers: Iterable[str],
    relations: Sequence[Relation],
    claims: Sequence[ConnectorClaim],
) -> Family:
    """Return all causal models that agree with the facts, relations and claims of a text.

    ``parents`` has the possible causes of every told variable, causes before effects; ``numbers``
    are the variables that are quantities.

    Raises:
        ValueError: No model agrees with it, or it tells of a cause that is not a possible one.
    """
    links = [
        (relation.causes, relation.effect) for relation in relations if relation.form != "common"
    ]
    links += [(claim.causes, claim.effect) for claim in claims]
    for causes, effect in links:
        if not set(causes) <= set(parents.get(effect, ())):
            raise ValueError(f"{list(causes)} cannot be causes of '{effect}'")
    quantities = set(numbers)
    ways = {
        (relation.effect, cause): relation.form == "up"
        for relation in relations
        if relation.form in ("up", "down")
        for cause in relation.causes
    }
    choices = {}
    for name, possible in parents.items():
        if name not in quantities:
            rules = [relation for relation in relations if relation.effect == name]
            joined = [claim for claim in claims if claim.effect == name]
            choices[name] = tuple(_choices(facts, name, tuple(possible), rules, joined))
            if not choices[name]:
                raise ValueError(f"nothing that is told of '{name}' agrees with the facts")
    return Family(facts, {n: tuple(c) for n, c in parents.items()}, choices, ways)


Readings = Iterable[tuple[Mapping[str, Value], Mapping[str, Value | None]]]
"""What readers say of facts under suppositions: whether each is as told, None where it is open; of
a number which way it goes, "nowhere" if it is as told."""


def family_read(parents: Mapping[str, Sequence[str]], readings: Readings) -> Family:
    """Return all causal models of facts, each told to be so, that agree with readings.

    A reading of every fact under one supposition is a row of every mechanism. A number counts as an
    event, as told or otherwise. Two readings of one row are a ValueError.
    """
    facts: dict[str, Value] = dict.fromkeys(parents, True)
    by_name: dict[str, dict[int, set[bool]]] = {name: {} for name in parents}
    for supposed, after in [({}, facts), *readings]:
        told = {n: v == "nowhere" if isinstance(v, str) else v for n, v in after.items()}
        values = {**told, **supposed}
        for name, causes in parents.items():
            known = [values.get(cause) for cause in causes]
            then = values.get(name)
            if name not in supposed and then is not None and None not in known:
                row = _setting(bool(value) for value in known)
                by_name[name].setdefault(row, set()).add(bool(then))
    choices = {}
    for name, causes in parents.items():
        due = by_name[name]
        if conflict := [row for row, values in due.items() if len(values) > 1]:
            off = [cause for bit, cause in enumerate(causes) if not conflict[0] >> bit & 1]
            raise ValueError(f"{name}: two answers with {off or 'nothing'} away")
        choices[name] = tuple(
            Choice(function, None)
            for function in product((False, True), repeat=1 << len(causes))
            if all({function[row]} == values for row, values in due.items())
        )
    return Family(facts, {n: tuple(c) for n, c in parents.items()}, choices, {})


def _choices(
    facts: Mapping[str, Value],
    name: str,
    causes: tuple[str, ...],
    rules: Sequence[Relation],
    claims: Sequence[ConnectorClaim],
) -> Iterator[Choice]:
    now = _setting(bool(facts[cause]) for cause in causes)
    bit = {cause: 1 << index for index, cause in enumerate(causes)}
    shields = {rule.shield for rule in rules if rule.shield}
    options: list[tuple[str, bool] | None] = [None]
    if shields:
        options = [(min(shields), there) for there in (False, True)]
    for function in _monotone(len(causes)):
        if function[now] != facts[name]:
            continue
        if any(  # "because": without these causes, the fact would be another
            claim.follows
            and function[now ^ sum(bit[cause] for cause in claim.causes)] == facts[name]
            for claim in claims
        ):
            continue
        for shield in options:
            if shield is not None and shield[1]:
                agrees = not any(function)  # what holds the event back is there: it never happens
            else:
                agrees = all(function == _ruled(rule, causes) for rule in rules)
            if agrees:
                yield Choice(function, shield)


@lru_cache(maxsize=1024)
def _ruled(rule: Relation, causes: tuple[str, ...]) -> _Function:
    """Return the function that a sentence states: any of its causes, or all of them."""
    bits = [causes.index(cause) for cause in rule.causes]
    join = any if rule.form == "any" else all
    return tuple(join(setting >> bit & 1 for bit in bits) for setting in range(1 << len(causes)))
