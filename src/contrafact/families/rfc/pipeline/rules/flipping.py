"""Directional flipping by rule: every directional word turned round (RFC-BENCH, S.1 and Q.1).

The lexicon says what may assert a direction and what its opposite is; ``flipping.toml`` and the
grammar of the sentence say where it does. A text that would turn into nonsense word by word is not
turned at all.

Figures change only as far as the reversal needs it (R.1): ends that are measured against each other
trade places, and signs turn. Raised from $90 to $96 becomes lowered from $96 to $90, +3% -3%.
"""

import re
from collections.abc import Sequence

import numpy as np

from contrafact.families.rfc.pipeline.rules.conceded_reasons import (
    Reason,
    concession,
    reason_around,
    reasons,
)
from contrafact.families.rfc.pipeline.rules.edits import (
    NoRewrite,
    RuleRewrite,
    apply,
    compose,
    replace_at,
    with_articles,
)
from contrafact.families.rfc.pipeline.rules.flipping_rules import (
    FEELINGS,
    OBJECTS,
    SUBJECTS,
    VERBAL,
    WHY,
    Found,
    flipping_rules,
)
from contrafact.families.rfc.pipeline.rules.grammar import (
    Word,
    cased,
    children,
    covered,
    described,
    inflected,
    lemmas,
    measures,
    named_with,
    parse,
    plural,
    subtree,
)
from contrafact.families.rfc.pipeline.rules.kept_words import (
    Obstacle,
    kept_concessions,
    obstacles,
    particle_edits,
)
from contrafact.families.rfc.pipeline.rules.turned_figures import (
    crossing_edits,
    sign_edits,
    swap_edits,
)
from contrafact.families.rfc.pipeline.rules.turned_wordings import Wording, turned_wordings
from contrafact.records import Edit
from contrafact.text.quantities import Quantity, quantities
from contrafact.text.tokens import sentence_spans
from contrafact.text.words import Match, lexicon

__all__ = ["flipping_versions"]

_FIGURE = re.compile(r"\d|%|\bper ?cent\b|\bpoints?\b|\bbps\b", re.IGNORECASE)
_EXTREME = re.compile(
    r"(?:\b(?:record|record closing|fresh|new|session)|(?:year|month|week|day|decade|yr|mth))"
    r"s?[-\s]\Z",
    re.IGNORECASE,
)
_LEVEL = re.compile(r"\sof\s[$€£¥]?(?:Rs\s)?\d")
_LOSSES = re.compile(
    r"(?:\A|\b(?:its?|their|the|early|earlier|recent|some|day's|weekly|steep|sharp|heavy|extend\w*"
    r"|par(?:e|ed|es|ing)|trim\w*|deep|further|of|cut\w*|erase\w*)\s)losses\Z",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"\s(?:[\w.’'&/-]+\s){0,4}(?:estimates?|expectations?|forecasts?|consensus|views?|targets?)\b",
    re.IGNORECASE,
)
_FROM_LEVEL = re.compile(r"\bfrom\s(?:[a-z]+\s){0,3}[$€£¥]?\d+(?:\.\d+)?(?!-)")
_SURPRISES = re.compile(r"\bsurprises? of (-?[\d.,]*\d%)(?: and (-?[\d.,]*\d%))?", re.IGNORECASE)
_AT_RATE = re.compile(r"\bat an? \Z", re.IGNORECASE)
_RATE = re.compile(r"\s(?:rate|pace|clip)\b", re.IGNORECASE)
_AFTER_NOUN = frozenset({"in", "likely", "expected", "seen", "possible"})
_NEAR = re.compile(r"\s(?:[\w-]+\s){0,2}")
_BOTH = re.compile(r"\bearnings,? and revenues?\b", re.IGNORECASE)
_POINTS = re.compile(r"\d|(?:bps?|points?)\Z")
_ENDING = frozenset(
    {"trade", "close", "open", "end", "finish", "edge", "inch", "push", "track", "move", "drift"}
    | {"settle", "head", "start", "creep", "go", "tick"}
)


