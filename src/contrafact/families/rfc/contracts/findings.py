"""What a check says of a pair: violations that fail it, and findings for a person to see."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Check", "Span", "Violation", "fail", "review", "sorted_check"]

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Violation:
    """One finding of one rule.

    Attributes:
        rule: The rule's name, in kebab-case; `docs/contracts.md` lists them.
        message: What was found, in words a person understands.
        original_span: Where in the original, ``(start, end)`` in characters, if anywhere.
        rewritten_span: Where in the rewrite, if anywhere.
        for_review: Whether only a person can decide; such a finding never fails a pair.
    """

    rule: str
    message: str
    original_span: Span | None = None
    rewritten_span: Span | None = None
    for_review: bool = False

    def as_row(self) -> dict[str, Any]:
        """Return the finding as the check file has it."""
        return {
            "rule": self.rule,
            "message": self.message,
            "original_span": None if self.original_span is None else list(self.original_span),
            "rewritten_span": None if self.rewritten_span is None else list(self.rewritten_span),
        }


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of a pair's contract.

    Attributes:
        passed: Whether no rule was broken.
        violations: What broke a rule.
        review: What rules cannot decide and a person should see.
    """

    passed: bool
    violations: tuple[Violation, ...]
    review: tuple[Violation, ...]


def fail(rule: str, message: str, at: Span | None = None, to: Span | None = None) -> Violation:
    """Return a violation at a place of the original (``at``) and of the rewrite (``to``)."""
    return Violation(rule, message, at, to)


def review(rule: str, message: str, at: Span | None = None, to: Span | None = None) -> Violation:
    """Return a finding for a person to see."""
    return Violation(rule, message, at, to, for_review=True)


def sorted_check(findings: Iterable[Violation]) -> Check:
    """Return the check that findings amount to; each is kept once, in the order found."""
    unique = list(dict.fromkeys(findings))
    violations = tuple(f for f in unique if not f.for_review)
    return Check(not violations, violations, tuple(f for f in unique if f.for_review))
