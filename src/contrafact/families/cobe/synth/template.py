"""Templates: a causal model and English for every value of it, read from files and checked.

A mistake in a template's file names file and key.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from contrafact.causal.model import Graph, Model, Variable
from contrafact.errors import InputError
from contrafact.families.cobe.synth.graphs import (
    HIGH,
    LEVELS,
    TRUTH,
    build_model,
    graph_type,
    names_of,
    signs,
    stated_graph,
    unobserved_causes,
)
from contrafact.records import DOMAINS, GRAPHS

__all__ = [
    "Asserted",
    "Latent",
    "Numbers",
    "Phrase",
    "StoryVariable",
    "Template",
    "Words",
    "bundled_templates",
    "load_templates",
    "pools",
    "read_template",
]

Words = Mapping[str, str]
"""What a story puts in each slot of its template's phrases."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A clause in the past tense that can also be put as a hypothesis.

    Written as ``the pump <did not fail|not failed>``: the verb as it is stated, and its participle.

    Attributes:
        before: What stands before the verb.
        finite: The verb as it is stated.
        participle: The same after "had"; empty where the clause is never a hypothesis.
        after: What stands after the verb.
    """

    before: str
    finite: str
    participle: str
    after: str

    def realized(self, words: Words) -> str:
        """Return the clause as it is stated: "the pump did not fail"."""
        return f"{self.before}{self.finite}{self.after}".format_map(words)

    def supposed(self, words: Words) -> str:
        """Return the clause as it is supposed: "the pump had not failed"."""
        return f"{self.before}had {self.participle}{self.after}".format_map(words)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers that a level of a quantity can have: from, to, in steps of."""

    least: int
    most: int
    step: int


@dataclass(frozen=True, slots=True)
class Asserted:
    """What a text says of one variable.

    Attributes:
        value: The value.
        number: Its number, for a quantity stated in numbers.
        beyond: For a quantity stated in words: further out than the story has it.
    """

    value: str
    number: int | None = None
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class StoryVariable:
    """A variable that the story states.

    Attributes:
        name: Its name.
        clauses: For every value, its clause.
        nouns: For every value, a noun phrase that refers to it: "the failed pump".
        what: For a quantity, what goes up or down: "the cost of the repair".
        numbers: For a quantity stated in numbers, those of each level.
        beyond: For a quantity stated in words, for each level a clause further out.
    """

    name: str
    clauses: Mapping[str, Phrase]
    nouns: Mapping[str, str]
    what: str | None
    numbers: Mapping[str, Numbers]
    beyond: Mapping[str, Phrase]

    @property
    def values(self) -> tuple[str, ...]:
        """The two values, the higher last."""
        return tuple(self.clauses)

    @property
    def quantity(self) -> bool:
        """Whether it has more and less."""
        return self.what is not None

    def phrase(self, asserted: Asserted) -> Phrase:
        """Return the clause that asserts it."""
        return (self.beyond if asserted.beyond else self.clauses)[asserted.value]

    def realized(self, asserted: Asserted, words: Words) -> str:
        """Return the clause, its slots filled."""
        return self.phrase(asserted).realized(_numbered(asserted, words))

    def supposed(self, asserted: Asserted, words: Words) -> str:
        """Return the clause as a hypothesis, its slots filled."""
        return self.phrase(asserted).supposed(_numbered(asserted, words))


@dataclass(frozen=True, slots=True)
class Latent:
    """A fact that the story implies and never states.

    Attributes:
        name: Its name.
        clauses: For every value, its clause.
    """

    name: str
    clauses: Mapping[str, Phrase]


