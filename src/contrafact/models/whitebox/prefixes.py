"""Beginnings that prompts share: computed once, kept as keys and values, read by all.

A judge's prompts differ in the text to judge and share the rubric before it. What is worth sharing
is found in the prompts themselves, those that wait and those seen lately, so that nobody has to
say where a rubric ends.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence

from contrafact.models.whitebox.reading import Prefix

__all__ = ["PrefixStore", "common_length", "worth_sharing"]

Tokens = tuple[int, ...]

_LEAST = 32  # tokens by which a beginning must go past the one it builds on
_WORTH = 128  # tokens that it must save, counted over the prompts known to share it
_SEEN = 64  # earlier prompts that are compared with
_KEPT_TOKENS = 8192  # of beginnings, over all; 370 MB for the embedded model in float32


def common_length(one: Sequence[int], two: Sequence[int]) -> int:
    """Return how many tokens two sequences have in common from the start."""
    least = min(len(one), len(two))
    if one[:least] == two[:least]:
        return least
    return next(place for place in range(least) if one[place] != two[place])


def worth_sharing(asked: Sequence[Tokens], seen: Sequence[Tokens] = ()) -> list[Tokens]:
    """Return the beginnings that are worth computing once, shorter before longer.

    A beginning is worth it if it goes well past the one it builds on and saves enough, over all
    prompts that share it. One that only earlier prompts share is not.

    Args:
        asked: The prompts that wait.
        seen: Earlier prompts.
    """
    marked = sorted([*((prompt, True) for prompt in asked), *((prompt, False) for prompt in seen)])
    found: list[Tokens] = []
    # A group of prompts that share at least their first `depth` tokens, sorted: what the first
    # and the last of them share, all do.
    groups = [(marked, 0)]
    while groups:
        group, depth = groups.pop()
        if len(group) < 2 or not any(waits for _, waits in group):
            continue
        first, last = group[0][0], group[-1][0]
        shared = common_length(first, last)
        gain = shared - depth
        if gain >= _LEAST and gain * (len(group) - 1) >= _WORTH:
            found.append(first[:shared])
            depth = shared
        parts: dict[Tokens, list[tuple[Tokens, bool]]] = {}
        for prompt, waits in group:
            parts.setdefault(prompt[shared : shared + 1], []).append((prompt, waits))
        # Prompts that end here are equal, and share nothing more.
        groups += [(part, depth) for after, part in parts.items() if after]
    return sorted(found, key=len)


class PrefixStore:
    """Beginnings with their keys and values, the least lately used of them forgotten.

    Args:
        kept_tokens: The most tokens that are kept, over all beginnings.
    """

    def __init__(self, kept_tokens: int = _KEPT_TOKENS):
        self._kept_tokens = kept_tokens
        self._kept: OrderedDict[Tokens, Prefix] = OrderedDict()
        self._seen: deque[Tokens] = deque(maxlen=_SEEN)

    def wanted(self, asked: Sequence[Tokens]) -> list[Tokens]:
        """Return the beginnings worth computing that are not here, shorter before longer."""
        return [
            prefix
            for prefix in worth_sharing(asked, self._seen)
            if len(prefix) <= self._kept_tokens and self.best(prefix)[1] < len(prefix)
        ]

    def remember(self, asked: Sequence[Tokens]) -> None:
        """Compare later prompts with these too."""
        self._seen.extend(asked)

    def best(self, prompt: Tokens) -> tuple[Prefix | None, int]:
        """Return the beginning that serves a prompt best, and how many of its tokens do."""
        found, length = None, 0
        for prefix in self._kept.values():
            if (shared := common_length(prefix.tokens, prompt)) > length:
                found, length = prefix, shared
        if found is not None:
            self._kept.move_to_end(found.tokens)
        return found, length

    def add(self, prefix: Prefix) -> None:
        """Keep a beginning; those that it holds in itself go."""
        for tokens in [kept for kept in self._kept if prefix.tokens[: len(kept)] == kept]:
            del self._kept[tokens]
        self._kept[prefix.tokens] = prefix
        while sum(map(len, self._kept)) > self._kept_tokens:
            self._kept.popitem(last=False)
