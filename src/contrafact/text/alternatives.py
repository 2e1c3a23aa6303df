"""Patterns for word lists."""

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["alternatives"]


def alternatives(terms: Iterable[str]) -> str:
    """Return a pattern that matches any of the terms, the longest that fits first.

    Terms share their beginnings in it, so that a word is tried letter by letter and not term by
    term; a space in a term stands for any white space or a hyphen.
    """
    tree: dict[str, Any] = {}
    for term in terms:
        node = tree
        for letter in term:
            node = node.setdefault(letter, {})
        node[""] = {}
    return _pattern(tree)


def _pattern(node: dict[str, Any]) -> str:
    branches = [
        ("[\\s-]" if letter == " " else re.escape(letter)) + _pattern(child)
        for letter, child in node.items()
        if letter
    ]
    if not branches:
        return ""
    joined = branches[0] if len(branches) == 1 and "" not in node else f"(?:{'|'.join(branches)})"
    return joined + "?" if "" in node else joined
