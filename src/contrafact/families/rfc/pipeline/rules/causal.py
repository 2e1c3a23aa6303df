"""Causal distortion by rule: another generic cause in the place of the stated one (R.4, S.4).

Only an explicit chain that has happened counts (conditions A and B of appendix R.4), and only a
cause that names nobody and no figure is replaced: what a text loses with its cause is then no fact
but the reason. The effect, the connector and all else stay as they are.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from contrafact.families.rfc.contracts.vocabulary import is_common, is_known_name
from contrafact.families.rfc.pipeline.rules.edits import (
    NoRewrite,
    RuleRewrite,
    apply,
    compose,
    replace_at,
    with_articles,
)
from contrafact.families.rfc.pipeline.rules.grammar import Word, parse, past_of, subtree
from contrafact.text.quantities import identifiers, quantities
from contrafact.text.tokens import sentence_spans
from contrafact.text.words import Match, lexicon

__all__ = ["rewrite_causal"]

_NEAR = 110  # characters of an effect in which a hedge is one of it
_LONGEST_CAUSE = 14  # words; what is longer tells a story of its own
_DEGREE = r"(?: (?:mainly|largely|partly|primarily|mostly|in part))?"
# The cause follows; it is the object of the last word.
_CAUSE_AFTER = re.compile(
    rf"\b(?:due{_DEGREE} to|because of|owing{_DEGREE} to|on account of|as a result of"
    rf"|(?P<up>thanks{_DEGREE} to|(?:boosted|helped|lifted|supported|buoyed|spurred|underpinned"
    rf"|bolstered|aided|propelled){_DEGREE} by)"
    rf"|(?P<down>(?:hurt|weighed down|dragged down|dragged|pressured|dented|hampered){_DEGREE} by)"
    rf"|attribut(?:ed|able){_DEGREE} to|on the back of|amid"
    r"|on(?= (?:fears?|concerns?|worries|hopes|optimism|expectations|signs|profit-taking|strong"
    r"|weak|robust|solid|softer|lower|higher|rising|falling)\b)"
    rf"|(?:driven|fuel?led|caused|triggered|prompted|sparked|led){_DEGREE} by"
    rf"|stem(?:s|med|ming)(?: \w+ly)? from)\s+(?=\w)",
    re.IGNORECASE,
)
# The cause came before; it is the subject of the verb.
_CAUSE_BEFORE = re.compile(
    r"\b(?:led to|resulted in|caused|triggered|contributed to|prompted|sparked|drove"
    r"|(?P<up>boosted|lifted|supported|fuel?led|buoyed|bolstered|spurred)"
    r"|(?P<down>hurt|weighed on|dampened|dragged down|dented|curbed))\s+(?=\w)"
)
_NOT_REALISED = re.compile(
    r"\b(?:(?-i:may)|might|could|would|will|should|can|cannot|expect\w*|forecasts?|forecasted|likely|if"
    r"|unless|whether|set to|poised|plans?|planned|possibl[ey]|potential\w*|project\w*"
    r"|warn\w*|predict\w*|seen|see|hopes? to|hoped|unlikely|not|n['’]t|no|fad(?:e|es|ed|ing)"
    r"|offset\w*|despite|eras(?:e|ed|es|ing)|par(?:e|ed|es|ing)|as if)\b",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\b(?:unemployment|jobless|layoffs?|loss|losses|deficit|defaults?|claims)\b", re.IGNORECASE
)
_AS = re.compile(r"(?<!such )(?<!well )(?<!much )(?<!even )\bas\s(?=[a-z])", re.IGNORECASE)
_GOING_ON = frozenset({"while", "but", "although", "though", "according"})
_NO_MOVE = frozenset({"more", "less", "over", "under", "top"})
_BREAKS = frozenset({",", ";", ":", "(", ")", ".", "—", "–", '"', "“", "”", "…"})


@dataclass(frozen=True)
class _Chain:
    """A stated cause and its effect; a cause that is a clause has a tense."""

    start: int
    end: int
    effect: str
    up: bool
    backward: bool
    tense: str = ""

    @property
    def theme(self) -> str:
        """What the effect is about: the theme whose word stands nearest to the connector."""
        nearest: list[tuple[int, str]] = []
        for name, pattern in _data()["themes"].items():
            if places := [found.end() for found in pattern.finditer(self.effect)]:
                nearest.append((min(places) if self.backward else -max(places), name))
        return min(nearest)[1] if nearest else ""

    @property
    def way(self) -> str:
        """Whether the effect goes up or down."""
        return "up" if self.up != bool(_TURNED.search(self.effect)) else "down"


@cache
def _data() -> Mapping[str, Any]:
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("causal.toml")
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    themes = {name: re.compile(p, re.IGNORECASE) for name, p in data["themes"].items()}
    return {
        "themes": themes,
        "causes": data["causes"],
        "related": [re.compile(p, re.IGNORECASE) for p in data["related"]],
        "wishes": re.compile(data["wishes"], re.IGNORECASE),
        "agents": frozenset(data["agents"].split()),
        "common": frozenset(data["common"].split()),
    }


def rewrite_causal(text: str, rng: np.random.Generator) -> RuleRewrite | NoRewrite:
    """Return the text with another cause for one effect, or why that cannot be done.

    Args:
        text: A paragraph.
        rng: Which chain and which cause are taken.
    """
    if not (_CAUSE_AFTER.search(text) or _CAUSE_BEFORE.search(text) or _AS.search(text)):
        return NoRewrite("states no explicit cause")
    chains = list(_chains(text))
    if not chains:
        return NoRewrite("states no realised cause that could be another without touching facts")
    for index in rng.permutation(len(chains)):
        first = chains[int(index)]
        # One effect told twice, in headline and body, has one cause in both.
        told = [c for c in chains if (c.theme, c.way) == (first.theme, first.way)]
        if len({bool(chain.tense) for chain in told}) > 1 or _told_elsewhere(text, told):
            continue
        causes = [cause for cause in _causes(first) if _fresh(cause.replace(" |", ""), text)]
        if causes:
            cause = causes[int(rng.integers(len(causes)))]
            edits = [
                replace_at(
                    text,
                    chain.start,
                    chain.end,
                    _cased(text[chain.start : chain.end], _worded(cause, chain.tense)),
                    "another cause of the same effect",
                )
                for chain in told
            ]
            log = with_articles(text, compose(edits))
            return RuleRewrite(apply(text, log), log)
    return NoRewrite("no other cause at hand fits the effect")


def _causes(chain: _Chain) -> list[str]:
    if not chain.theme:
        return []
    key = f"{chain.way}_clauses" if chain.tense else chain.way
    causes: list[str] = _data()["causes"][chain.theme][key]
    return causes


def _worded(cause: str, tense: str) -> str:
    """Return a cause as it is written; of a clause the verb takes the tense."""
    subject, bar, rest = cause.partition(" | ")
    if not bar:
        return cause
    verb, _, tail = rest.partition(" ")
    if tense == "past":
        verb = past_of(verb)
    return " ".join(part for part in (subject, verb, tail) if part)


def _told_elsewhere(text: str, told: Sequence[_Chain]) -> bool:
    """Return whether the rest of a text speaks of the causes that are to go."""
    rest, gone = text, ""
    for chain in sorted(told, key=lambda c: -c.start):
        gone += " " + rest[chain.start : chain.end]
        rest = rest[: chain.start] + " " + rest[chain.end :]
    plain = rest.casefold()
    words = [w for w in re.findall(r"[a-z-]{5,}", gone.casefold()) if w not in _data()["common"]]
    if any(word[:6] in plain for word in words):
        return True
    # What the effect is about is spoken of in any case; a cause of that kind is told with it.
    return any(group.search(gone) and group.search(rest) for group in _data()["related"])


def _cased(model: str, cause: str) -> str:
    """Return a cause with capitals as the old one has them, in headlines too."""
    capitals = [word[0].isupper() for word in re.findall(r"[A-Za-z]{4,}", model)]
    if len(capitals) > 1 and all(capitals):
        return re.sub(r"(?<![\w-])[a-z](?=\w{3})", lambda m: m[0].upper(), cause)
    return cause[0].upper() + cause[1:] if model[0].isupper() else cause


def _fresh(cause: str, text: str) -> bool:
    """Return whether a cause is news to the text."""
    content = [w for w in re.findall(r"[a-z-]{6,}", cause) if w not in _data()["common"]]
    plain = text.casefold()
    return not any(word in plain for word in content)


def _chains(text: str) -> Iterator[_Chain]:
    words = parse(text)
    moves = [m for m in lexicon().find(text, ["directional"]) if m.polarity]
    named = [(q.start, q.end) for q in quantities(text)]
    named += [(name.start, name.end) for name in identifiers(text)]
    for start, end in sentence_spans(text, dashes=True):
        if text[start:end].rstrip().endswith("?"):
            continue
        for match in _CAUSE_AFTER.finditer(text, start, end):
            span = _object_after(words, match.end(), end)
            if text[match.start() : match.end()].casefold().strip() == "on" and not _joins(
                words, match.start()
            ):
                continue
            if span is None or not _replaceable(text, span, words, named):
                continue
            effect = text[start : match.start()]
            if _NOT_REALISED.search(effect[-_NEAR:] + text[slice(*span)]):
                continue
            if _data()["wishes"].search(effect[-_NEAR:]):
                continue
            direction = _direction(match, moves, start, match.start(), last=True)
            if direction is not None:
                yield _Chain(*span, effect, direction, backward=False)
        for match in _AS.finditer(text, start, end):
            effect = text[start : match.start()]
            clause = _clause_after(words, match, end)
            if clause is None or _NOT_REALISED.search(effect[-_NEAR:] + text[slice(*clause[0])]):
                continue
            span, tense = clause
            if not _replaceable(text, span, words, named) or _data()["wishes"].search(effect):
                continue
            inside = [m for m in moves if start <= m.start and m.end <= match.start()]
            way = {m.polarity > 0 for m in inside if m.text.casefold() not in _NO_MOVE}
            if len(way) == 1:
                yield _Chain(*span, effect, way.pop(), backward=False, tense=tense)
        for match in _CAUSE_BEFORE.finditer(text, start, end):
            span = _subject_before(words, match.start(), start)
            if span is None or not _replaceable(text, span, words, named):
                continue
            if _NOT_REALISED.search(text, span[0], min(end, match.end() + _NEAR)):
                continue
            direction = _direction(match, moves, match.end(), end, last=False)
            if _data()["wishes"].search(text, match.end(), end):
                continue
            if direction is not None:
                yield _Chain(*span, text[match.end() : end], direction, backward=True)


def _clause_after(
    words: Sequence[Word], match: re.Match[str], end: int
) -> tuple[tuple[int, int], str] | None:
    """Return the clause that an "as" opens, up to the sentence's end, and its tense."""
    marker = next((w for w in words if w.start == match.start()), None)
    if marker is None or marker.dep != "mark" or words[marker.head].pos not in ("VERB", "AUX"):
        return None
    verb = words[marker.head]
    inside = [w for w in subtree(words, verb) if w.start > marker.start]
    if not any(w.head == verb.index and w.dep in ("nsubj", "nsubjpass") for w in inside):
        return None
    while inside and inside[-1].text in (".", "-", "…"):
        inside = inside[:-1]
    if not inside or any(w.text in _BREAKS for w in inside) or len(inside) > _LONGEST_CAUSE:
        return None
    after = next((w for w in words if w.start >= inside[-1].end), None)
    if after is not None and after.start < end and after.text not in (".", "-", ",", ";"):
        return None
    if after is not None and after.text == ",":
        # After the comma the sentence may go on to other causes.
        following = words[after.index + 1 : after.index + 2]
        if not any(w.tag == "VBG" or w.lower in _GOING_ON for w in following):
            return None
    forms = [verb.tag, *(w.tag for w in inside if w.head == verb.index and w.dep.startswith("aux"))]
    tense = "past" if "VBD" in forms or (verb.tag == "VBN" and len(forms) == 1) else "present"
    return (inside[0].start, inside[-1].end), tense