class _Nonsense(Exception):
    """Turned round word by word, the text would make no sense."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(reason)
        self.obstacle = Obstacle(at, reason)


def flipping_versions(
    text: str, rng: np.random.Generator, draws: int = 12
) -> Sequence[RuleRewrite] | NoRewrite:
    """Return texts with the directional words turned round, or why that cannot be done.

    Args:
        text: A paragraph.
        rng: Where the choices between equally good opposites come from.
        draws: How often they are chosen; what comes out twice is returned once.
    """
    words, spans = parse(text), sentence_spans(text, dashes=True)
    found: dict[str, RuleRewrite] = {}
    for _ in range(draws):
        version = _version(text, words, spans, rng)
        if isinstance(version, NoRewrite):
            return version
        found.setdefault(version.rewritten, version)
    return list(found.values())


def _version(
    text: str,
    words: Sequence[Word],
    spans: Sequence[tuple[int, int]],
    rng: np.random.Generator,
) -> RuleRewrite | NoRewrite:
    matches = lexicon().find(text, ["directional"])
    wordings = turned_wordings(text, words)
    matches = [m for m in matches if not any(w.start < m.end and m.start < w.end for w in wordings)]
    found = [one for m in matches if (one := _found(m, words, spans)) is not None]
    turned = [one for one in found if _turns(one, text, words)]
    turned = _once(_without_moved(turned, words), wordings, text)
    possible = reasons(text, words, spans)
    conceded: list[Reason] = []
    while True:
        places = [(reason.start, reason.end) for reason in conceded]
        turned = [one for one in turned if not _within(one.match.start, places)]
        wordings = [one for one in wordings if not _within(one.start, places)]
        starts = [one.match.start for one in turned] + [one.start for one in wordings]
        if not starts:
            return NoRewrite("no word asserts a direction that can be turned round")
        try:
            edits = [_edit(one, turned, words, rng) for one in turned]
            surprises = _surprise_edits(text, turned)
        except _Nonsense as nonsense:
            obstacle: Obstacle | None = nonsense.obstacle
        else:
            met = obstacles(text, found, turned, wordings, words, spans, places)
            obstacle = next(met, None)
        if obstacle is None:
            break
        reason = None
        if obstacle.concedable:
            reason = reason_around(obstacle.at, possible, starts, spans)
            reason = None if reason is None or _runs_on(text, reason, starts) else reason
        if reason is None or reason in conceded:
            return NoRewrite(obstacle.reason)
        conceded.append(reason)
    turning = [(s, e) for s, e in spans if any(s <= start < e for start in starts)]
    swaps = [edit for edit in swap_edits(text, turning) if not _within(edit.start, places)]
    signs = sign_edits(text, [(0, len(text))])
    for place in turning:
        if any(q.kind == "percent" and abs(q.value or 0) > 100 for q in _figures(text, place)):
            return NoRewrite("nothing falls by more than all of it")
        for level in _FROM_LEVEL.finditer(text, *place):
            swapped = any(level.start() <= swap.start <= level.end() for swap in swaps)
            if not swapped and not _within(level.start(), places):
                return NoRewrite(f"'{level[0]}' shows the direction")
    whole = [edit for wording in wordings for edit in wording.edits]
    whole += [edit for edit, _ in kept_concessions(text, starts, words)]
    whole += [concession(text, reason, rng) for reason in conceded]
    crossed = crossing_edits(text, [one.match for one in turned], swaps)
    particles = particle_edits(text, turned)
    log = compose(edits, whole, particles, surprises, swaps, signs, crossed)
    log = with_articles(text, log)
    return RuleRewrite(apply(text, log), log)


def _runs_on(text: str, reason: Reason, starts: Sequence[int]) -> bool:
    """Return whether a reason goes on into what is turned round, so that both would be changed."""
    following = min((start for start in starts if start >= reason.end), default=len(text))
    return not re.search(r"[,.;:!?]|\s[-–—]\s", text[reason.end - 1 : following])


def _figures(text: str, place: tuple[int, int]) -> list[Quantity]:
    """Return the figures of a sentence."""
    return [q for q in quantities(text) if place[0] <= q.start < place[1]]


def _within(at: int, places: Sequence[tuple[int, int]]) -> bool:
    """Return whether a place lies in one of some stretches."""
    return any(start <= at < end for start, end in places)


def _once(turned: Sequence[Found], wordings: Sequence[Wording], text: str) -> list[Found]:
    """Leave one of a quality and the noun that it is said of: both turned, they say the same.

    Of what grows or is earned the quality turns, "weak growth"; of a move the noun, "strong fall".
    """
    rules = flipping_rules()
    nouns = {one.match.start for one in turned if one.noun}
    kept = [
        one
        for one in turned
        if not (one.match.term in rules.results and one.match.end + 1 in nouns)
    ]  # "a profit uptick" turns at the uptick
    ends: list[tuple[int, Found | None]] = [(w.match.end, w) for w in turned if not w.noun]
    ends += [(wording.end, None) for wording in wordings]
    for noun in turned:
        if not noun.noun or noun.match.term in FEELINGS:
            continue
        for end, quality in ends:
            between = text[end : noun.match.start] if end <= noun.match.start else "."
            if not _NEAR.fullmatch(between):
                continue
            state = noun.match.term in rules.results or quality is None
            describes = quality is not None and quality.match.term in rules.qualities
            if state and (quality is None or describes) and noun in kept:
                kept.remove(noun)
            elif describes and quality in kept:
                kept.remove(quality)
    return kept


def _found(match: Match, words: Sequence[Word], spans: Sequence[tuple[int, int]]) -> Found | None:
    inside = covered(words, match.start, match.end)
    if not inside:
        return None
    indexes = {word.index for word in inside}
    word = next((w for w in inside if w.head not in indexes or w.head == w.index), inside[0])
    if match.inflection in VERBAL:
        word = inside[0]  # of "weighs on" the verb rules
    sentence = next(n for n, (start, end) in enumerate(spans) if start <= match.start < end)
    return Found(match, word, sentence, _is_noun(match, word, words))


def _is_noun(match: Match, word: Word, words: Sequence[Word]) -> bool:
    """Return whether a term stands for a thing: taggers take a headline's verbs for nouns."""
    if match.inflection not in VERBAL:
        return word.pos == "NOUN"
    if match.inflection in ("past", "gerund", "participle") and match.term not in ("cut", "beat"):
        return False
    if word.tag == "NNS" and word.dep in (*OBJECTS, "pobj"):
        return True
    before = words[word.index - 1] if word.index else None
    after = words[word.index + 1] if word.index + 1 < len(words) else None
    if match.term in ("cut", "hike") and before is not None and _POINTS.search(before.lower):
        return True  # "a 25bps cut"
    if match.term in ("beat", "miss") and before is not None and before.pos in ("NOUN", "DET"):
        first = words[before.index - 1] if before.index else None
        if before.pos == "DET" or (first is not None and first.pos == "DET"):
            return True  # "a revenue beat"
    if match.term == "cut" and after is not None and after.lower in _AFTER_NOUN:
        return True
    if word.pos != "NOUN" or before is None:
        return False
    if before.tag in ("DT", "JJ", "JJR", "JJS", "PRP$", "POS", "VBG", "VBN") or before.text == "%":
        return True
    # "A March hike", "the 200 basis point cut": spelled as the verb, without an object of one.
    if match.inflection != "third" and before.pos in ("NOUN", "PROPN", "NUM"):
        return not any(w.dep in OBJECTS for w in children(words, word))
    return after is not None and after.lower in ("in", "of") and before.pos != "PROPN"


