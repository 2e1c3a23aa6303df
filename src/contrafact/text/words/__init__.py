"""The word lists of financial news and the matcher that finds their terms in texts.

RFC-BENCH, appendices O, Q.1, R.4, S.1 and S.3. The lists are data: ``directional.toml`` (terms
that say a direction, with their opposites), ``lists.toml`` (all others), ``irregular.toml`` (word
forms), ``context.toml`` (what the words around a term decide). ``lexicon()`` loads them once.
"""

from contrafact.text.words.lexicon import LISTS, Lexicon, Match, Spots, lexicon
from contrafact.text.words.terms import Term

__all__ = ["LISTS", "Lexicon", "Match", "Spots", "Term", "lexicon"]