def _direction(
    connector: re.Match[str], moves: Sequence[Match], start: int, end: int, *, last: bool
) -> bool | None:
    """Return whether the effect goes up, by the connector or else a word; none if neither says."""
    if connector["up"] or connector["down"]:
        return bool(connector["up"])
    inside = [m for m in moves if start <= m.start and m.end <= end]
    inside = [m for m in inside if m.text.casefold() not in _NO_MOVE]
    if not inside:
        return None
    return inside[-1 if last else 0].polarity > 0


def _object_after(words: Sequence[Word], at: int, end: int) -> tuple[int, int] | None:
    """Return the noun phrase that begins at a place, with all that hangs on it."""
    first = next((w for w in words if w.start >= at), None)
    if first is None or first.start != at:
        return None
    head = first
    # Up to the noun that the phrase is about, without leaving it to the left.
    while (
        head.head != head.index
        and words[head.head].start >= at
        and words[head.head].pos
        in (
            "NOUN",
            "PROPN",
            "ADJ",
            "NUM",
            "VERB",
        )
    ):
        if words[head.head].pos == "VERB" and words[head.head].tag not in ("VBG", "VBN"):
            break
        head = words[head.head]
    if head.pos not in ("NOUN", "PROPN"):
        return None
    inside = [w for w in subtree(words, head) if w.start >= at]
    return _trimmed(inside, end)