@dataclass(frozen=True, eq=False)
class Template:
    """A kind of story; each is itself alone, so that what is worked out of it can be kept.

    Attributes:
        id: Its name, that of its file.
        number: Its number, from which its stories' ids are made.
        domain: One of the seven domains.
        graph: One of the six graph types.
        science: Whether a law of nature stands behind it (failure mode 4).
        slots: For every slot of its phrases, the words to choose from.
        stated: The variables that the story states, by name; ``told`` in its file.
        latents: Those that are not.
        model: The causal model over both.
        signs: For every cause and effect, 1 if the cause furthers the effect, -1 if it hinders it.
    """

    id: str
    number: int
    domain: str
    graph: str
    science: bool
    slots: Mapping[str, tuple[str, ...]]
    stated: Mapping[str, StoryVariable]
    latents: Mapping[str, Latent]
    model: Model
    signs: Mapping[tuple[str, str], int]

    @cached_property
    def stated_graph(self) -> Graph:
        """The causal graph among what is stated."""
        return stated_graph(self.model, tuple(self.stated))

    @cached_property
    def confounded(self) -> tuple[frozenset[str], ...]:
        """The sets of stated variables that have an unobserved common cause."""
        return unobserved_causes(self.model, tuple(self.stated))

    def usual(self, cause: str, effect: str, cause_value: str, effect_value: str) -> bool:
        """Tell whether an effect goes the way in which its cause pushes it."""
        same = (cause_value in HIGH) == (effect_value in HIGH)
        return same == (self.signs[cause, effect] > 0)


def _numbered(asserted: Asserted, words: Words) -> Words:
    return words if asserted.number is None else {**words, "n": f"{asserted.number:,}"}


_VERB = re.compile(r"<([^<>|]+)(?:\|([^<>|]+))?>")
_SLOT = re.compile(r"\{(\w*)\}")
_KEYS = {"number", "domain", "graph", "science", "words", "noise", "causes", "told", "latent"}
_TOLD_KEYS = {"what", "numbers", "beyond"}
_MOST_CAUSES = 2


@cache
def pools() -> dict[str, tuple[str, ...]]:
    """Return the shared word lists (names of people, towns, …), by name."""
    text = (
        files("contrafact.families.cobe.synth").joinpath("words.toml").read_text(encoding="utf-8")
    )
    return {name: tuple(words) for name, words in tomllib.loads(text).items()}


@cache
def bundled_templates() -> tuple[Template, ...]:
    """Return the templates that come with the package, by number."""
    with as_file(files("contrafact.families.cobe.synth").joinpath("templates")) as folder:
        return load_templates(folder)


def load_templates(folder: str | Path) -> tuple[Template, ...]:
    """Return all templates of a folder and its subfolders, by number.

    Raises:
        InputError: There are none, one is wrong, or two have one name or number.
    """
    paths = sorted(Path(folder).rglob("*.toml"))
    if not paths:
        raise InputError("has no templates", file=folder, hint="name a folder with .toml files")
    seen: dict[object, Path] = {}
    found = []
    for path in paths:
        template = read_template(path)
        for key, what in ((template.id, "name"), (template.number, "number")):
            if key in seen:
                raise InputError(f"has the {what} of {seen[key]}", file=path, hint="choose another")
            seen[key] = path
        found.append(template)
    return tuple(sorted(found, key=lambda t: t.number))


def read_template(path: str | Path) -> Template:
    """Return one template.

    Raises:
        InputError: It is no TOML, or something in it is missing, unknown or contradictory.
    """
    path = Path(path)
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not readable as TOML: {error}", file=path) from error
    try:
        return _template(path.stem, fields)
    except _Mistake as mistake:
        raise InputError(f"'{mistake.key}' {mistake.problem}", file=path) from None


class _Mistake(Exception):
    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem
        super().__init__(key, problem)


