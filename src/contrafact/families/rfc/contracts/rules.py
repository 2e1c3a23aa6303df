"""The rules of a contract, and their findings.

A rule is a function decorated with `rule`, which names the ids that it may give to its findings and
the section of the paper that it implements::

    @rule("blank", about="presence", paper="Q.1, 4")
    def blank(pair: Pair) -> Iterator[Finding]:
        \"\"\"The rewrite has words in it.\"\"\"
        if not any(character.isalnum() for character in pair.rewritten.text):
            yield fail("blank", "the rewrite is blank")

Thresholds are keyword-only parameters with defaults, each with its origin: a section of the paper,
or "ours" and why::

    def stacked(pair: Pair, *, most: Annotated[int, "S.3, 2"] = 3) -> Iterator[Finding]: ...

The first paragraph of the docstring, the sections and the thresholds make the table in
``docs/contracts.md``.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from contrafact.errors import MissingPackageError
from contrafact.families.rfc.contracts.pair import Pair, Span
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation

Topic = Literal[
    "presence", "text", "names", "numbers", "times", "consistency", "tone", "events", "wording"
]
"""The topics of rules. If a rule about presence finds something, other topics are skipped."""

TOPICS: tuple[Topic, ...] = get_args(Topic)


NOT_CHECKED = "not-checked"
"""The id of a finding that names a rule whose package is not installed."""

OTHER_LANGUAGE = "other-language"
"""The id of a finding that no rule reads the text's language."""

# Findings


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a rule; findings ``for_review`` and ``unchecked`` facts do not fail a pair."""

    rule: str
    message: str
    original_span: Span | None = None
    rewritten_span: Span | None = None
    for_review: bool = False
    unchecked: bool = False

    def as_row(self) -> dict[str, Any]:
        """Return the finding as it is written to the file of checks."""
        spans = {"original_span": self.original_span, "rewritten_span": self.rewritten_span}
        lists = {name: None if span is None else list(span) for name, span in spans.items()}
        return {"rule": self.rule, "message": self.message, **lists}


@dataclass(frozen=True, slots=True)
class Check:
    """The check of a pair by facts and, if they were asked, by judges.

    Attributes:
        passed: False if a rule is broken. If no rule is broken, True for a numerical pair whose
            facts were all checked; None for a pair that a judge or a person must decide.
        review: Findings for a person to look at, which do not fail the pair.
        judged: The judges' joint verdict on each criterion; None if no judge was asked.
    """

    passed: bool | None
    violations: tuple[Finding, ...]
    review: tuple[Finding, ...]
    judged: tuple[bool | None, ...] | None = None


def fail(
    rule: str, message: str, original_span: Span | None = None, rewritten_span: Span | None = None
) -> Finding:
    """Return a finding that fails the pair."""
    return Finding(rule, message, original_span, rewritten_span)


def review(
    rule: str, message: str, original_span: Span | None = None, rewritten_span: Span | None = None
) -> Finding:
    """Return a finding for a person to see."""
    return Finding(rule, message, original_span, rewritten_span, for_review=True)


BY_FACTS: frozenset[Manipulation] = frozenset(("numerical",))
"""The manipulations that facts alone decide; for the others, meaning must be judged too."""


def checked(manipulation: Manipulation, findings: Iterable[Finding]) -> Check:
    """Return the check that has these findings, each once, in the order found."""
    unique = list(dict.fromkeys(findings))
    violations = tuple(finding for finding in unique if not finding.for_review)
    by_facts = manipulation in BY_FACTS and not any(finding.unchecked for finding in unique)
    passed = False if violations else (True if by_facts else None)
    return Check(passed, violations, tuple(f for f in unique if f.for_review))


# Rules


@dataclass(frozen=True)
class Rule:
    """A declared rule; ``to_review`` says, for the table of rules, what it leaves to a person."""

    function: Callable[[Pair], Iterable[Finding]]
    ids: tuple[str, ...]
    about: Topic
    paper: str
    manipulations: tuple[Manipulation, ...]
    to_review: str

    @property
    def path(self) -> str:
        """The function's import path, ``package.module:function``."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    @property
    def statement(self) -> str:
        """What the rule says: the first paragraph of its docstring."""
        return " ".join((inspect.getdoc(self.function) or "").partition("\n\n")[0].split())

    def findings(self, pair: Pair) -> Iterator[Finding]:
        """Yield the rule's findings in a pair; a rule whose package is missing leaves it open."""
        try:
            yield from list(self.function(pair))
        except MissingPackageError as error:
            why = f"{self.ids[0]} is not checked without {(error.hint or '').removeprefix('run: ')}"
            yield Finding(NOT_CHECKED, why, for_review=True, unchecked=True)


_RULES: dict[str, Rule] = {}

Function = TypeVar("Function", bound=Callable[..., Iterable[Finding]])


def rule(
    *ids: str,
    about: Topic,
    paper: str = "ours",
    manipulations: Iterable[Manipulation] = MANIPULATIONS,
    to_review: str = "",
) -> Callable[[Function], Function]:
    """Declare a function as a rule of the contracts; the function is returned unchanged."""
    chosen = tuple(manipulations)

    def declare(function: Function) -> Function:
        if not function.__doc__:
            raise ValueError(f"the rule {function.__qualname__} has no docstring that states it")
        declared = Rule(function, ids, about, paper, chosen, to_review)
        _RULES[declared.path] = declared
        return function

    return declare


def rules_in(module: str) -> tuple[Rule, ...]:
    """Return the rules defined in a module or package, in the order of their definition."""
    return tuple(
        found
        for found in _RULES.values()
        if f"{found.function.__module__}.".startswith(f"{module}.")
    )