def _trimmed(inside: Sequence[Word], end: int) -> tuple[int, int] | None:
    """Return the span of a phrase up to its first comma or bracket."""
    kept: list[Word] = []
    for word in inside:
        if word.text in _BREAKS:
            break
        if kept and word.index != kept[-1].index + 1:
            break
        kept.append(word)
    if not kept or len(kept) > _LONGEST_CAUSE or kept[-1].end > end:
        return None
    after = inside[len(kept)] if len(kept) < len(inside) else None
    # Cut short at a comma the phrase may go on to other causes; at a hyphen it is half a word.
    if after is not None and after.text in (",", "-", "–"):
        return None
    return kept[0].start, kept[-1].end


def _subject_before(words: Sequence[Word], at: int, start: int) -> tuple[int, int] | None:
    """Return the subject of the verb that begins at a place."""
    verb = next((w for w in words if w.start == at), None)
    if verb is None or verb.pos not in ("VERB", "AUX"):
        return None
    main = words[verb.head] if verb.dep == "aux" else verb
    subject = next((w for w in words if w.head == main.index and w.dep == "nsubj"), None)
    if subject is None or subject.pos != "NOUN" or subject.start < start:
        return None
    inside = subtree(words, subject)
    span = _trimmed(inside, at)
    # The whole subject, right up to its verb: else something of the old cause would stay.
    return span if span is not None and inside[-1].end == span[1] else None


