"""The causes and effects that a text states: markers, and what stands on both sides of them.

RFC-BENCH, appendices Q.4 and S.4.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from contrafact.families.rfc.contracts.pair import Pair, Side, Span, Token, read_once

__all__ = [
    "SUPPOSED_REACH",
    "Chain",
    "causes",
    "chains",
    "changed_chains",
    "changed_words",
    "realised_chains",
]

SUPPOSED_REACH = 40
"""Characters before a marker within which "may" makes the chain a guess; what stands earlier in
the cause is part of a reported reason (ours)."""

# Causes and effects that a text states


@dataclass(frozen=True, slots=True)
class Chain:
    """A cause and its effect, as a text states them.

    Attributes:
        marker: Where the words are that link them.
        cause: Where the cause is.
        effect: Where the effect is.
        strong: Whether the marker says a cause outright ("due to"); "amid" and "after" only
            suggest one.
        realised: Whether the effect is reported to have happened, not supposed or predicted.
    """

    marker: Span
    cause: Span
    effect: Span
    strong: bool
    realised: bool


_BY = (
    r"(?:(?:driven|fuell?ed|spurred|sparked|prompted|triggered|caused|boosted|buoyed|lifted"
    r"|helped|aided"
    r"|supported|bolstered|propelled|powered|hurt|dragged(?:\sdown)?|weighed(?:\sdown|\son)?"
    r"|pressured"
    r"|hit|hampered|dented|squeezed|stoked|underpinned|brought\s(?:on|about)|pushed\s(?:up|down"
    r"|higher|lower)|"
    r"led|held\sback|knocked|battered|rattled|cushioned|offset|explained|impacted|affected"
    r"|undermined|capped|limited|curbed|restrained|hemmed\sin|put\soff|deterred|attracted|encouraged|kept\sin\scheck"
    r"|checked|clouded|dampened|soured|slammed|stung|cheered|spooked|unnerved)"
    r"\s(?:\w+ly\s|in\s(?:large\s)?part\s|partly\s|mainly\s|largely\s|mostly\s)?by)"
)
# An effect, then its cause.
_AFTER_STRONG = re.compile(
    r"\b(?:because(?:\sof)?|due\s(?:\w+ly\s|in\s(?:\w+\s)?part\s)?to|owing\s(?:\w+ly\s|in\spart\s)?to"
    r"|on\saccount\sof"
    r"|as\sa\s(?:\w+\s)?(?:result|consequence)\sof|thanks\s(?:\w+\s|in\s(?:\w+\s)?part\s)?to"
    r"|(?:link|ti|trac|ascrib|chalk|credit|pinn)(?:ed|es|s)\s(?:[^.;]{0,40}?\s)?(?:up\s)?(?:to|on)"
    r"|put\sdown\sto|reflecting|forced\sby|reflects"
    rf"|{_BY}|stem(?:s|med|ming)?\s(?:\w+ly\s)?from|aris(?:es?|ing)\sfrom|arose\sfrom|result(?:s"
    r"|ed|ing)?\sfrom|(?:benefit|suffer)(?:s|t?ed|t?ing)?\s(?:\w+ly\s|in\spart\s)?from"
    r"|(?:pressures?|strains?|support|boosts?|headwinds?|tailwinds?|help|damage|relief|drag)\sfrom"
    r"|attribut(?:able|ed|es|ing)\s(?:[^.;]{0,60}?\s)?to|in\s(?:response|reaction)\sto"
    r"|(?:on|off)\sthe\s(?:back|heels|strength)\sof"
    r"|in\s(?:light|view|the\swake|consequence)\sof|by\svirtue\sof|blam(?:ed|es"
    r"|ing)\s(?:[^.;]{0,60}?\s)?on|given\sthat"
    r"|(?<=,\s)(?:also\s)?(?:citing|crediting|blaming)|considering\sthat|insofar\sas|inasmuch\sas|in\sthat"
    r"|on\s(?!\w+day\b)(?:[\w’'-]+,?\s){0,2}(?:fears?|concerns?|worries|hopes?|optimism|news|expectations|signs"
    r"|speculation|reports|forecasts?|bets|doubts|talk|prospects?|issues|problems|jitters|woes|anxiety|unease"
    r"|uncertainty|tensions|turmoil|cheer|optimism|gloom)\b)"
    r"(?!\sbe\b)",
    re.IGNORECASE,
)
_HAPPENING = (
    r"(?:surge|spike|jump|rise|rally|boom|rebound|recovery|flood|wave|influx|drop|fall|decline|slump"
    r"|slowdown|downturn|sell-?off|plunge|slide|shortage|lack|glut|drought|storm|hurricane|strike"
    r"|outbreak|resurgence|pandemic|crackdown|string|series|combination)"
)
"""What "as a …" tells as having happened: no company acts "as a surge"."""

_AFTER_WEAK = re.compile(
    r"\b(?:amid(?:st)?|after|following|since(?=\s(?:the|it|its|demand|costs|they|he|she|investors"
    r"|\w+s\s))"
    rf"|as(?=\san?\s(?:[\w-]+\s){{0,3}}{_HAPPENING}\b)"
    r"|as(?!\s(?:(?:well|such|of|much|many|part|a|an|expected|for|per|to)\b"
    r"|(?:high|low|long|soon|far)\sas\b|the\s(?:top|best|largest|biggest|first|world|country)|\w+\sas\b|it\s(?:looks|seeks|aims"
    r"|plans|prepares|tries)))"
    r"|on(?=\s(?:[A-Z]\w+['’]s\s)?(?:strong|weak|higher|lower|rising|falling|robust|solid(?!\sground|\sfooting)|soft|growing|better|worse"
    r"|increased|improved|surging|slowing))"
    r"|on(?=\s(?:(?-i:[A-Z])\w+['’]s\s)?(?:(?-i:[a-z])[\w-]*\s){0,2}"
    r"(?:profit-taking|inflation|taking|demand|costs?|prices?|growth|buying"
    r"|selling|rates?"
    r"|weakness|strength|orders|worries|spending|supply|supplies|weather|valuations|inflows"
    r"|outflows|exports|imports)\b)"
    r"|over(?=\s(?:(?:[\w'’-]+\s){0,4})(?:polic(?:y|ies)|fears?|worries|concerns?|row|dispute|stance|shortages?|costs?|rules"
    r"|plans?|delays?|ban)\b)"
    r"|with(?=\s(?:[\w'’-]+\s){1,3}(?:rising|falling|running|surging|soaring|climbing|dropping|slowing|piling"
    r"|expiring|standing|staying|putting|drying|mounting|sliding|weakening|tightening)\b)"
    r"|with(?=\s(?:demand|costs|rates|prices|investors|sales|consumers|growth|higher|lower|rising"
    r"|falling)))\b",
    re.IGNORECASE,
)
# A cause, then its effect.
_MOVED = (
    r"(?:sentiment|appetite|confidence|demand|shares|stocks|profits?|margins?|sales|earnings|output"
    r"|production|growth|spending|exports|supply|supplies|markets?|investors?|mood|risk|hopes|prospects"
    r"|budgets?|revenue|results|orders|activity|gold|silver|oil|crude|copper|dollar|yen|euro|sterling|pound|rupee"
    r"|yuan|won|peso|rand|bonds|yields|futures|prices)\b"
)
"""What news speaks of as moved: "hit" alone is also said of a record."""

_BEFORE = re.compile(
    r"\b(?:led\sto|led(?=\s(?:[\w.%'’-]+\s){1,8}to\s)|leads?\sto|leading\sto|result(?:s|ed|ing)?\sin|caus(?:es|ed|ing|e)|trigger(?:s"
    r"|ed|ing)?|brought\sabout"
    r"|brings?\sabout|bringing\sabout|prompt(?:s|ed|ing)?|spark(?:s|ed|ing)?|gave\srise\sto"
    r"|giv(?:es|ing)\srise\sto"
    r"|induc(?:es|ed|ing)|contribut(?:es|ed|ing)\sto|ended\sup\s(?:in|with)|ends\sup\s(?:in|with)"
    r"|forc(?:ed|ing|es)|(?:sent|sending|sends)(?=\s(?:\w+\s){0,4}(?:up|down|higher|lower|\w+ing"
    r"|to))"
    r"|(?:drove|driving|drives|pushed|pushing|pushes)(?=\s(?:\w+\s){0,4}(?:up|down|higher|lower))"
    r"|fuell?(?:ed|ing|s)(?!\sby)|spurr?(?:ed|ing|s)(?!\sby)"
    r"|(?<!to\s)(?<!may\s)(?<!could\s)(?<!will\s)(?<!might\s)(?<!would\s)(?:push|send)"
    r"(?=\s(?:\w+\s){0,4}(?:up|down|higher|lower))"
    r"|(?<!to\s)(?<!may\s)(?<!could\s)(?<!will\s)(?<!might\s)(?<!would\s)weigh\son"
    r"|weigh(?:ed|s|ing)\son|dragg(?:ed|ing)(?!\s(?:down\s)?by|\son)(?:\sdown)?|hurt(?:s|ing)?(?!\sby)|dent(?:ed|s"
    r"|ing)(?!\sby)|(?:took|tak(?:en|es?|ing))\s(?:a|its|their)\s(?:\w+\s)?toll\son"
    r"|(?:prov(?:ed|en|es|ing)|was|were)\sa\s(?:\w+\s)?drag\son|hobbl(?:ed|es?|ing)(?!\sby)|sapp(?:ed|ing)(?!\sby)|saps"
    r"|drags?(?=\s(?:[\w.'’-]+\s){1,4}(?:down|lower|to))|squeez(?:ed|es|ing)(?!\sby)|erod(?:ed|es|ing)(?!\sby)"
    r"|boost(?:ed|s|ing)(?!\sby)|lift(?:ed|s|ing)(?!\sby)"
    r"|(?<!to\s)(?<!can\s)(?<!could\s)(?<!may\s)(?<!will\s)(?<!would\s)(?<!might\s)(?<!a\s)(?:lift|boost|drive)(?=\s[a-z])|(?<!to\s)(?<!can\s)(?<!could\s)(?<!may\s)(?<!will\s)(?<!would\s)(?<!might\s)(?<!the\s)help(?:ed|s"
    r"|ing)?(?!\sby)(?=\s(?:\w+\s){0,3}(?:lift|boost|drive|push|raise|offset|reduce|cut|improve"
    r"|\w+\s))|bolster(?:ed|s|ing)(?!\sby)|support(?:ed|s|ing)(?!\sby)|propell(?:ed|ing)(?!\sby)"
    r"|continu(?:ed|es|ing)\sto\s(?:support|boost|lift|weigh\son|hurt|drag(?:\sdown|\son)?|pressure|fuel|drive|squeeze"
    r"|dent|underpin|push|stoke|cap)"
    r"|(?:is|are|was|were)\s(?:among\s|one\sof\s)?(?:the\s)?(?:main\s|key\s|chief\s)?reasons?\s"
    r"(?:cited\s|given\s)?(?:for|behind)"
    r"|so\sthat|which\sis\swhy|thereby|pressur(?:ed|ing)(?!\sby)|underpinn?(?:ed|s|ing)(?!\sby)"
    r"|(?<!to\s)(?<!may\s)(?<!could\s)(?<!will\s)(?<!might\s)(?<!would\s)(?<!of\s)(?<!the\s)(?<!a\s)force"
    r"(?=\s[\w.'’-]+\s)"
    r"|(?:hits?|hitting|knock|slam(?:s|med)|dampen(?:s|ed|ing)|sour(?:s|ed)|cloud(?:s|ed|ing)|rattl(?:es?|ed|ing)"
    r"|spook(?:s|ed|ing)|batter(?:s|ed|ing)|knock(?:s|ed)|undermin(?:es|ed|ing)|weaken(?:s|ed)|cast)"
    rf"(?=\s(?:[\w.'’-]+\s){{0,3}}{_MOVED})"
    r"|stok(?:es|ed|ing)(?!\sby)|fann(?:ed|ing)(?!\sby))\b",
    re.IGNORECASE,
)
_OUTRIGHT = re.compile(
    r"(?:led|lead|result|caus|trigger|br(?:ought|ing)|prompt|spark|gave|giv|induc|ended|ends|forc"
    r"|sent|send|driv|drove|push|fuel|spur|so\s|which|thereby|contribut)",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r",\s(?:which|(?:a|an)\s(?:move|step|shift|change|decision)\s(?:that|which))\s"
    r"(?:has\s|have\s|had\s|in\sturn\s|also\s|then\s)*\Z",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\s(?:as|after|because|since|when|following|amid|that|which)\s", re.IGNORECASE
)
_LINKING = re.compile(
    r"(?:As\sa\s(?:result|consequence)|Consequently|Therefore|Hence|Thus|Accordingly"
    r"|In\sconsequence"
    r"|For\sth(?:is|at)\sreason|That\s(?:led\sto|caused|triggered|sent|pushed|drove|prompted"
    r"|resulted\sin)"
    r"|This\s(?:led\sto|caused|triggered|sent|pushed|drove|prompted|resulted\sin)"
    r"|Because\sof\s(?:this|that)|The\s(?:reason|cause)\b[^.]{0,30}\bwas)\b",
)
_INITIAL_END = re.compile(r",\s")
_ATTITUDE_ALONE = re.compile(r"on(?:\s[\w’'-]+,?){2,3}", re.IGNORECASE)
_ITS_OBJECT = re.compile(
    r"\s(?:of|that|about|over|for|on|in|around|surrounding|from|to|as|it|the)\b", re.IGNORECASE
)
_ITEM = r"[\w'’-]+(?:\s[\w'’-]+){0,3}"
_LISTED = re.compile(rf"(?:{_ITEM},\s)?(?:and|or)\b")
_LIST = re.compile(rf"\s(?:{_ITEM},\s)*{_ITEM},\sand", re.IGNORECASE)
_LONG_ITEM = (
    r"(?!(?:as|but|while|which|who|after|though|although|said|says|with|and|even|despite|the\scompany)\b)"
    r"[\w'’-]+(?:\s[\w'’-]+){0,5}"
)
_LIST_OF = re.compile(rf"\s{_LONG_ITEM}(?:,\s{_LONG_ITEM})+\sand\s", re.IGNORECASE)
_ASIDE_END = re.compile(r"[;,]\s")
_CLAUSE_END = re.compile(
    r"[;]|,\s(?:and|but|while|although|though|even|despite|which|said|says|according"
    r"|the\scompany\ssaid|it\ssaid|he\ssaid"
    r"|she\ssaid|they\ssaid|analysts\ssaid|offsetting|with|sending|leading|resulting|causing"
    r"|pushing|as)\b"
    r"|\s(?:but|while|although|though|despite|even\sas|even\sthough|whereas)\s|\s[—–]\s",
    re.IGNORECASE,
)
_CLAUSE_START = re.compile(
    r"[;]|,\s(?:and|but|while|although|though)\s|\s[—–]\s|\s(?:but|while|whereas)\s"
)
_SUPPOSED = re.compile(
    r"\b(?:could|may(?!\s\d)|might|would|should|if|unless|whether|potentially|possibly|perhaps"
    r"|likely|unlikely"
    r"|(?<!than[\s-])(?<!than )expected\sto|(?:is|are|was|were)\sexpected|expects?\b"
    r"|forecasts?(?=\s(?:to(?!\s\S*\d)|that|a)\b)|projected\sto|set\sto|poised\sto"
    r"|will|can|aims?\sto|plans?\sto|hopes?\sto|predicts?|predicted|risks?\s\w+ing"
    r"|threatens?\sto)\b",
    re.IGNORECASE,
)
_MONTH_MAY = re.compile(
    r"\bMay\b(?=\s\d|,|\.|\s(?:and|to|from|after|as)\b)|\b(?:in|since|of|last|this|by|for)\sMay\b"
)


@read_once
def chains(side: Side) -> list[Chain]:
    """Return the cause–effect chains that a text states, in the order of their markers."""
    found: list[Chain] = []
    for sentence in side.sentences:
        start, end = _trim(side.text, sentence.start, sentence.end)
        if start < end:
            found += _effect_then_cause(side, start, end)
            found += _cause_then_effect(side, start, end)
    found += _across_sentences(side)
    return sorted(found, key=lambda chain: chain.marker)


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and not text[start].isalnum() and text[start] not in "$€£":
        start += 1
    while end > start and text[end - 1] in " .!?\n\"'”’)":
        end -= 1
    return start, end


def _effect_then_cause(side: Side, start: int, end: int) -> Iterator[Chain]:
    """Yield the chains of "Y because X", and of "Because X, Y", in a sentence."""
    outright = list(_AFTER_STRONG.finditer(side.text, start, end))
    weak = {match.start(): match for match in _moved_on(side, start, end)}
    weak |= {match.start(): match for match in _AFTER_WEAK.finditer(side.text, start, end)}
    for match in outright:
        weak.pop(match.start(), None)
    for strong, matches in ((True, outright), (False, [weak[at] for at in sorted(weak)])):
        for match in matches:
            if _ATTITUDE_ALONE.fullmatch(match[0]) and not _ITS_OBJECT.match(
                side.text, match.end()
            ):
                # "rises on stimulus prospects": what the attitude is about stands before it.
                linked = (match.start(), match.start() + len("on"))
                clause = _clause_start(side.text, start, match.start())
                effect = _trim(side.text, clause, match.start())
                if _holds(effect):
                    cause = (linked[1] + 1, match.end())
                    yield _chain(side, linked, cause, effect, strong)
                continue
            if match.end() >= end:
                continue
            if match.start() <= start + 1:
                # "Because X, Y": the cause ends at a comma that an effect follows.
                for comma in _INITIAL_END.finditer(side.text, match.end(), end):
                    effect = _trim(side.text, comma.end(), end)
                    if _LISTED.match(side.text, comma.end()) or not _holds(effect):
                        continue
                    cause = _trim(side.text, match.end(), comma.start())
                    yield _chain(side, match.span(), cause, effect, strong)
                    break
                continue
            # ", driven by leisure travel," is an aside that ends where it is closed.
            aside = side.text[: match.start()].rstrip().endswith(",")
            stop = (_ASIDE_END if aside else _CLAUSE_END).search(side.text, match.end(), end)
            if stop and not aside and _LIST.fullmatch(side.text, match.end(), stop.end()):
                stop = _ASIDE_END.search(side.text, stop.end(), end)
            elif stop and aside and (listed := _LIST_OF.match(side.text, match.end(), end)):
                stop = _ASIDE_END.search(side.text, listed.end(), end)
            cause = _trim(side.text, match.end(), stop.start() if stop else end)
            clause = _clause_start(side.text, start, match.start())
            effect = _trim(side.text, clause, match.start())
            if _holds(cause) and _holds(effect):
                yield _chain(side, match.span(), cause, effect, strong)


_ON = re.compile(
    r"\bon(?=\s(?!(?:\w+day|the|an?|its|their|his|her|track|course|pace|average|record|hold|top|par"
    r"|year|quarter|month|week|balance|paper|purpose|schedule|time|board|offer|sale|credit|margin)\b)"
    r"(?!(?-i:[A-Z][\w.]*\s(?:Street|Exchange|Stock)))[\w“\"'‘])",
    re.IGNORECASE,
)
_ENDS_HEADLINE = re.compile(r"(?:\s[\w.&'’-]+,?){1,6}\Z")
_VERBAL = ("base", "third", "past", "participle")


def _moved_on(side: Side, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield the "on" right behind a verb of movement: "shares fall on hawkish Fed views"."""
    linked = list(_ON.finditer(side.text, start, end))
    if not linked:
        return
    ends = {
        term.end
        for term in side.terms("directional")
        if start <= term.start < end and term.inflection in _VERBAL
    }
    headline = bool(side.sentences) and start < side.sentences[0].end
    for match in linked:
        # A headline that ends with "on" and a thing ends with a cause: "at record on sales cheer".
        last = headline and _ENDS_HEADLINE.match(side.text, match.end(), end)
        if match.start() - 1 in ends or (last and ends):
            yield match


