"""The plain negations of a clause: "the trains did not stop" of "the trains stopped".

To say that something told in a story is not so, an answer may deny the story's own words. The verb
is the word that the file's ``supposed`` form of the clause has in the perfect ("the trains had
stopped"); no other word of a clause is denied.
"""

import re
from collections.abc import Iterator

_IRREGULAR_VERBS = """
arise arose, awake awoke, bear bore, beat beat, become became, begin began, bend bent, bind
bound, bite bit, bleed bled, blow blew, break broke, bring brought, build built, buy bought,
catch caught, choose chose, cling clung, come came, cost cost, creep crept, cut cut, deal
dealt, dig dug, do did, draw drew, drink drank, drive drove, eat ate, fall fell, feed fed, feel
felt, fight fought, find found, flee fled, fly flew, forget forgot, freeze froze, get got, give
gave, go went, grind ground, grow grew, hang hung, have had, hear heard, hide hid, hit hit,
hold held, hurt hurt, keep kept, know knew, lay laid, lead led, leap leapt, leave left, lend
lent, let let, lie lay, light lit, lose lost, make made, mean meant, meet met, pay paid, put
put, quit quit, read read, ride rode, ring rang, rise rose, run ran, say said, see saw, seek
sought, sell sold, send sent, set set, shake shook, shed shed, shine shone, shoot shot, show
showed, shut shut, sing sang, sink sank, sit sat, sleep slept, slide slid, speak spoke, spend
spent, split split, spread spread, spring sprang, stand stood, steal stole, stick stuck, strike
struck, swear swore, sweep swept, swell swelled, swim swam, swing swung, take took, teach
taught, tear tore, tell told, think thought, throw threw, wake woke, wear wore, weep wept, win
won, wind wound, withdraw withdrew, write wrote, add added, change changed, focus focused, tie
tied, die died, lie lied, invite invited, excite excited, unite united, ignite ignited
"""
_IRREGULAR = {past: base for base, past in map(str.split, _IRREGULAR_VERBS.split(","))}
_SCOPED = frozenset(
    (
        *("no", "not", "nobody", "none", "nothing", "never", "neither", "without", "hardly"),
        *("all", "any", "both", "each", "every", "everybody", "everyone", "everything", "some"),
        *("almost", "best", "few", "half", "least", "many", "most", "much", "once", "only"),
        "single",
    )
)
"""With one of these, the denial of a clause has two readings: not all, or none."""
_OF_BE = frozenset(("was", "were"))
_SILENT = re.compile(r"(?:[vcuzs]|[^aeiouln]l|[^n]g)$")
"""After these an "e" of the base form is not seen in the past."""
_UNSTRESSED = re.compile(r"(?:e[rnlt]|o[np]|it)$")
"""Ends of a stem that are not stressed, where a vowel stands before them."""
_LONG = re.compile(r"(?:^|[^aeiou])[aeiouy][^aeiouwxyh]$")
_VOWELS = re.compile(r"[aeiouy]+")


def base_of(past: str) -> str | None:
    """Return the base form of a past tense; None where neither the list nor a rule has it."""
    if past in _IRREGULAR:
        return _IRREGULAR[past]
    if not past.endswith("ed") or len(past) < 4:
        return None
    stem = past[:-2]
    if stem.endswith("i"):
        return f"{stem[:-1]}y"
    if stem.endswith("e"):
        return f"{stem}e"
    if len(stem) > 3 and stem[-1] == stem[-2]:
        kept = stem[-1] in "sz" or (stem[-1] in "lf" and len(_VOWELS.findall(stem)) == 1)
        return stem if kept else stem[:-1]
    end = _UNSTRESSED.search(stem)
    unstressed = end is not None and _VOWELS.search(stem, 0, end.start()) is not None
    silent = _SILENT.search(stem) or (_LONG.search(stem) and not unstressed)
    return f"{stem}e" if silent else stem


def negations(stated: str, supposed: str) -> Iterator[str]:
    """Yield the negations of a clause, the plainest first; none where its verb cannot be told.

    Args:
        stated: The clause, in the past tense.
        supposed: The same in the perfect, ``had`` before the participle.
    """
    words, perfect = stated.split(), supposed.split()
    if not _SCOPED.isdisjoint(words):
        return
    if "had" not in perfect or len(perfect) != len(words) + 1:
        return
    at = perfect.index("had")
    before, past, after = words[:at], words[at], words[at + 1 :]
    if before != perfect[:at] or after != perfect[at + 2 :]:
        return
    participle = perfect[at + 1]
    forms: list[str] = []
    if past in _OF_BE:
        forms = [f"{past} not", f"{past}n't"]
    elif (base := base_of(past)) is not None:
        forms = [f"did not {base}", f"didn't {base}"]
    forms += [f"had not {participle}", f"hadn't {participle}"]
    for form in forms:
        yield " ".join((*before, form, *after))
