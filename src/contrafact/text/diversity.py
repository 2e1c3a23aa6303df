"""How far several texts differ from one another by their words; no model is asked."""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations

from contrafact.text.degenerate import words
from contrafact.text.likeness import bleu

__all__ = ["distinct", "mean_overlap", "overlap", "pairwise_bleu"]


def distinct(texts: Sequence[str], n: int) -> float:
    """Return distinct-n: different runs of n words as a share of all (Li et al., NAACL 2016).

    NaN where no text has so many words. Higher is more diverse.

    Args:
        n: How many words in a row, at least 1.
    """
    runs = [
        tokens[start : start + n]
        for tokens in map(words, texts)
        for start in range(len(tokens) - n + 1)
    ]
    return len(set(runs)) / len(runs) if runs else float("nan")


def overlap(one: str, other: str) -> float:
    """Return the words that two texts share as a share of all of theirs (Jaccard), 0 to 1."""
    first, second = set(words(one)), set(words(other))
    return len(first & second) / len(first | second) if first | second else 0.0


def mean_overlap(texts: Sequence[str]) -> float:
    """Return the mean `overlap` of all pairs; NaN of fewer than two texts."""
    return _mean(overlap, list(combinations(texts, 2)))


def pairwise_bleu(texts: Sequence[str]) -> float:
    """Return the mean BLEU of every text against every other; NaN of fewer than two texts.

    So a set of texts is measured against itself (self-BLEU: Zhu et al., SIGIR 2018), with one
    reference at a time. Lower is more diverse.
    """
    return _mean(bleu, list(permutations(texts, 2)))


def _mean(measure: Callable[[str, str], float], pairs: Sequence[tuple[str, str]]) -> float:
    return sum(measure(*pair) for pair in pairs) / len(pairs) if pairs else float("nan")