def _joins(words: Sequence[Word], at: int) -> bool:
    """Return whether the "on" at a place joins a cause to a movement: not "bets on", "view on"."""
    before = [w for w in words if w.end <= at]
    return bool(before) and (before[-1].pos != "NOUN" or before[-1].text == "%")


def _goes_on(words: Sequence[Word], last: Word) -> bool:
    """Return whether a verb follows a phrase, whose subject it then is."""
    following = words[last.index + 1 : last.index + 3]
    if following and following[0].pos == "ADV":
        following = following[1:]
    return bool(following) and following[0].tag in ("VBG", "VBZ", "VBP", "VB")


def _replaceable(
    text: str,
    span: tuple[int, int],
    words: Sequence[Word],
    named: Sequence[tuple[int, int]],
) -> bool:
    """Return whether a cause holds no name, no figure, and is stated only once."""
    start, end = span
    if any(s < end and start < e for s, e in named):
        return False
    inside = [w for w in words if start <= w.start < end]
    first = not text[:start].strip() or text[:start].rstrip()[-1] in ".!?:"
    for word in inside:
        if word.titled:
            # Capitals tell no name in a headline; words that are in no dictionary may be one.
            if not is_common(word.lower) or is_known_name(word.lower):
                return False
        elif word.text[0].isupper() and not (first and word.start == start):
            return False
    if any(w.lower in _data()["agents"] for w in inside) or _goes_on(words, inside[-1]):
        return False
    if inside[0].pos == "PRON" or inside[0].lower in ("its", "their", "his", "her", "this", "that"):
        return False
    quoted = any(quote in text[start:end] for quote in '"“”‘’')
    return not quoted or "’s" in text[start:end]