def _turns(one: Found, text: str, words: Sequence[Word]) -> bool:
    """Return whether a term asserts a direction where it stands."""
    rules, match = flipping_rules(), one.match
    term = match.term
    if _in_name(one, words) or _hyphened(match, text):
        return False
    before, after = text[max(0, match.start - 60) : match.start], text[match.end : match.end + 60]
    for only in rules.only:
        if term in only.terms and not (
            (only.before is None or only.before.search(before))
            and (only.after is None or only.after.search(after))
        ):
            return False
    if " " in term or "-" in term:
        if term in rules.results:
            return bool(rules.reporting.search(before))
        if term in rules.pushing:
            return _moves_measure(one, words)
        return match.group in rules.phrases and term not in rules.not_phrases
    if term in ("high", "low") and (_EXTREME.search(before) or _LEVEL.match(after)):
        return True
    if term in rules.results and not (term == "loss" and _LOSSES.search(before + match.text)):
        return bool(rules.reporting.search(before))
    if term in rules.verdicts and _EXPECTED.match(after):
        return True
    if one.noun and (match.inflection in VERBAL or term in rules.nouns):
        return term in rules.nouns and (term not in FEELINGS or term in rules.anywhere)
    if match.inflection in VERBAL:
        if one.word.pos == "PROPN" and not one.word.titled:
            return False
        if one.word.dep == "amod":
            if match.inflection in ("past", "participle"):
                return term in ("increase", "decrease") and _describes_measure(one, words)
            moves = term in rules.moving or term in rules.pushing
            return moves and _describes_measure(one, words)
        return (term in rules.moving and _moves_alone(one, words)) or (
            term in rules.pushing and _moves_measure(one, words)
        )
    if term in rules.qualities:
        if _AT_RATE.search(before) and _RATE.match(after):
            return False  # "grew at an impressive rate"
        return _describes_measure(one, words) or (
            term in ("higher", "lower") and _ends_there(one, words)
        )
    return term in rules.anywhere


