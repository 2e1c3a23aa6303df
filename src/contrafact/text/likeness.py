"""How alike texts are by their words: BLEU and ROUGE-L."""

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
    """Return the BLEU of a text against one reference, from 0 to 1.

    As sacreBLEU's ``sentence_bleu`` has it: the tokens of mteval-v13a, up to four words at a time
    or as many as the text has, and an order without a match counts half of what the one before it
    would (Chen and Cherry, WMT 2014, method 3).
    """
    tokens, wanted = _tokens(text), _tokens(reference)
    logs: list[float] = []
    halved, found = 1.0, 0
    for order in range(1, _ORDER + 1):
        total = len(tokens) - order + 1
        if total <= 0:
            break
        matched = (_ngrams(tokens, order) & _ngrams(wanted, order)).total()
        found += matched
        if not matched:
            halved *= 2.0
        logs.append(math.log((matched or 1.0 / halved) / total))
    if not found:
        return 0.0
    short = min(0.0, 1.0 - len(wanted) / len(tokens))
    return math.exp(short + sum(logs) / len(logs))


def rouge_l(text: str, reference: str) -> float:
    """Return the F-measure of ROUGE-L of a text against one reference, from 0 to 1.

    It is of the longest common subsequence of words (Lin, ACL workshop 2004), where a word is a run
    of Latin letters and digits, case aside; nothing is stemmed.
    """
    tokens, wanted = (_NO_WORD.sub(" ", one.lower()).split() for one in (text, reference))
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
    return Counter(zip(*(words[at:] for at in range(order)), strict=False))


def _longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, by Hyyrö's bit-vectors."""
    places: dict[str, int] = defaultdict(int)
    for at, word in enumerate(other):
        places[word] |= 1 << at
    full = (1 << len(other)) - 1
    row = full
    for word in one:
        if met := row & places.get(word, 0):
            row = (row + met | row - met) & full
    return len(other) - row.bit_count()