def _template(name: str, fields: Mapping[str, Any]) -> Template:
    for key in sorted(fields.keys() - _KEYS):
        raise _Mistake(key, f"is not known; there are {', '.join(sorted(_KEYS))}")
    number = _need(fields, "number", int)
    domain = _one_of(fields, "domain", DOMAINS)
    graph = _one_of(fields, "graph", GRAPHS)
    slots = dict(_slots(_need(fields, "words", dict)))
    causes = _need(fields, "causes", dict)
    stated = {k: _story_variable(k, v, slots) for k, v in _need(fields, "told", dict).items()}
    latents = {k: _latent(k, v, slots) for k, v in fields.get("latent", {}).items()}
    noises = list(fields.get("noise", []))
    for key in sorted(causes.keys() - stated.keys()):
        raise _Mistake(f"causes.{key}", "names no told variable")
    variables = [Variable(t.name, t.values, ordered=t.quantity) for t in stated.values()]
    variables += [Variable(name, TRUTH) for name in latents]
    for key, expression in causes.items():
        try:
            names_of(expression)
        except (ValueError, TypeError) as error:
            raise _Mistake(f"causes.{key}", str(error)) from None
    try:
        model = build_model(variables, noises, causes)
        pushes = signs(model)
    except ValueError as error:
        raise _Mistake("causes", str(error)) from None
    causal = stated_graph(model, tuple(stated))
    for key, variable in stated.items():
        if len(causal.parents[key]) > _MOST_CAUSES:
            raise _Mistake(f"causes.{key}", f"has more than {_MOST_CAUSES} told causes")
        if causal.children[key] and not variable.nouns:
            raise _Mistake(f"told.{key}", "has effects, so each value needs a noun phrase as well")
    found = graph_type(model, tuple(stated))
    if found != graph:
        raise _Mistake("graph", f"is '{graph}', but the causes make it '{found or 'none of them'}'")
    template = Template(
        id=name,
        number=number,
        domain=domain,
        graph=graph,
        science=bool(fields.get("science", False)),
        slots=slots,
        stated=stated,
        latents=latents,
        model=model,
        signs=pushes,
    )
    _distinct(template)
    return template


def _need(fields: Mapping[str, Any], key: str, kind: type) -> Any:
    if key not in fields:
        raise _Mistake(key, "is missing")
    if not isinstance(fields[key], kind):
        raise _Mistake(key, f"is not {'a whole number' if kind is int else 'a ' + kind.__name__}")
    return fields[key]