def _moves_alone(one: Found, words: Sequence[Word]) -> bool:
    """Return whether a verb has no object but a figure."""
    objects = [w for w in children(words, one.word) if w.dep in OBJECTS]
    return all(_is_figure(thing, words) for thing in objects)


def _moves_measure(one: Found, words: Sequence[Word]) -> bool:
    """Return whether what a verb moves goes both ways: a measure, a figure, posts."""
    rules, verb = flipping_rules(), one.word
    near = list(children(words, verb))
    things = [w for w in near if w.dep in (*OBJECTS, "nsubjpass")]
    if one.match.inflection in ("participle", "past") and any(w.dep == "agent" for w in near):
        return True
    if verb.dep == "amod":
        things.append(words[verb.head])
    if not things and verb.dep in ("acl", "relcl"):
        things.append(words[verb.head])
    if not things:
        # Of "weighs on" the object hangs on the preposition.
        particles = [w for w in near if w.dep in ("prep", "prt")]
        things = [w for p in particles for w in children(words, p) if w.dep == "pobj"]
    if not things:
        # Parsers lose the object of a headline's verb: take the noun that comes next.
        following = words[verb.index + 1 : verb.index + 5]
        things = [w for w in following if w.pos == "NOUN"][:1]
        if any(w.pos in ("VERB", "ADP", "PUNCT", "CCONJ", "SCONJ") for w in following[:1]):
            return False
    named = measures() | rules.people
    return bool(things) and all(
        _is_figure(thing, words)
        or any(w.lower.strip(".") in named for w in [thing, *named_with(thing, words)])
        for thing in things
    )


def _describes_measure(one: Found, words: Sequence[Word]) -> bool:
    """Return whether a quality describes a measure: "weak demand", "demand was weak"."""
    following = words[one.word.index + 1 : one.word.index + 2]
    about = [*described(one.word, words), *following]
    return any(w.lower.strip(".") in measures() for w in about)


def _ends_there(one: Found, words: Sequence[Word]) -> bool:
    """Return whether "higher" or "lower" says where something went: "closed higher"."""
    before = words[one.word.index - 1] if one.word.index else None
    if before is None:
        return False
    return before.lower in measures() or bool(lemmas(before.lower) & _ENDING)


def _is_figure(thing: Word, words: Sequence[Word]) -> bool:
    return bool(_FIGURE.search(" ".join(w.text for w in subtree(words, thing)[:6])))


def _in_name(one: Found, words: Sequence[Word]) -> bool:
    """Return whether a term is part of a name: a capital in running text, next to another."""
    word = one.word
    if word.titled or not one.match.text[0].isupper():
        return word.titled and word.pos == "PROPN" and one.match.inflection not in VERBAL
    first = word.index == 0 or words[word.index - 1].text in (".", "!", "?", ":", '"', "“", "-")
    after = words[word.index + 1] if word.index + 1 < len(words) else None
    return not first or (after is not None and after.text[0].isupper() and after.pos == "PROPN")


