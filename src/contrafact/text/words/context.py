"""What the words around a term decide: its form where several are spelled alike, or that it is
something else.

"Cut" is a past, a plain form or a noun, "gains" a verb or a noun, "May" a hedge or a month; the
words before, and the one after, mostly tell.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

__all__ = ["Guard", "choose_form", "guards"]

Option = TypeVar("Option")


@dataclass(frozen=True, slots=True)
class Guard:
    """A rule by which a spelling is something else between certain words.

    Attributes:
        spelled: The spelling that the rule is about, case and all; any if none.
        before: Words before it that make it something else.
        after: Words after it that do.
        numbers: Whether a number after it does.
    """

    spelled: str | None
    before: frozenset[str]
    after: frozenset[str]
    numbers: bool

    def refuses(self, text: str, before: Sequence[str], after: str) -> bool:
        """Return whether this spelling, between these words, is something else."""
        if self.spelled is not None and text != self.spelled:
            return False
        if before and before[-1] in self.before:
            return True
        return after in self.after or (self.numbers and after[:1].isdigit())


def guards() -> dict[tuple[str, str], Guard]:
    """Return the rules, by list and term."""
    return {
        (rule["list"], rule["term"]): Guard(
            spelled=rule.get("spelled"),
            before=frozenset(rule["before"]),
            after=frozenset(rule["after"]),
            numbers=rule["numbers"],
        )
        for rule in _data()["guard"]
    }


def choose_form(
    options: Sequence[tuple[Option, str]], before: Sequence[str], after: str
) -> tuple[Option, str]:
    """Return which of several readings of one spelling stands between these words.

    Args:
        options: What is read, each with its inflection, in the order of preference.
        before: The words before, lower case, the nearest last; three are enough.
        after: The word after, lower case; empty at the end.
    """
    if len(options) == 1:
        return options[0]
    form = _forms()
    by_form: dict[str, tuple[Option, str]] = {}
    for option in options:
        by_form.setdefault(option[1], option)
    nearest = before[-1] if before else ""
    base, past = by_form.get("base"), by_form.get("past")
    participle = by_form.get("participle")
    noun = by_form.get("singular") or by_form.get("plural")
    verb = base or by_form.get("third")
    if noun and verb:
        is_noun = nearest in form["before_noun"] or after == "of"
        return noun if is_noun else verb
    if base and (nearest in form["before_base"] or (past and nearest in form["before_noun"])):
        return base
    if participle and _after_auxiliary(before, form):
        return participle
    return past or participle or options[0]


def _after_auxiliary(before: Sequence[str], form: dict[str, frozenset[str]]) -> bool:
    for word in reversed(before[-3:]):
        if word in form["before_participle"]:
            return True
        if word not in form["between"] and not word.endswith("ly"):
            return False
    return False


@cache
def _forms() -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in _data()["form"].items()}


@cache
def _data() -> dict[str, Any]:
    source = files("contrafact.text.words") / "context.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))