def _cause_then_effect(side: Side, start: int, end: int) -> Iterator[Chain]:
    """Yield the chains of "X led to Y" in a sentence."""
    for match in _BEFORE.finditer(side.text, start, end):
        stop = _CLAUSE_END.search(side.text, match.end(), end)
        effect = _trim(side.text, match.end(), stop.start() if stop else end)
        # ", which resulted in": what the clause before says is the cause.
        relative = _RELATIVE.search(side.text, start, match.start())
        closes = relative.start() if relative else match.start()
        opens = _clause_start(side.text, start, closes)
        for link in _SUBORDINATE.finditer(side.text, opens, closes):
            opens = link.end()  # "shares fell as costs squeezed margins": the costs did
        cause = _trim(side.text, opens, closes)
        if _holds(cause) and _holds(effect):
            yield _chain(side, match.span(), cause, effect, bool(_OUTRIGHT.match(match[0])))


def _across_sentences(side: Side) -> Iterator[Chain]:
    """Yield the chains of "X. As a result, Y"."""
    for before, after in pairwise(side.sentences):
        start, end = _trim(side.text, after.start, after.end)
        match = _LINKING.match(side.text, start, end)
        if match is None:
            continue
        cause = _trim(side.text, before.start, before.end)
        effect = _trim(side.text, match.end(), end)
        if _holds(cause) and _holds(effect):
            yield _chain(side, match.span(), cause, effect, True)