def _hyphened(match: Match, text: str) -> bool:
    """Return whether a term is half of a compound ("high-profile", "growth-minded")."""
    before, after = text[max(0, match.start - 1) : match.start], text[match.end : match.end + 1]
    return after in ("-", "‑") or (before in ("-", "‑", "/") and match.term not in ("high", "low"))


def _without_moved(turned: Sequence[Found], words: Sequence[Word]) -> list[Found]:
    """Leave out what a verb that is turned moves: "a rise in prices slowed" turns at "slowed".

    What moves something else turns with it: "a rise in prices lifted sales"."""
    binding = flipping_rules().binding
    movers = {
        one.word.index
        for one in turned
        if not one.noun and one.match.inflection in VERBAL and one.match.term not in binding
    }
    pushers = {w.head for w in words if w.dep in OBJECTS and not _is_figure(w, words)}
    return [
        one
        for one in turned
        if not (
            one.noun
            and " " not in one.match.term
            and one.match.term not in FEELINGS
            and one.word.head in movers
            and (
                one.word.dep in (*OBJECTS, "compound")
                or (one.word.dep in SUBJECTS and one.word.head not in pushers)
            )
        )
    ]


def _edit(
    one: Found, turned: Sequence[Found], words: Sequence[Word], rng: np.random.Generator
) -> Edit:
    _refuse_purpose(one, words)
    _refuse_feeling(one, turned, words)
    match = one.match
    after = _opposite(one, words, rng)
    return Edit(start=match.start, end=match.end, before=match.text, after=after, why=WHY)


def _opposite(one: Found, words: Sequence[Word], rng: np.random.Generator) -> str:
    match, word, rules = one.match, one.word, flipping_rules()
    if " " not in match.term:
        noun = rules.nouns.get(match.term)
        many = match.inflection in ("plural", "third")
        if match.term in rules.results and not (match.term == "loss" and one.noun and many):
            noun = rules.other_results[match.term]
        if noun and (one.noun or match.term in FEELINGS or match.term in rules.results):
            return cased(match.text, plural(noun) if many else noun)
        if match.text.casefold() == match.term and match.term in rules.adjectives:
            return cased(match.text, rules.adjectives[match.term])
        if word.tag in ("JJR", "RBR") and match.term == "lower":
            purpose = word.index and words[word.index - 1].lower == "to"
            return cased(match.text, "raise" if purpose else "higher")
        if match.inflection in VERBAL and not one.noun:
            things = [w for w in children(words, word) if w.dep in OBJECTS]
            if match.term == "drop" and any(w.lower in measures() for w in things):
                return cased(match.text, inflected("raise", match.inflection))
            following = words[word.index + 1 : word.index + 2]
            if match.term in ("gain", "lose") and not things and not _figured(following):
                step = "gain" if match.term == "gain" else "decline"
                options = rules.moves.opposites(step, _moving(word, words))
                verb = options[int(rng.integers(len(options)))]
                return cased(match.text, inflected(verb, match.inflection))
            if match.term == "lift" and not things and word.tag not in ("VBN", "VBG"):
                options = rules.moves.opposites("rise", _moving(word, words))
                verb = options[int(rng.integers(len(options)))]
                return cased(match.text, inflected(verb, match.inflection))
            cutting = match.polarity < 0 and any(w.lower in rules.people for w in things)
            verbs = ["add"] if cutting else rules.verbs.get(match.term)
            if not verbs and not _is_done_by(word, words) and all(map(_measures, things)):
                verbs = rules.moves.opposites(match.term, _moving(word, words))
            if verbs:
                verb = verbs[int(rng.integers(len(verbs)))]
                return cased(match.text, inflected(verb, match.inflection))
    if match.term.startswith("cut ") and match.group == "guidance":
        past = word.tag in ("VBD", "VBN")
        return cased(match.text, ("raised" if past else "raise") + match.text[len("cut") :])
    after = cased(match.text, lexicon().opposite(match))
    if all(part[0].isupper() for part in re.findall(r"[A-Za-z]+", match.text)):
        after = re.sub(r"\b[a-z](?=\w{2})", lambda found: found[0].upper(), after)
    if " " in match.text and "-" not in match.text:
        after = after.replace("-", " ")
    # Of a compound with a hyphen and a space the lexicon hyphens every gap.
    if " " in match.text and "-" in after and " " not in after:
        head, _, tail = after.rpartition("-")
        after = f"{head} {tail}"
    return after


