"""The similarity of two texts by their words: BLEU and ROUGE-L."""

import html
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

__all__ = ["bleu", "rouge_l"]

_ORDER = 4
# The tokenisation of mteval-v13a: what splits off, one rule after the other.
_SPLIT = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_ENTITIES = re.compile(r"&(?:quot|amp|lt|gt);")
_NO_WORD = re.compile(r"[^a-z0-9]+")


def bleu(text: str, reference: str) -> float:
    """Return the BLEU of a text against one reference, from 0 to 1, as sacreBLEU's sentence_bleu.

    Tokens are those of mteval-v13a. N-grams have up to four words, or as many as the text has. If
    no n-gram of an order matches, its count is a half, of the next such order a quarter, and so on
    (Chen and Cherry, WMT 2014, method 3).
    """
    tokens, wanted = _tokens(text), _tokens(reference)
    logs: list[float] = []
    halved, matches = 1.0, 0
    for order in range(1, _ORDER + 1):
        total = len(tokens) - order + 1
        if total <= 0:
            break
        matched = (_ngrams(tokens, order) & _ngrams(wanted, order)).total()
        matches += matched
        if not matched:
            halved *= 2.0
        logs.append(math.log((matched or 1.0 / halved) / total))
    if not matches:
        return 0.0
    short = min(0.0, 1.0 - len(wanted) / len(tokens))
    return math.exp(short + sum(logs) / len(logs))


def rouge_l(text: str, reference: str) -> float:
    """Return the F-measure of ROUGE-L of a text against one reference, from 0 to 1.

    It rests on the longest common subsequence of words (Lin, ACL workshop 2004). A word is a run of
    Latin letters and digits, case aside; nothing is stemmed.
    """
    tokens, wanted = (_NO_WORD.sub(" ", side.lower()).split() for side in (text, reference))
    common = _longest_common(tokens, wanted)
    if not common:
        return 0.0
    precision, recall = common / len(tokens), common / len(wanted)
    return 2.0 * precision * recall / (precision + recall)


def _tokens(text: str) -> list[str]:
    line = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    line = f" {_ENTITIES.sub(lambda entity: html.unescape(entity[0]), line)} "
    for rule, parts in _SPLIT:
        line = rule.sub(parts, line)
    return line.split()


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[i:] for i in range(order)), strict=False))


def _longest_common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, by Hyyrö's bit-vectors."""
    positions: dict[str, int] = defaultdict(int)  # of each word of b, as bits
    for i, word in enumerate(b):
        positions[word] |= 1 << i
    full = (1 << len(b)) - 1
    # Bit i is 0 if the words of a so far have a longer subsequence in b[: i + 1] than in b[:i].
    row = full
    for word in a:
        if matches := row & positions.get(word, 0):
            row = (row + matches | row - matches) & full
    return len(b) - row.bit_count()