def _holds(span: Span) -> bool:
    return span[0] < span[1]


def _clause_start(text: str, start: int, marker: int) -> int:
    """Return where the clause before a marker begins."""
    at = start
    for match in _CLAUSE_START.finditer(text[start:marker]):
        at = start + match.end()
    return at


def _chain(side: Side, marker: Span, cause: Span, effect: Span, strong: bool) -> Chain:
    """Return a chain, with whether its effect is reported (R.4, condition B)."""

    def supposed(span: Span) -> Iterator[re.Match[str]]:
        months = [m.span() for m in _MONTH_MAY.finditer(side.text, *span)]
        for match in _SUPPOSED.finditer(side.text, *span):
            if match[0] != "May" and not any(s <= match.start() < e for s, e in months):
                yield match

    realised = not any(any(supposed(span)) for span in (effect, marker)) and not (
        # In the cause, only what stands at its verb makes the chain a guess:
        # "due to fears that rates may rise" is a reported reason.
        cause[0] <= effect[0]
        and any(
            match.end() >= marker[0] - SUPPOSED_REACH
            for match in supposed((min(marker[0], cause[0]), cause[1]))
        )
    )
    return Chain(marker, cause, effect, strong, realised)


# The stated causes of a pair


@read_once
def realised_chains(pair: Pair) -> list[Chain]:
    """Return the chains of the original that are reported."""
    return [chain for chain in chains(pair.original) if chain.realised]


@read_once
def changed_chains(pair: Pair) -> list[Chain]:
    """Return the reported chains whose cause has a changed word."""
    return [chain for chain in realised_chains(pair) if changed_words(pair, chain.cause)]


def changed_words(pair: Pair, span: Span) -> list[Token]:
    """Return the tokens of a span of the original that were changed."""
    return [
        pair.original.tokens[i]
        for i in pair.original.span_tokens(*span)
        if pair.alignment.change_in_original(i)
    ]


@read_once
def causes(pair: Pair) -> list[Span]:
    """Return where the original's causes are that may be replaced.

    Those that changed, outright ones first: what "amid" or "after" links may be an effect of
    another cause.
    """
    strong = [chain for chain in realised_chains(pair) if chain.strong]
    weak = [chain for chain in realised_chains(pair) if not chain.strong]
    for some in (strong, weak):
        changed = [chain.cause for chain in some if changed_words(pair, chain.cause)]
        if changed:
            return changed
    return [chain.cause for chain in strong or weak]