def _one_of(fields: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = _need(fields, key, str)
    if value not in allowed:
        raise _Mistake(key, f"is '{value}', which is not among {', '.join(allowed)}")
    return str(value)


def _slots(words: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for slot, choice in words.items():
        if isinstance(choice, str):
            if choice not in pools():
                raise _Mistake(f"words.{slot}", f"is '{choice}', no list of words.toml")
            yield slot, pools()[choice]
        elif (
            isinstance(choice, list) and len(choice) > 1 and all(isinstance(w, str) for w in choice)
        ):
            yield slot, tuple(choice)
        else:
            raise _Mistake(f"words.{slot}", "is neither a list's name nor two or more words")


def _story_variable(name: str, fields: Any, slots: Mapping[str, Any]) -> StoryVariable:
    key = f"told.{name}"
    if not isinstance(fields, dict):
        raise _Mistake(key, "is not a table with a line for each value")
    values = LEVELS if "low" in fields or "high" in fields else TRUTH
    for unknown in sorted(fields.keys() - _TOLD_KEYS - set(values)):
        raise _Mistake(f"{key}.{unknown}", "is not known")
    clauses, nouns = {}, {}
    for value in values:
        texts = _need_at(fields, value, key)
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not 1 <= len(texts) <= 2:
            raise _Mistake(f"{key}.{value}", "is not a clause, or a clause and a noun phrase")
        clauses[value] = _phrase(texts[0], f"{key}.{value}", slots, numbered="numbers" in fields)
        if not clauses[value].participle:
            raise _Mistake(f"{key}.{value}", "has no verb in <…>, for 'had …'")
        if re.search(r"\bhad\b", f"{clauses[value]}"):
            raise _Mistake(f"{key}.{value}", "has the word 'had', and 'had … had' confuses queries")
        if len(texts) == 2:
            nouns[value] = _plain(texts[1], f"{key}.{value}", slots)
    if len(nouns) == 1:
        raise _Mistake(key, "has a noun phrase for one value and none for the other")
    what = fields.get("what")
    quantity = values == LEVELS
    if quantity != (what is not None) or quantity == (
        "numbers" not in fields and "beyond" not in fields
    ):
        raise _Mistake(
            key, "is told as low and high with 'what' and 'numbers' or 'beyond', or as yes and no"
        )
    numbers = {
        v: _numbers(_need_at(fields["numbers"], v, f"{key}.numbers"), f"{key}.numbers.{v}")
        for v in (values if "numbers" in fields else ())
    }
    if numbers and numbers["low"].most >= numbers["high"].least:
        raise _Mistake(f"{key}.numbers", "of low and high overlap")
    beyond = {
        v: _phrase(_need_at(fields["beyond"], v, f"{key}.beyond"), f"{key}.beyond.{v}", slots)
        for v in (values if "beyond" in fields else ())
    }
    if what is not None:
        what = _plain(what, f"{key}.what", slots)
    return StoryVariable(name, clauses, nouns, what, numbers, beyond)


def _latent(name: str, fields: Any, slots: Mapping[str, Any]) -> Latent:
    key = f"latent.{name}"
    if not isinstance(fields, dict):
        raise _Mistake(key, "is not a table with a line for yes and for no")
    return Latent(name, {v: _phrase(_need_at(fields, v, key), f"{key}.{v}", slots) for v in TRUTH})


def _need_at(fields: Mapping[str, Any], value: str, key: str) -> Any:
    if value not in fields:
        raise _Mistake(f"{key}.{value}", "is missing")
    return fields[value]


def _numbers(given: Any, key: str) -> Numbers:
    if not isinstance(given, list) or len(given) != 3 or not all(isinstance(x, int) for x in given):
        raise _Mistake(key, "is not [least, most, step]")
    least, most, step = given
    # A wrong number has to fit beyond every told one, so that a level needs two steps at least.
    if step < 1 or least < 0 or most - least < 2 * step or (most - least) % step:
        raise _Mistake(key, "needs at least two whole steps from least to most")
    return Numbers(least, most, step)


def _phrase(text: Any, key: str, slots: Mapping[str, Any], *, numbered: bool = False) -> Phrase:
    text = _plain(text, key, {**slots, "n": ()} if numbered else slots, verb=True)
    if numbered and text.count("{n}") != 1:
        raise _Mistake(key, "needs {n} once, where its number goes")
    verbs = list(_VERB.finditer(text))
    if len(verbs) > 1 or _VERB.sub("", text).strip("<>|") != _VERB.sub("", text):
        raise _Mistake(key, "has more than one verb in <…>, or a stray bracket")
    if not verbs:
        return Phrase(text, "", "", "")
    verb = verbs[0]
    return Phrase(text[: verb.start()], verb[1], verb[2] or verb[1], text[verb.end() :])


def _plain(text: Any, key: str, slots: Mapping[str, Any], *, verb: bool = False) -> str:
    if not isinstance(text, str) or not text.strip():
        raise _Mistake(key, "is not a text")
    unknown = [slot for slot in _SLOT.findall(text) if slot not in slots]
    if unknown:
        raise _Mistake(key, f"has the slot {{{unknown[0]}}}, which 'words' does not fill")
    if re.search(r"[.!?;:]", text) or text != text.strip():
        raise _Mistake(key, "has a mark that ends a sentence, or space around it")
    if not verb and "<" in text:
        raise _Mistake(key, "has <…>, which only clauses have")
    return text


def _distinct(template: Template) -> None:
    """Refuse two phrases that read alike: a reader could not tell what is asserted."""
    words = {slot: choice[0] for slot, choice in template.slots.items()}
    seen: dict[str, str] = {}
    for key, text in _texts(template, words):
        if text in seen:
            raise _Mistake(key, f"reads like '{seen[text]}'")
        seen[text] = key


def _texts(template: Template, words: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    numbered = {**words, "n": "0"}
    for name, variable in template.stated.items():
        for value, phrase in variable.clauses.items():
            yield f"told.{name}.{value}", phrase.realized(numbered).lower()
        for value, noun in variable.nouns.items():
            yield f"told.{name}.{value}", noun.format_map(words).lower()
        for value, phrase in variable.beyond.items():
            yield f"told.{name}.beyond.{value}", phrase.realized(words).lower()
    for name, latent in template.latents.items():
        for value, phrase in latent.clauses.items():
            yield f"latent.{name}.{value}", phrase.realized(words).lower()
