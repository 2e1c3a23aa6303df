"""The word lists of financial news, and where their terms stand in texts.

RFC-BENCH, appendices O, Q.1, R.4, S.1 and S.3. The lists are data: ``lists.toml``, with the word
forms that spelling rules get wrong in ``irregular.toml``. ``lexicon()`` compiles them once.
"""

from contrafact.text.words.lexicon import LISTS, Lexicon, Spot, Term, lexicon

__all__ = ["LISTS", "Lexicon", "Spot", "Term", "lexicon"]
