"""Templates and word lists, read from their files and checked: a mistake names file and key."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from contrafact.causal.model import Variable
from contrafact.errors import InputError
from contrafact.families.cobe.synth.mechanism import LEVELS, TRUTH, build_model, names_of, signs
from contrafact.families.cobe.synth.shape import graph_type, told_graph
from contrafact.families.cobe.synth.template import Latent, Numbers, Phrase, Template, Told
from contrafact.records import DOMAINS, GRAPHS

__all__ = ["bundled_templates", "load_templates", "pools", "read_template"]

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
    told = {k: _told(k, v, slots) for k, v in _need(fields, "told", dict).items()}
    latents = {k: _latent(k, v, slots) for k, v in fields.get("latent", {}).items()}
    noises = list(fields.get("noise", []))
    for key in sorted(causes.keys() - told.keys()):
        raise _Mistake(f"causes.{key}", "names no told variable")
    variables = [Variable(t.name, t.values, ordered=t.quantity) for t in told.values()]
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
    ties = told_graph(model, tuple(told))
    for key, variable in told.items():
        if len(ties.parents[key]) > _MOST_CAUSES:
            raise _Mistake(f"causes.{key}", f"has more than {_MOST_CAUSES} told causes")
        if ties.children[key] and not variable.nouns:
            raise _Mistake(f"told.{key}", "has effects, so each value needs a noun phrase as well")
    found = graph_type(model, tuple(told))
    if found != graph:
        raise _Mistake("graph", f"is '{graph}', but the causes make it '{found or 'none of them'}'")
    template = Template(
        id=name,
        number=number,
        domain=domain,
        graph=graph,
        science=bool(fields.get("science", False)),
        slots=slots,
        told=told,
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


def _told(name: str, fields: Any, slots: Mapping[str, Any]) -> Told:
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
    return Told(name, clauses, nouns, what, numbers, beyond)


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
    for name, told in template.told.items():
        for value, phrase in told.clauses.items():
            yield f"told.{name}.{value}", phrase.said(numbered).lower()
        for value, noun in told.nouns.items():
            yield f"told.{name}.{value}", noun.format_map(words).lower()
        for value, phrase in told.beyond.items():
            yield f"told.{name}.beyond.{value}", phrase.said(words).lower()
    for name, latent in template.latents.items():
        for value, phrase in latent.clauses.items():
            yield f"latent.{name}.{value}", phrase.said(words).lower()
