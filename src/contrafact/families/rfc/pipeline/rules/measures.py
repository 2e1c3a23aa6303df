"""What moves both ways in financial news: rates, prices, demand, results."""

from functools import cache
from importlib.resources import files

__all__ = ["measures"]


@cache
def measures() -> frozenset[str]:
    """Return the nouns, in lower case, of what goes up and down and is called strong or weak."""
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("measures.txt")
    return frozenset(source.read_text(encoding="utf-8").split())
