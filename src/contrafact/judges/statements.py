"""Tells whether a text states a verdict, and whether it takes it back."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from contrafact.judges.own_words import NAME, NAME_IS, reported

_V = TypeVar("_V", bound=bool | str)

_NAMED = re.compile(rf"\b{NAME}\b{NAME_IS}[\s*_`\"'“‘(\[✅✓✔❌✗✘-]*\Z", re.IGNORECASE)
# Only these words after a verdict take it back; others explain it.
_TAKEN_BACK = re.compile(
    "|".join((
        # "wait" said to oneself, not of ports or analysts
        r"(?:(?:\A|[.!?…,;:(\n—–*_\"“-])\s*|\b(?:no|oh|but|hmm+|and|actually|ok(?:ay)?)\s+)wait"
        r"(?=\s*(?:[,.!?…:;—–\n]|-\s|\Z|(?:no|i|that|actually|let|a (?:minute|second|moment))\b))",
        r"\bhmm+(?![\w-])|\boops\b|\bmy (?:mistake|bad)\b|\bchanged my mind\b",
        r"\bhold on(?=\s*(?:[,.!…:;—–]|-\s|\Z|a\b|let\b))",
        r"\b(?:scratch|strike|disregard|ignore|reverse|withdraw) (?:that|this|it|the above|my)\b",
        r"\bon (?:second thoughts?|(?:further )?(?:reflection|reconsideration))\b",
        r"\blet me (?:re-?(?:consider|think|examine|evaluate|assess|check|do|vise|visit|phrase)"
        r"|double-check|correct|think again|try again|start over)",
        r"\bi(?: was|['’]m| am| stand) (?:wrong|mistaken|in error|incorrect|corrected)\b",
        r"\bi (?:mis\w+|take (?:it|that) back|retract|made (?:an? )?(?:\w+ )?(?:error|mistake))\b",
        r"(?:\A|[.!?\n*_])\W{0,9}correction\s*:",
        # a sentence that is or begins with "no"
        r"(?:\A\W{0,9}|[.!…\n][\s*_]{0,9}|\bactually,? )(?:no|nope|hardly|not (?:really|quite))\b"
        r"(?=[*_]*\s*(?:[,!?;:…—–\n]|-\s|\.(?!\s*\d)|\Z|wait\b"
        r"|(?:it|that|this)(?:['’]s| is| was)\b))",
        r"\b(?:actually|no|but|so),? (?:that|this|it)(?:['’]s| is| was)(?:n['’]t| not)? "
        r"(?:wrong|incorrect|mistaken|right|correct|so)\b|\b(?:it|that) (?:is|was)n['’]t[.!]",
        r"\b(?:the|my|this|that) (?:above|answer|verdict|label|judge?ment|decision)(?: above)?"
        r"(?:['’]s| is| was)(?: \w+)? (?:wrong|incorrect|mistaken|not (?:right|correct))\b",
    )),
    re.IGNORECASE,
)  # fmt: skip
# "That is wrong" takes back a verdict of true or a label, but explains a verdict of false.
_WRONG = re.compile(
    r"\b(?:that|this|it|which)(?:['’]s| is| was)(?: \w+)? (?:wrong|incorrect|mistaken"
    r"|not (?:right|correct|so|the case))\b",
    re.IGNORECASE,
)
_CROSS, _CROSSES = "❌✗✘", re.compile(r"[\"'”’*_`.]*\s?[❌✗✘]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# A verdict counts in a clause that only states it.
_CLAUSE = re.compile(
    r"[.!?;:\n(){}\[\]–—→|=]|,\s+(?=(?:the|this|it|i|we|my)\b)"
    r"|(?<!anything )\b(?:so|therefore|thus|hence|because|since|as|given that|but|and|which)\b",
    re.IGNORECASE,
)
_FRAME = frozenset(
    re.findall(
        r"\S+",
        """
    a an the this that these it it's that's i'd i'm i've i'll we we'd i you my our is are was were
    be been has have will would must should can clearly likely probably definitely most best correct
    right final overall here in on of by to for with from say think believe find found conclude
    judge consider deem choose select mark classify classified label labels labelled labeled answer
    verdict judgement judgment decision classification class category type kind result conclusion
    assessment evaluation determination diagnosis detection finding ruling response reply output
    prediction value option word opinion view paragraph text passage article news claim statement
    headline story report sentence content information financial published manipulation manipulated
    misinformation rewriting rewritten rewrite edit edited change changed alteration altered
    perturbation perturbed distortion distorted amplification inversion yes ok okay well sure above
    case example go letter criterion evaluates
    """,
    )
)
DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|hardly|no|wrong|incorrect|instead of|rather than|cannot)"
    r"|n['’]t)[^\w.!?;:\n]+(?:\w+[^\w.!?;:\n]+){0,2}\Z",
    re.IGNORECASE,
)
_DENIED_HERE = re.compile(
    r"(?:\b(?:not|never|neither|nor|hardly|no|wrong|incorrect)|n['’]t)[^\w.!?\n]*\Z", re.IGNORECASE
)
_NUMBER = re.compile(r"[^\w\n.;]{0,40}\d+(?:\.\d+)?\s*%?(?=\s*(?:[,;)\n|.]|\Z))")
_CONCEDED = re.compile(
    r"[*_\"]*, (?!but|yet|though|because|since|as)[^.!?\n]*\b(?:but|yet|however|although)\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"(?:\A|[.!?\n])[^\w.!?\n]*\Z")


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return [word.replace("’", "'").casefold() for word in _WORD.findall(text)]


def _all_framed(text: str, framed: set[str] | frozenset[str] = frozenset()) -> bool:
    return all(word in _FRAME or word in framed for word in words_of(text))


def rank_of(text: str, start: int, end: int, framed: set[str]) -> int | None:
    """Return 0 for a verdict, 1 for one after a name that is not the answer's, None for others."""
    before, after = text[max(0, start - 160) : start], text[end : end + 160]
    named = _NAMED.search(before)
    head = before[: named.start()] if named else before
    edges = list(_CLAUSE.finditer(head))
    clause = head[edges[-1].end() if edges else 0 :]
    behind = re.split(r",|\b(?:rather than|instead of|not)\b", _CLAUSE.split(after)[0])[0]
    word = text[start:end].casefold()
    if (
        not _all_framed(f"{clause} {behind}", framed)
        or before.rstrip(" \"'“‘*_`(").endswith(("!", "¬", "~", "≠"))
        or (word not in ("false", "f") and before.rstrip().endswith(tuple(_CROSS)))
        or _DENIED_HERE.search(head)
        or re.match(r"[^\w.!\n]*\?", after)
        or _NUMBER.match(after)
        or (word == "true" and _CONCEDED.match(after))
        or reported(text, start)
        or _supposed(before, after)
    ):
        return None
    if named or _BEGINS.search(before) or not edges or edges[-1][0] not in ":|=–—→(":
        return 0
    name = head[edges[-2].end() if len(edges) > 1 else 0 : edges[-1].start()]
    return 0 if _all_framed(name, framed) else 1


