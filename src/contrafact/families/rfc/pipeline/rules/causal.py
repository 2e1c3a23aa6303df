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
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from contrafact.families.rfc.pipeline.rules.edits import (
    NoRewrite,
    RuleRewrite,
    apply,
    compose,
    replace_at,
    shuffled,
    with_articles,
)
from contrafact.families.rfc.pipeline.rules.grammar import (
    Word,
    children,
    covered,
    parse,
    past_of,
    subtree,
)
from contrafact.text.quantities import identifiers, quantities
from contrafact.text.tokens import sentence_spans
from contrafact.text.words import Match, lexicon

__all__ = ["causal_versions"]

_TOLD_AT_LENGTH = 2  # times that a text may state a list of causes: in its headline and its story
_NEAR = 110  # characters of an effect in which a hedge is one of it
_LONGEST_CAUSE = 24  # words; what is longer tells a story of its own
# The words of a rewrite over its original's, at least and at most (ours): of the length band's own
# count some versions fall short.
_SHORTEST, _LONGEST = 0.92, 1.06
_FEW = 4  # words that a rewrite may be longer in any case: a headline's cause is short
_DEGREE = r"(?: (?:mainly|largely|partly|primarily|mostly|in part))?"
# The cause follows; it is the object of the last word.
_CAUSE_AFTER = re.compile(
    rf"\b(?:due{_DEGREE} to|because of|owing{_DEGREE} to|on account of|as a result of"
    rf"|(?P<up>(?:partly )?thanks{_DEGREE} to|(?:boosted|helped|lifted|supported|buoyed|spurred"
    rf"|underpinned|bolstered|aided|propelled){_DEGREE} by)"
    rf"|(?P<down>(?:hurt|hit|weighed down|dragged down|dragged|pressured|dented|hampered|undermined"
    rf"|held back){_DEGREE} by)"
    rf"|attribut(?:ed|able){_DEGREE} to|on the back of|amid"
    r"|(?<!weigh )(?<!weighs )(?<!weighing )(?<!weighed )on(?! (?:\w+day|\w+ as)\b)"
    r"(?= (?:(?!as |after |amid |while |the )[\w.'-]+ ){0,3}"
    r"(?:fears?|jitters|strength|gains|losses|slump|surge|slowdown|bets|data"
    r"|concerns?|worries|hopes|optimism|expectations|signs|profit-taking"
    r"|strong|weak|robust|solid|softer|lower|higher|rising|falling|upbeat|prospects|weakness|demand|rally"
    r"|talks?|news|relief|caution|inflows|outflows|stimulus|uncertainty|tensions)\b)"
    rf"|(?:driven|fuel?led|caused|triggered|prompted|sparked|induced){_DEGREE} by"
    r"|in the wake of|in response to|blamed on|(?<=,\s)reflecting"
    rf"|stem(?:s|med|ming)(?: \w+ly)? from)\s+(?=\w)",
    re.IGNORECASE,
)
# The cause came before; it is the subject of the verb.
_CAUSE_BEFORE = re.compile(
    r"\b(?:led to|resulted in|caused|triggered|contributed to|prompted|sparked|drove"
    r"|leads to|results in|causes|triggers|contributes to|prompts|sparks|drives|causing|driving"
    r"|(?P<up>boosted|lifted|supported|fuel?led|buoyed|bolstered|spurred|boosts?|lifts?|supports?"
    r"|buoys?|bolsters?|spurs?|helps|fuels|powers|powered|propels|propelled|underpins?|underpinned"
    r"|stokes|stoked|boosting|lifting|supporting|fuel?ling"
    r"|(?:push(?:ed|es|ing)?|sen[dt]s?|sending|dr(?:ove|ives?|iving))"
    r"(?=\s(?:[\w.&’'-]+\s){1,5}(?:up|higher)\b))"
    r"|(?P<down>hurt|weighed on|dampened|dragged down|dented|curbed|hurts|weighs? on|dampens?"
    r"|drags? down|dents?|curbs|rattles?|rattled|squeezes|squeezed|crimps|crimped|knocks"
    r"|knocked|slams|slammed|clouds|clouded|pressures|pressured|batters|battered|hammers|hammered"
    r"|hampers|hampered|undermines|undermined|slows|slowed|hurting|hitting|weighing on|denting"
    r"|dragging down|squeezing"
    r"|hits?(?=\s(?:[\w.&’'-]+\s){0,2}(?:demand|sales|spending|profits?|earnings|exports|economy"
    r"|output|growth|margins?|hiring|production|consumption)\b)"
    r"|(?:push(?:ed|es|ing)?|sen[dt]s?|sending|dr(?:ove|ives?|iving)|dragg(?:ed|ing))"
    r"(?=\s(?:[\w.&’'-]+\s){1,5}(?:down|lower)\b)))\s+(?=\w)",
    re.IGNORECASE,
)
_NOT_REALISED = re.compile(
    r"\b(?:(?-i:may)|might|could|would|will|should|can|cannot|expect\w*|forecasts?|forecasted|likely|if"
    r"|unless|whether|set to|poised|plans?|planned|possibl[ey]|potential\w*|project\w*"
    r"|warn(?:s|ed|ing)?|predict\w*|seen|see|hopes? to|hoped|unlikely|not|n['’]t|no"
    r"|fad(?:e|es|ed|ing)|less|faces?|facing|risks?"
    r"|offset\w*|despite|eras(?:e|ed|es|ing)|par(?:e|ed|es|ing)|as if)\b",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\b(?:unemployment|jobless|layoffs?|(?<!extends )(?<!extended )(?<!extend )loss(?:es)?|deficit"
    r"|defaults?|claims)\b",
    re.IGNORECASE,
)
_AS = re.compile(
    r"(?<!such )(?<!well )(?<!much )(?<!even )\b(?:as|because(?! of))\s(?=[a-z])", re.IGNORECASE
)
# Where a sentence goes on to something that is no cause.
_GOES_ON = re.compile(
    r",?\s(?:while|whereas|but|although|though|even (?:as|though|if)|despite|ahead of|in spite of"
    r"|in another sign|in line with|and (?:despite|that|as|is|was|has|will)"
    r"|according to)\b"
    r"|,\sand\s(?:it|he|she|they|we|its|their|the \w+ (?:is|was|has|had|will|said)|will|also)\b"
    r"|,\s(?:as|after|before|when|amid|due to|because|with|said|says|which|who|where|sending"
    r"|pushing"
    r"|raising|limiting|lifting|hurting|helping|leaving|giving|setting|prompting|reinforcing"
    r"|fuel?ling|adding|extending|making|showing|putting|dragging|boosting|bolstering|keeping"
    r"|underlining|underscoring|highlighting|signal\w*|taking|causing|marking|driving|easing"
    r"|the (?:\w+ ){1,6}(?:said|showed|reported)|a (?:\w+ ){0,6}(?:said|showed|found)"
    r"|[A-Z]\w+ (?:[\w&.’'-]+ ){0,6}said|(?:official|government) (?:\w+ ){0,3}(?:showed|said)"
    r"|analysts|economists|traders|further|in a)\b"
    r"|\sas\s(?!well\b|such\b|a\b|an\b)(?=[\w.']+\s\w+)"
    r"|\sReuters\b|\s[-–—]+\s|[;:(]|…"
)
_NO_MOVE = frozenset(
    {
        "more",
        "less",
        "over",
        "under",
        "top",
        "tighten",
        "tightened",
        "loosen",
        "profit",
        "profits",
        "loss",
        "losses",
        "surplus",
    }
)
# A phrase whose head, the last word before a preposition, is a plural.
_PLURAL = re.compile(
    r"(?:(?!of\b|in\b|at\b|among\b|by\b|from\b|to\b|for\b|on\b|near\b|into\b|with\b)[\w-]+\s)*"
    r"(?!of\b|in\b)[\w-]*[^s\W]s(?=\s(?:of|in|at|among|by|from|to|for|on|near|into|with)\b|\Z)"
)
_RELATIVE = frozenset({"which", "who", "where"})
_SHORT_NAME = re.compile(r"\s?\([A-Z]{2,6}\)")
_CLAUSE_END = re.compile(r",\s|;|\s(?:but|while|whereas|although|though)\s")
# Who acts is no cause of it: "consumers boosted spending".
_ACTORS = re.compile(
    r"\b(?:consumers|investors|traders|compan(?:y|ies)|governments?|banks?|officials?|ministers?"
    r"|analysts|policymakers?|shoppers|households|lenders|employers|automakers?|retailers?|funds?"
    r"|L\.?P|LLC|Ltd|Inc|Corp|Co|Group|Partners|Management|Capital|Advisors|Advisers|Associates"
    r"|Holdings|Trust)\.?\Z",
    re.IGNORECASE,
)
# What goes down without a word of movement.
_LOW = re.compile(
    r"\b(?:under pressure|languish\w*|(?:is|are|was|were|been) (?:\w+ly )?hit)\b", re.IGNORECASE
)
# What a movement ends with, before "on": "to a low on", "2% on".
_ENDS = frozenset({"%", "low", "lows", "high", "highs", "percent", "points", "record", "losses"})
# Short words that say what a cause is about: what a text speaks of already is no other cause.
_MATTER = re.compile(r"\b(?:demand|costs|wages?|supply|exports|dollar|funds|rents)\b")
# Where an epidemic keeps people in, they are no cause by going out.
_KEPT_IN = re.compile(r"\b(?:covid|pandemic|virus|lockdown|coronavirus|curbs|restrictions)")
_GOING_OUT = re.compile(r"\b(?:touris|travel|diners|dining|hotels|shop|outlets)")
_PAST_ALIKE = frozenset({"shed", "cut", "hit", "put", "set", "hurt", "spread", "let", "shut"})
_TO_COME = re.compile(r"\b(?:ahead of|before|despite|in spite of)\s(?:[\w-]+\s?){1,7}")
_WITH = re.compile(r",\swith\s[^,]*,?\s*\Z")  # what stands beside an effect
# After the cause of a headline another thing's movement: "amid a slide, shares steady".
_OF_ITS_OWN = re.compile(
    r",\s(?:[\w.&’'-]+\s){1,3}(?:stead(?:y|ies)|mixed|flat|up|down|higher|lower|firms?|weakens?|eyed"
    r"|awaited|in focus"
    r"|(?:rise|fall|gain|slip|ease|jump|slide|drop|climb|dip|sink|rall(?:y|ie)|edge)s?"
    r")\Z"
)
_GAPS = re.compile(
    r"\b(?:deficits?|surplus(?:es)?|gaps?|spreads?|defaults?|salar(?:y|ies)|wages?|pay|\w+graded?s?)\b",
    re.IGNORECASE,
)
_BREAKS = frozenset({",", ";", ":", "(", ")", ".", "—", "–", '"', "“", "”", "…"})


@dataclass(frozen=True)
class _Chain:
    """A stated cause and its effect; a cause that is a clause has a tense.

    A cause that is the subject of a verb that agrees with it has a number, ``singular`` or
    ``plural``.
    """

    start: int
    end: int
    effect: str
    up: bool
    backward: bool
    tense: str = ""
    number: str = ""

    @property
    def theme(self) -> str:
        """What the effect is about: the theme whose word stands nearest to the connector."""
        nearest: list[tuple[int, int, str]] = []
        # What is still to come is not what the effect is about: "fell ahead of inflation data".
        effect = _TO_COME.sub(lambda m: " " * len(m[0]), self.effect)
        for order, (name, pattern) in enumerate(_data()["themes"].items()):
            if places := [found.end() for found in pattern.finditer(effect)]:
                nearest.append((min(places) if self.backward else -max(places), order, name))
        return min(nearest)[2] if nearest else ""

    @property
    def way(self) -> str:
        """Whether the effect goes up or down."""
        return "up" if self.up != bool(_TURNED.search(_WITH.sub("", self.effect))) else "down"


@dataclass(frozen=True)
class _Cause:
    """A cause of ``causes.txt``: as a phrase, and as a clause of subject, verb and rest."""

    phrase: str
    subject: str
    verb: str
    rest: str

    def worded(self, tense: str) -> str:
        """Return it as it stands after "due to", or after "as" where there is a tense."""
        if not tense:
            return self.phrase
        verb = past_of(self.verb) if tense == "past" else self.verb
        return " ".join(part for part in (self.subject, verb, self.rest) if part)


@cache
def _data() -> Mapping[str, Any]:
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("causal.toml")
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    themes = {name: re.compile(p, re.IGNORECASE) for name, p in data["themes"].items()}
    return {
        "themes": themes,
        "related": [re.compile(p, re.IGNORECASE) for p in data["related"]],
        "wishes": re.compile(data["wishes"], re.IGNORECASE),
        "common": frozenset(data["common"].split()),
    }


@cache
def _bank() -> Mapping[tuple[str, str], tuple[_Cause, ...]]:
    """Return the causes by what the effect is about, and whether it goes up or down."""
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("causes.txt")
    bank: dict[tuple[str, str], list[_Cause]] = {}
    section: list[_Cause] = []
    for line in source.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            theme, way = line.strip("[]").split()
            section = bank.setdefault((theme, way), [])
        elif line and not line.startswith("#"):
            phrase, clause = line.split(" = ")
            subject, action = clause.split(" | ")
            verb, _, rest = action.partition(" ")
            section.append(_Cause(phrase, subject, verb, rest))
    return {key: tuple(causes) for key, causes in bank.items()}


def causal_versions(text: str, rng: np.random.Generator) -> Sequence[RuleRewrite] | NoRewrite:
    """Return the versions of a text with another cause for one effect, or why there is none.

    Args:
        text: A paragraph.
        rng: The order of the versions.
    """
    if not (_CAUSE_AFTER.search(text) or _CAUSE_BEFORE.search(text) or _AS.search(text)):
        return NoRewrite("states no explicit cause")
    chains = list(_chains(text))
    if not chains:
        return NoRewrite("states no realised cause that could be another without touching facts")
    found: dict[str, RuleRewrite] = {}
    for first in chains:
        # One effect told twice, in headline and body, has one cause in both.
        told = [c for c in chains if c.way == first.way and c.theme in (first.theme, "")]
        if any(one.end > two.start for one, two in pairwise(told)) or _told_elsewhere(text, told):
            continue
        bank = _bank().get((first.theme, first.way), ())
        fresh = shuffled([cause for cause in bank if _fresh(cause, text)], rng)
        # A long cause takes two or three to keep the length of the text.
        for many in (1, 2, 3):
            if many > 1 and len(told) > _TOLD_AT_LENGTH:
                continue  # a list of causes three times over is nobody's prose
            for causes in (fresh[i : i + many] for i in range(len(fresh) - many + 1)):
                if not _varied(causes):
                    continue
                replaced = [(c, _worded(causes, c)) for c in told]
                if _as_long(text, replaced) and all(_agrees(causes, c) for c in told):
                    version = _version(text, replaced)
                    found.setdefault(version.rewritten, version)
    if not found:
        return NoRewrite("no other cause at hand fits the effect")
    return shuffled(list(found.values()), rng)


def _version(text: str, replaced: Sequence[tuple[_Chain, str]]) -> RuleRewrite:
    edits = [
        replace_at(
            text,
            chain.start,
            chain.end,
            _cased(text, chain, words),
            "another cause of the same effect",
        )
        for chain, words in replaced
    ]
    log = with_articles(text, compose(edits))
    return RuleRewrite(apply(text, log), log)


def _worded(causes: Sequence[_Cause], chain: _Chain) -> str:
    *others, last = [cause.worded(chain.tense) for cause in causes]
    return f"{', '.join(others)} and {last}" if others else last


def _varied(causes: Sequence[_Cause]) -> bool:
    """Return whether several causes are several: no matter in two of them, no opening in three."""
    if len({cause.phrase.split()[0] for cause in causes}) < len(causes) - 1:
        return False
    told = [set(re.findall(r"[a-z]{5,}", cause.phrase)) - _data()["common"] for cause in causes]
    return all(not one & two for one, two in combinations(told, 2))


def _agrees(causes: Sequence[_Cause], chain: _Chain) -> bool:
    """Return whether causes have the number that the verb after them asks for."""
    if not chain.number:
        return True
    plural = len(causes) > 1 or bool(_PLURAL.match(causes[0].phrase))
    return plural == (chain.number == "plural")


def _as_long(text: str, replaced: Sequence[tuple[_Chain, str]]) -> bool:
    """Return whether the text keeps its length: a long cause is not replaced by a short one."""
    words = len(text.split())
    gone = sum(len(text[c.start : c.end].split()) - len(put.split()) for c, put in replaced)
    return _SHORTEST * words <= words - gone <= max(_LONGEST * words, words + _FEW)


def _told_elsewhere(text: str, told: Sequence[_Chain]) -> bool:
    """Return whether the rest of a text, the effects apart, speaks of the causes that are to go."""
    gone = " ".join(text[chain.start : chain.end] for chain in told)
    kept = list(text)
    for chain in told:
        at = text.find(chain.effect, chain.end) if chain.backward else -1
        at = text.rfind(chain.effect, 0, chain.start) if at < 0 else at
        for start, end in ((chain.start, chain.end), (at, at + len(chain.effect))):
            kept[start:end] = " " * (end - start)
    # What the effect is about is spoken of in any case.
    theme = _data()["themes"].get(told[0].theme)
    rest = theme.sub(" ", "".join(kept)) if theme else "".join(kept)
    plain = rest.casefold()
    words = [w for w in re.findall(r"[a-z-]{5,}", gone.casefold()) if w not in _data()["common"]]
    if any(re.search(rf"\b{re.escape(word[:6])}", plain) for word in words):
        return True
    return any(group.search(gone) and group.search(rest) for group in _data()["related"])


def _cased(text: str, chain: _Chain, cause: str) -> str:
    """Return a cause with capitals as the old one has them, in headlines too."""
    model = text[chain.start : chain.end]
    capitals = [word[0].isupper() for word in re.findall(r"[A-Za-z]{4,}", model)]
    if len(capitals) > 1 and all(capitals):
        return re.sub(r"(?<![\w-])[a-z](?=\w{3})", lambda m: m[0].upper(), cause)
    # Else what begins with a capital begins a sentence, or is a name, which the new cause is not.
    begins = not re.search(r"[\w,]\s\Z", text[: chain.start])
    return cause[0].upper() + cause[1:] if begins and model[0].isupper() else cause


def _fresh(cause: _Cause, text: str) -> bool:
    """Return whether a cause is news to the text."""
    told = f"{cause.phrase} {cause.worded('present')}"
    if any(group.search(told) and group.search(text) for group in _data()["related"]):
        return False
    content = [w for w in re.findall(r"[a-z-]{6,}", told) if w not in _data()["common"]]
    content += _MATTER.findall(told)
    plain = text.casefold()
    if _KEPT_IN.search(plain) and _GOING_OUT.search(told):
        return False
    return not any(re.search(rf"\b{re.escape(word[:5])}", plain) for word in content)


def _chains(text: str) -> Iterator[_Chain]:
    words = parse(text)
    moves = [m for m in lexicon().find(text, ["directional", "mild"]) if m.polarity]
    figures = [(q.start, q.end) for q in quantities(text)]
    figures += [(name.start, name.end) for name in identifiers(text)]

    def replaceable(span: tuple[int, int] | None, *, subject: bool = False) -> bool:
        return span is not None and _replaceable(text, span, words, figures, subject=subject)

    def reported(effect: str) -> bool:
        if _NOT_REALISED.search(effect):
            return False
        return not _data()["wishes"].search(effect)

    found: list[_Chain] = []
    for start, end in sentence_spans(text, dashes=True):
        if text[start:end].rstrip().endswith(("?", "…")):
            continue
        for match in _CAUSE_AFTER.finditer(text, start, end):
            span = _stretch(text, words, match.end(), end)
            effect = text[start : match.start()]
            joined = (
                match[0].casefold().strip() != "on"
                or _joins(words, match.start())
                or any(move.end + 1 == match.start() for move in moves)
            )
            if (
                not joined
                or _GAPS.search(effect)
                or not replaceable(span)
                or not reported(_last_clause(effect))
            ):
                continue
            direction = _direction(match, moves, start, match.start(), last=True)
            if direction is not None and span is not None:
                found.append(_Chain(*span, effect, direction, backward=False))
        for match in _AS.finditer(text, start, end):
            effect = text[start : match.start()]
            span = _stretch(text, words, match.end(), end)
            tense = _tense(words, span)
            if (
                not tense
                or _GAPS.search(effect)
                or not replaceable(span)
                or not reported(_last_clause(effect))
            ):
                continue
            inside = [m for m in moves if start <= m.start and m.end <= match.start()]
            way = {m.polarity > 0 for m in inside if _moves(m)}
            if len(way) == 1 and span is not None:
                found.append(_Chain(*span, effect, way.pop(), backward=False, tense=tense))
        for match in _CAUSE_BEFORE.finditer(text, start, end):
            span = _subject_before(words, match.start(), start)
            clause = _CLAUSE_END.search(text, match.end(), end)
            effect = text[match.end() : clause.start() if clause else end]
            if not replaceable(span, subject=True) or not reported(effect[:_NEAR]):
                continue
            direction = _direction(match, moves, match.end(), match.end() + len(effect), last=False)
            if direction is None or span is None or _ACTORS.search(text[slice(*span)]):
                continue
            if _NOT_REALISED.search(text, span[1], match.start()):
                continue  # "rising rates would hit profits"
            number = _number(words, match.start(), span)
            found.append(_Chain(*span, effect, direction, backward=True, number=number))
    # Of causes that overlap ("as a rise due to …") the one that begins first holds the others.
    last = 0
    for chain in sorted(found, key=lambda c: (c.start, -c.end)):
        if chain.start >= last:
            yield chain
            last = chain.end


def _last_clause(effect: str) -> str:
    """Return the clause that a connector closes; a short one with the clause before it."""
    clauses = re.split(r"[,;]\s", effect[-_NEAR:].rstrip(" ,"))
    return clauses[-1] if len(clauses[-1].split()) > 3 else " ".join(clauses[-2:])


def _moves(match: Match) -> bool:
    """Return whether a term says where an effect goes: it is no result, and no comparison."""
    return match.text.casefold() not in _NO_MOVE


def _stretch(text: str, words: Sequence[Word], at: int, end: int) -> tuple[int, int] | None:
    """Return a cause from where it begins to where its sentence goes on to something else."""
    stop = _GOES_ON.search(text, at, end)
    own = stop.start() if stop else end
    # What is said of a cause goes with it, and its short name: "deficit (CAD)".
    while stop and (stop[0].strip(" ,") in _RELATIVE or _SHORT_NAME.match(text, stop.start())):
        short = _SHORT_NAME.match(text, stop.start())
        stop = _GOES_ON.search(text, (short or stop).end(), end)
    last = stop.start() if stop else end
    if stop is None and not text[end:].strip() and text[at:end].rstrip()[-1:] not in (".", "!"):
        return None  # cut short
    span = at, at + len(text[at:last].rstrip(" .!,"))
    if stop is not None and stop[0].strip() == "as" and _has_verb(words, span, -1):
        return None  # what follows "as" may be told of a clause of the cause
    cause = text[span[0] : min(own, span[1])]
    # What stays after a comma has to be no more of the cause, unless it is a list.
    comma = cause.find(",")
    if comma >= 0 and _OF_ITS_OWN.search(cause, comma):
        return span[0], span[0] + comma
    if comma >= 0 and not re.search(r" and ", cause[comma:]) and _has_verb(words, span, comma):
        return None
    # "After a quarter driven by travel and loans, Pellon goes on": what follows is no cause.
    listed = re.search(r",? and [^,]*(?=,\s)", cause)
    if listed and _has_verb(words, span, listed.end()):
        return None
    return span if cause else None


def _has_verb(words: Sequence[Word], span: tuple[int, int], after: int) -> bool:
    inside = [w for w in words if span[0] + after < w.start < span[1]]
    verbal = [w for w in inside if w.tag in ("VBD", "VBZ", "VBP", "MD", "RP")]
    return any(w.lower not in ("worries", "fears", "concerns", "hopes", "bets") for w in verbal)


def _tense(words: Sequence[Word], span: tuple[int, int] | None) -> str:
    """Return the tense of the clause of a span; nothing where it is none, or of a pronoun."""
    if span is None:
        return ""
    inside = [w for w in words if span[0] <= w.start < span[1]]
    verbs = [w for w in inside if w.tag in ("VBD", "VBZ", "VBP", "MD")]
    if not verbs or inside[0].pos == "PRON" or verbs[0] is inside[0] or verbs[0].tag == "MD":
        return ""
    if inside[0].pos in ("ADP", "VERB", "ADV", "SCONJ"):
        return ""
    if verbs[0].lower in _PAST_ALIKE and any(w.tag == "VBD" for w in words if w.end <= span[0]):
        return "past"  # "the drop came as employers shed jobs"
    return "past" if verbs[0].tag == "VBD" else "present"


def _direction(
    connector: re.Match[str], moves: Sequence[Match], start: int, end: int, *, last: bool
) -> bool | None:
    """Return whether the effect goes up, by the connector or else a word; none if neither says."""
    if connector["up"] or connector["down"]:
        return bool(connector["up"])
    inside = [m for m in moves if start <= m.start and m.end <= end]
    inside = [m for m in inside if _moves(m)]
    if not inside:
        low = _LOW.search(connector.string, start, end)
        return False if low else None
    return inside[-1 if last else 0].polarity > 0


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


def _number(words: Sequence[Word], at: int, span: tuple[int, int]) -> str:
    """Return the number of the subject of a verb that agrees with it, else nothing."""
    verb = next(w for w in words if w.start == at)
    aux = [w for w in children(words, verb) if w.dep in ("aux", "auxpass")]
    if verb.tag == "VBD" or (aux and all(w.tag == "MD" or w.lower == "had" for w in aux)):
        return ""
    inside = covered(words, *span)
    root = next((w for w in inside if not span[0] <= words[w.head].start < span[1]), inside[-1])
    joined = any(w.head == root.index and w.dep == "conj" for w in inside)
    return "plural" if root.tag in ("NNS", "NNPS") or joined else "singular"


def _joins(words: Sequence[Word], at: int) -> bool:
    """Return whether the "on" at a place joins a cause to a movement: not "bets on", "view on"."""
    before = [w for w in words if w.end <= at]
    return bool(before) and (before[-1].pos != "NOUN" or before[-1].lower in _ENDS)


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
    *,
    subject: bool,
) -> bool:
    """Return whether a cause holds no figure, is of no one who acts on, and is no quotation."""
    start, end = span
    if any(s < end and start < e for s, e in named):
        return False
    inside = [w for w in words if start <= w.start < end]
    if not subject and _goes_on(words, inside[-1]):
        return False
    if inside[0].pos == "PRON" or inside[0].lower in ("its", "their", "his", "her", "this", "that"):
        return False
    quoted = any(quote in text[start:end] for quote in '"“”‘’')
    return not quoted or "’s" in text[start:end]
