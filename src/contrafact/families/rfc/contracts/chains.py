"""Causes and effects that a text states, and whether they are reported or only supposed.

RFC-BENCH, appendix R.4 (conditions A and B) and S.4.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from contrafact.families.rfc.contracts.findings import Span
from contrafact.families.rfc.contracts.pair import Side

__all__ = ["Chain", "chains"]


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
    r"|undermined)"
    r"\s(?:\w+ly\s|in\s(?:large\s)?part\s|partly\s|mainly\s|largely\s|mostly\s)?by)"
)
# An effect, then its cause.
_AFTER_STRONG = re.compile(
    r"\b(?:because(?:\sof)?|due\s(?:\w+ly\s)?to|owing\sto|on\saccount\sof"
    r"|as\sa\s(?:\w+\s)?(?:result|consequence)\sof|thanks\s(?:\w+\s)?to"
    rf"|{_BY}|stem(?:s|med|ming)?\s(?:\w+ly\s)?from|aris(?:es?|ing)\sfrom|arose\sfrom|result(?:s"
    rf"|ed|ing)?\sfrom"
    r"|attribut(?:able|ed|es|ing)\s(?:[^.;]{0,60}?\s)?to|in\s(?:response|reaction)\sto"
    r"|on\sthe\s(?:back|heels|strength)\sof"
    r"|in\s(?:light|view|the\swake|consequence)\sof|by\svirtue\sof|blam(?:ed|es"
    r"|ing)\s(?:[^.;]{0,60}?\s)?on|given\sthat"
    r"|(?<=,\s)(?:also\s)?(?:citing|crediting|blaming)|considering\sthat|insofar\sas|inasmuch\sas|in\sthat"
    r"|on\s(?:\w+\s)?(?:fears?|concerns?|worries|hopes?|optimism|news|expectations|signs"
    r"|speculation|reports)\b)"
    r"(?!\sbe\b)",
    re.IGNORECASE,
)
_AFTER_WEAK = re.compile(
    r"\b(?:amid(?:st)?|after|following|since(?=\s(?:the|it|its|demand|costs|they|he|she|investors"
    r"|\w+s\s))|reflecting"
    r"|as(?!\s(?:well|such|of|much|many|part|a\b|an\b|expected|for|per|to|high|low|long|soon|far"
    r"|the\s(?:top|best|largest|biggest|first|world|country)|\w+\sas|it\s(?:looks|seeks|aims"
    r"|plans|prepares|tries)))"
    r"|on(?=\s(?:strong|weak|higher|lower|rising|falling|robust|solid|soft|growing|better|worse"
    r"|increased|improved|surging|slowing))"
    r"|on(?=\s(?:[a-z][\w-]*\s){0,2}(?:profit-taking|taking|demand|costs?|prices?|growth|buying"
    r"|selling|rates?"
    r"|weakness|strength|orders|worries|spending|supply|supplies|weather|valuations|inflows"
    r"|outflows|exports|imports)\b)"
    r"|with(?=\s(?:demand|costs|rates|prices|investors|sales|consumers|growth|higher|lower|rising"
    r"|falling)))\b",
    re.IGNORECASE,
)
# A cause, then its effect.
_BEFORE = re.compile(
    r"\b(?:led\sto|leads?\sto|leading\sto|result(?:s|ed|ing)?\sin|caus(?:es|ed|ing|e)|trigger(?:s"
    r"|ed|ing)?|brought\sabout"
    r"|brings?\sabout|bringing\sabout|prompt(?:s|ed|ing)?|spark(?:s|ed|ing)?|gave\srise\sto"
    r"|giv(?:es|ing)\srise\sto"
    r"|induc(?:es|ed|ing)|contribut(?:es|ed|ing)\sto|ended\sup\s(?:in|with)|ends\sup\s(?:in|with)"
    r"|forc(?:ed|ing|es)|(?:sent|sending|sends)(?=\s(?:\w+\s){0,4}(?:up|down|higher|lower|\w+ing"
    r"|to))"
    r"|(?:drove|driving|drives|pushed|pushing|pushes)(?=\s(?:\w+\s){0,4}(?:up|down|higher|lower))"
    r"|fuell?(?:ed|ing|s)(?!\sby)|spurr?(?:ed|ing|s)(?!\sby)"
    r"|weigh(?:ed|s|ing)\son|dragg(?:ed|ing)\sdown|hurt(?:s|ing)?(?!\sby)|dent(?:ed|s"
    r"|ing)(?!\sby)|squeez(?:ed|es|ing)(?!\sby)|erod(?:ed|es|ing)(?!\sby)"
    r"|boost(?:ed|s|ing)(?!\sby)|lift(?:ed|s|ing)(?!\sby)|help(?:ed|s"
    r"|ing)(?!\sby)(?=\s(?:\w+\s){0,3}(?:lift|boost|drive|push|raise|offset|reduce|cut|improve"
    r"|\w+\s))|bolster(?:ed|s|ing)(?!\sby)|support(?:ed|s|ing)(?!\sby)|propell(?:ed|ing)(?!\sby)"
    r"|so\sthat|which\sis\swhy|thereby|pressur(?:ed|ing)(?!\sby)|underpinn?(?:ed|s|ing)(?!\sby))\b",
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
_ASIDE_END = re.compile(r"[;,]\s")
_CLAUSE_END = re.compile(
    r"[;]|,\s(?:and|but|while|although|though|even|despite|which|said|says|according"
    r"|the\scompany\ssaid|it\ssaid|he\ssaid"
    r"|she\ssaid|they\ssaid|analysts\ssaid|offsetting|with|sending|leading|resulting|causing"
    r"|pushing|as)\b"
    r"|\s(?:but|while|although|though|despite|even\sas|even\sthough|whereas)\s|\s[—–]\s",
    re.IGNORECASE,
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


def chains(side: Side) -> list[Chain]:
    """Return the cause–effect chains that a text states, in the order of their markers."""
    found: list[Chain] = []
    for sentence in side.sentences:
        start, end = _trim(side.text, sentence.start, sentence.end)
        if start < end:
            found += _in_sentence(side, start, end)
    found += _across(side)
    return sorted(found, key=lambda chain: chain.marker)


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and not text[start].isalnum() and text[start] not in "$€£":
        start += 1
    while end > start and text[end - 1] in " .!?\n\"'”’)":
        end -= 1
    return start, end


def _in_sentence(side: Side, start: int, end: int) -> Iterator[Chain]:
    for pattern, strong in ((_AFTER_STRONG, True), (_AFTER_WEAK, False)):
        for match in pattern.finditer(side.text, start, end):
            if match.end() >= end:
                continue
            if match.start() <= start + 1:
                yield from _initial(side, match.span(), start, end, strong)
                continue
            comma = _opens_clause(side.text, start, match.start())
            # ", driven by leisure travel," is an aside that ends where it is closed.
            aside = side.text[: match.start()].rstrip().endswith(",")
            stop = (_ASIDE_END if aside else _CLAUSE_END).search(side.text, match.end(), end)
            cause = _trim(side.text, match.end(), stop.start() if stop else end)
            effect = _trim(side.text, comma, match.start())
            if cause[0] < cause[1] and effect[0] < effect[1]:
                yield _chain(side, match.span(), cause, effect, strong)
    for match in _BEFORE.finditer(side.text, start, end):
        stop = _CLAUSE_END.search(side.text, match.end(), end)
        effect = _trim(side.text, match.end(), stop.start() if stop else end)
        # ", which resulted in": what the clause before says is the cause.
        relative = _RELATIVE.search(side.text, start, match.start())
        closes = relative.start() if relative else match.start()
        opens = _opens_clause(side.text, start, closes)
        for link in _SUBORDINATE.finditer(side.text, opens, closes):
            opens = link.end()  # "shares fell as costs squeezed margins": the costs did
        cause = _trim(side.text, opens, closes)
        if cause[0] < cause[1] and effect[0] < effect[1]:
            yield _chain(side, match.span(), cause, effect, bool(_OUTRIGHT.match(match[0])))


def _initial(side: Side, marker: Span, start: int, end: int, strong: bool) -> Iterator[Chain]:
    """Yield the chain of "Because X, Y": the cause ends at a comma that an effect follows."""
    for comma in _INITIAL_END.finditer(side.text, marker[1], end):
        effect = _trim(side.text, comma.end(), end)
        if re.match(r"(?:and|or)\b", side.text[comma.end() :]) or effect[0] >= effect[1]:
            continue
        yield _chain(side, marker, _trim(side.text, marker[1], comma.start()), effect, strong)
        return


def _opens_clause(text: str, start: int, marker: int) -> int:
    """Return where the clause before a marker begins."""
    at = start
    for match in re.finditer(
        r"[;]|,\s(?:and|but|while|although|though)\s|\s[—–]\s|\s(?:but|while|whereas)\s",
        text[start:marker],
    ):
        at = start + match.end()
    return at


def _chain(side: Side, marker: Span, cause: Span, effect: Span, strong: bool) -> Chain:
    return Chain(marker, cause, effect, strong, not _supposed(side, marker, cause, effect))


def _supposed(side: Side, marker: Span, cause: Span, effect: Span) -> bool:
    """Whether the effect is only possible or predicted (R.4, condition B)."""
    for span in (effect, (min(marker[0], cause[0]), cause[1]), marker):
        months = [m.span() for m in _MONTH_MAY.finditer(side.text, *span)]
        for match in _SUPPOSED.finditer(side.text, *span):
            if any(s <= match.start() < e for s, e in months):
                continue
            if match[0] == "May":
                continue
            if span is not effect and span is not marker:
                # In the cause, only what stands at its verb makes the chain a guess:
                # "due to fears that rates may rise" is a reported reason.
                if effect[0] < cause[0]:
                    continue
                if match.end() < marker[0] - 40:
                    continue
            return True
    return False


def _across(side: Side) -> Iterator[Chain]:
    """Yield the chains of "X. As a result, Y"."""
    for before, after in zip(side.sentences, side.sentences[1:], strict=False):
        start, end = _trim(side.text, after.start, after.end)
        match = _LINKING.match(side.text, start, end)
        if match is None:
            continue
        cause = _trim(side.text, before.start, before.end)
        effect = _trim(side.text, match.end(), end)
        if cause[0] < cause[1] and effect[0] < effect[1]:
            yield _chain(side, match.span(), cause, effect, True)