def taken_back(text: str, at: int, value: _V, words: Mapping[str, _V]) -> bool:
    """Return whether the text after a verdict takes it back or states another."""
    tail = text[at:]
    falsy = value in (False, "false")
    if _TAKEN_BACK.search(tail) or (not falsy and (_WRONG.search(tail) or _CROSSES.match(tail))):
        return True
    for match in verdict_words(tuple(words)).finditer(text, at):
        if words[match[0].casefold()] != value:
            if not _in_passing(text, *match.span()):
                return True
        elif DENIED.search(text[max(at, match.start() - 80) : match.start()]):
            return True
    return False


_TURNS = re.compile(r"\b(?:actually|in fact|should|must|correct\w*|now|rather(?! than))\b", re.I)
_NEGATED = re.compile(
    r"\b(?:not(?! only| just| merely)|never|neither|nor|none|nothing|nobody|hardly|cannot|without"
    r"|instead of|than|no(?! doubt| question| matter| longer| it| this| that| i| wait))\b|n['’]t\b",
    re.IGNORECASE,
)
_ASSERTED = re.compile(
    r"(?:\b(?:is|are|was|were|be|been|being|as|say|said|answer|verdict|label|choose|pick|to|with"
    r"|make|call|deem|find|consider|judge|conclude|mark|thus|hence|so|therefore|instead|yes|think)"
    r"|['’]s)\W+(?:(?:a|an|the|clearly|simply|really)\W+)?\Z",
    re.IGNORECASE,
)
_STOPS = frozenset(
    re.findall(
        r"\S+",
        """
    because since as for now instead after overall then and but or nor in on at by if though
    although rather it is was are were seems would fits here there given due with not i we this
    that the he so when while which who once
    """,
    )
)


def _supposed(before: str, after: str) -> bool:
    """Return whether the sentence at the border of two texts is a supposition ("it would be")."""
    sentence = re.split(r"[.!?\n]", before)[-1] + " " + re.split(r"[.!?\n]", after)[0]
    if re.search(r"\bto be\W*\Z", before, re.IGNORECASE):
        return True
    would = re.search(r"\b(?:would|could|might)\b", sentence, re.IGNORECASE)
    return bool(
        would and re.search(r"\b(?:if|unless|otherwise|had|for)\b", sentence, re.IGNORECASE)
    )


def _in_passing(text: str, start: int, end: int) -> bool:
    """Return whether a word after a verdict, which could be another verdict, is only mentioned.

    It is denied, supposed ("it would be false if"), conceded ("it is true that"), reported, one of
    several checks in a list, or part of a noun ("false alarms", "the causal link").
    """
    before, after = text[max(0, start - 160) : start], text[end : end + 160]
    clause = re.split(r"[.!?;:\n—–,|]|\b(?:but|so|therefore|thus|hence)\b", before)[-1]
    if _TURNS.search(clause):
        return False
    if (
        _NEGATED.search(clause)
        or reported(text, start)
        or _supposed(before, after)
        or (re.search(r"\b(?:the|its|their) [\w-]+ \(\Z", before) and after.startswith(")"))
        or (
            re.match(r"\s*(?:[-*•+]|\d+[.)]|\|)", before.rpartition("\n")[2])
            and rank_of(text, start, end, set())
        )
    ):
        return True
    follows = re.match(r"[ \t]+([\w'’-]+)", after)
    following = follows[1].casefold() if follows else ""
    if following == "that" and re.search(r"\bit(?:['’]s| is)\W+\Z", before, re.IGNORECASE):
        return text[start:end].casefold() == "true"
    if _ASSERTED.search(clause):
        return False
    if re.search(r"\b(?:the|its|their|any|every)\W+\Z", clause, re.IGNORECASE):
        return True
    return bool(following) and following not in _STOPS


@cache
def verdict_words(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches any of the words whole, single letters only as capitals."""
    long = "|".join(
        re.escape(word) for word in sorted(words, key=len, reverse=True) if len(word) > 1
    )
    lone = "".join(word.upper() for word in words if len(word) == 1)
    lone = f"|(?-i:[{lone}])" if lone else ""
    return re.compile(rf"(?<![^\W_])(?<!\w[-‑])(?:{long}{lone})(?![^\W_]|[-‑]\w)", re.IGNORECASE)
