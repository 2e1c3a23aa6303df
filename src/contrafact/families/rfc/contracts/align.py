"""The two texts of a pair laid side by side, word by word."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from contrafact.families.rfc.contracts.findings import Span
from contrafact.families.rfc.contracts.tokens import Token

__all__ = ["Alignment", "Change", "align"]

# Matching is quadratic at worst; past this many differing words the middle counts as one change.
_MAX_WORDS = 3_000


@dataclass(frozen=True, slots=True)
class Change:
    """A run of words of the original that the rewrite replaces; either side may be empty.

    Attributes:
        before: The original's tokens, ``(first, last + 1)``.
        after: The rewrite's tokens.
    """

    before: Span
    after: Span


class Alignment:
    """Which word of the rewrite stands for which of the original, and what changed."""

    def __init__(
        self,
        before: Sequence[Token],
        after: Sequence[Token],
        opcodes: Sequence[tuple[str, int, int, int, int]],
    ) -> None:
        self.before = before
        self.after = after
        self.changes = [Change((a, b), (c, d)) for tag, a, b, c, d in opcodes if tag != "equal"]
        self.to_after = {
            a + k: c + k for tag, a, b, c, _ in opcodes if tag == "equal" for k in range(b - a)
        }
        self.to_before = {after: before for before, after in self.to_after.items()}
        self._change_of_before = {
            i: change for change in self.changes for i in range(*change.before)
        }
        self._change_of_after = {i: change for change in self.changes for i in range(*change.after)}

    def change_at(self, token: int) -> Change | None:
        """Return the change that a token of the original is part of."""
        return self._change_of_before.get(token)

    def change_of(self, token: int) -> Change | None:
        """Return the change that a token of the rewrite is part of."""
        return self._change_of_after.get(token)

    def before_span(self, change: Change) -> Span | None:
        """Return where a change is in the original, in characters; none if it only adds."""
        return _characters(self.before, change.before)

    def after_span(self, change: Change) -> Span | None:
        """Return where a change is in the rewrite, in characters; none if it only removes."""
        return _characters(self.after, change.after)


def _characters(tokens: Sequence[Token], span: Span) -> Span | None:
    start, end = span
    return (tokens[start].start, tokens[end - 1].end) if end > start else None


def align(before: Sequence[Token], after: Sequence[Token]) -> Alignment:
    """Return the alignment of two token lists, by their keys."""
    a, b = [token.key for token in before], [token.key for token in after]
    shorter = min(len(a), len(b))
    head = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    room = shorter - head
    tail = next((i for i in range(room) if a[-1 - i] != b[-1 - i]), room)
    a_end, b_end = len(a) - tail, len(b) - tail
    codes: list[tuple[str, int, int, int, int]] = [("equal", 0, head, 0, head)]
    if max(a_end, b_end) - head > _MAX_WORDS:
        codes.append(("replace", head, a_end, head, b_end))
    else:
        matcher = SequenceMatcher(None, a[head:a_end], b[head:b_end], autojunk=False)
        codes += [
            (tag, i + head, j + head, k + head, m + head)
            for tag, i, j, k, m in matcher.get_opcodes()
        ]
    codes.append(("equal", a_end, len(a), b_end, len(b)))
    return Alignment(before, after, codes)
