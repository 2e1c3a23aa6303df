"""Words, sentences and clauses of a story (CoBe, table 2), counted by spaCy.

A word is a token that is neither punctuation nor space. A clause is a predicate with what belongs
to it: the main verb of a sentence, and every verb below it that has a clause of its own (subject,
complement, adverbial, relative and other adnominal clauses, and verbs joined to one of these).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contrafact.text.parsing import parsed

if TYPE_CHECKING:
    from spacy.tokens import Token

__all__ = ["Counts", "count_texts"]

_CLAUSAL = frozenset(
    ("ROOT", "csubj", "csubjpass", "ccomp", "xcomp", "advcl", "relcl", "acl", "parataxis", "pcomp")
)
_PIECE = 20_000
"""Characters that are parsed at once; a longer text is cut at the end of a sentence."""


@dataclass(frozen=True)
class Counts:
    """What one text holds."""

    words: int
    sentences: int
    clauses: int


def count_texts(texts: Sequence[str]) -> list[Counts]:
    """Return the words, sentences and clauses of each text."""
    pieces = [(place, piece) for place, text in enumerate(texts) for piece in _pieces(text)]
    totals = [[0, 0, 0] for _ in texts]
    docs = parsed((piece for _, piece in pieces), batch_size=64)
    for (place, _), doc in zip(pieces, docs, strict=True):
        words = sum(not (t.is_punct or t.is_space) for t in doc)
        sentences = sum(any(t.is_alpha or t.is_digit for t in s) for s in doc.sents)
        clauses = sum(map(_is_clause, doc))
        for at, count in enumerate((words, sentences, clauses)):
            totals[place][at] += count
    return [Counts(*total) for total in totals]


def _is_clause(token: "Token") -> bool:
    if token.dep_ == "conj":
        return token.pos_ in ("VERB", "AUX") and _is_clause(token.head)
    if token.dep_ == "ROOT":
        return not (token.is_punct or token.is_space)
    return token.dep_ in _CLAUSAL and token.pos_ in ("VERB", "AUX")


def _pieces(text: str) -> list[str]:
    text = text.encode("utf-8", "replace").decode()
    pieces = []
    while len(text) > _PIECE:
        end = max(text.rfind(mark, 0, _PIECE) for mark in (". ", "! ", "? ", "\n"))
        end = end + 1 if end > 0 else _PIECE
        pieces.append(text[:end])
        text = text[end:]
    return [*pieces, text]