def _measures(thing: Word) -> bool:
    """Return whether a word is a figure: what "rose 5%" has for an object."""
    return bool(_FIGURE.search(thing.text))


def _is_done_by(verb: Word, words: Sequence[Word]) -> bool:
    """Return whether somebody does what a participle says: "decreased by Norrick"."""
    following = words[verb.index + 1 : verb.index + 3]
    by = len(following) == 2 and following[0].lower == "by"
    return by and not _figured(following[1:]) and following[1].text[0].isupper()


def _moving(verb: Word, words: Sequence[Word]) -> set[str]:
    """Return the words, in lower case, for what a verb says to move."""
    subjects = [w for w in children(words, verb) if w.dep in SUBJECTS]
    if not subjects:
        subjects = list(words[max(0, verb.index - 3) : verb.index])
    return {w.lower for s in subjects for w in [s, *named_with(s, words)]}


def _figured(words: Sequence[Word]) -> bool:
    """Return whether a figure is among some words."""
    return any(re.search(r"\d|[$€£¥₹]", word.text) for word in words)


def _refuse_purpose(one: Found, words: Sequence[Word]) -> None:
    """Refuse purposes: nobody acts in order to weigh on growth."""
    word, match = one.word, one.match
    if one.noun or match.inflection != "base" or word.index == 0:
        return
    if words[word.index - 1].lower != "to":
        return
    governor = words[word.head] if word.head != word.index else None
    sentence = [w for w in words if w.index < word.index]
    finite = any(w.tag in ("VBZ", "VBD", "VBP", "MD") for w in sentence)
    aims = match.term in flipping_rules().binding or match.term in flipping_rules().purposes
    if not finite and not aims and all(w.text not in ".!?" for w in sentence):
        return  # a headline's future: "Fund to raise its stake"
    if governor is not None and (
        governor.lower in flipping_rules().expecting or word.dep == "xcomp"
    ):
        return
    if match.term in flipping_rules().binding or match.term in flipping_rules().purposes:
        raise _Nonsense(match.start, f"the purpose 'to {match.text}' does not turn round")


def _refuse_feeling(one: Found, turned: Sequence[Found], words: Sequence[Word]) -> None:
    """Refuse hopes and fears of something that stays: "hopes of inflation" are no hopes."""
    if one.match.term not in FEELINGS:
        return
    content = [w for w in subtree(words, one.word) if w.pos in ("NOUN", "PROPN", "VERB")]
    others = {other.word.index for other in turned if other is not one}
    about = [
        w for w in content if w.index != one.word.index and w.lower not in flipping_rules().holders
    ]
    if about and not others & {w.index for w in about}:
        raise _Nonsense(one.match.start, f"'{one.match.text}' of something that stays as it is")


def _surprise_edits(text: str, turned: Sequence[Found]) -> list[Edit]:
    """Return edits that turn the surprises that make a beat: of 10.81%, of -10.81%."""
    verdicts = [one.match.polarity for one in turned if one.match.group == "expectation"]
    if not verdicts:
        return []
    for match in _SURPRISES.finditer(text):
        signs = [-1 if match[n][0] == "-" else 1 for n in (1, 2) if match[n]]
        mixed = len(set(signs)) > 1 and len(set(verdicts)) == 1 and _BOTH.search(text)
        if mixed or not set(verdicts) <= set(signs):
            raise _Nonsense(match.start(), "the surprises do not go with the verdict")
    why = "the surprise turns with the verdict"
    return [
        replace_at(text, *m.span(n), m[n][1:] if m[n][0] == "-" else f"-{m[n]}", why)
        for m in _SURPRISES.finditer(text)
        for n in (1, 2)
        if m[n]
    ]
