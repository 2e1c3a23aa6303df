"""Finds the parts of a reply that are its own answer: no reasoning, quotation, report or draft.

The other parts are replaced by blanks, so that the rest keeps its positions.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence

from contrafact.records import CAUSES, REFUSED

# Reasoning, as models and their templates mark it. A closing mark without an opening one ends
# reasoning that a template opened before the reply; an opening mark without a closing one leaves no
# answer.
_TAG = (
    r"(?:(?:\w+:)?think|thinking|thoughts?|reason(?:ing)?|rationale|reflection|scratchpad|analysis"
    r"|(?:internal|inner)_(?:monologue|thoughts?))"
)
_OPEN = (
    rf"<{_TAG}\b[^<>]*>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>"
    r"|<\|channel\|>analysis"
)
_CLOSE = (
    rf"</{_TAG}\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>"
    r"|<\|channel\|>final<\|message\|>"
)
_REASONING = re.compile(rf"(?P<open>{_OPEN})|(?P<close>{_CLOSE})", re.IGNORECASE)

# In a verdict, text that is struck out and templates' tokens at either end do not count.
_STRUCK = re.compile(r"~~[^~\n]+~~|<(del|strike)>[^<>]*</\1>", re.IGNORECASE)
_TOKENS = r"(?:(?:<\|\w{1,30}\|>|</?s>|<(?:start|end)_of_turn>|<[be]os>)\s{0,4}){1,4}"
_TOKENS_AROUND = re.compile(rf"\A{_TOKENS}|{_TOKENS}\Z")

NAME = (
    r"(?:answer|verdict|judge?ment|decision|label|output|response|json|version|result|text"
    r"|conclusion|assessment|evaluation|determination|classification|category|diagnosis|ruling)"
)
NAME_IS = r"[*_`\"')\]]*[ \t]*(?:is\b[ \t]*:?|:|=|–|—)"
FINAL = re.compile(
    rf"\b(?:final|corrected|revised)[ \t]+(?:{NAME}|story|rewrite|headline|passage)\b"
    rf"(?:{NAME_IS}|[*_ \t]*(?=\n))[*_` \t]*"
    r"|<(?P<tag>(?:final_?)?answer)>|\\boxed\s*\{(?:\\\w+\s*\{)?",
    re.IGNORECASE,
)
FINAL_ENDS = re.compile(r"</(?:final_?)?answer>", re.IGNORECASE)
_BOX_ENDS = re.compile(r"\}{1,2}\$*")
# A reply is a refusal if it is only this: one sentence that names no more than the request, and
# perhaps one more that offers something else. Other refusals count as unreadable.
_REFUSAL = re.compile(
    r"(?:(?:I(?:['’]m| am) (?:very |so )?sorry|sorry|I apologi[sz]e|unfortunately)\b[,.]? *"
    r"(?:but )?)?"
    r"(?:as an AI(?: language)?(?: model| assistant)?, )?"
    r"I(?: can(?:['’]t|not| not)|['’]m (?:not able|unable) to| am (?:not able|unable) to| won['’]t)"
    r" (?:be able to )?(?:help|assist|comply|answer|fulfill?|complete|process|respond)"
    r"(?: you)?(?: with| to)?(?: (?:that|this|your|the))?(?: (?:request|question|prompt|task|one))?"
    r"[.!](?: [^.!?\n]{1,120}[.!?])?",
    re.IGNORECASE,
)
_KEPT = re.compile(rf"\A\[((?:{'|'.join(map(re.escape, CAUSES))})[^\n]*)\]")
UNSEEN = " \t\r\n\ufeff\u200b\u200c\u200d\u2060"
EDGE = " \t\r\n`*_#>\"'“”„‘’‚«»‹›「」『』.,:;!()[]-–—✅✓✔"

# Quotations: text in quotation marks, between backticks, or after ">". Straight marks end within
# their paragraph, and apostrophes are not marks.
_QUOTED = re.compile(
    r"“[^“”]{1,3000}”|„[^„“”]{1,3000}[“”]|«[^«»]{1,3000}»|‹[^‹›]{1,3000}›|「[^「」]{1,3000}」"
    r"|『[^『』]{1,3000}』|‘[^‘\n]{1,600}’(?!\w)|(?<!\w)\"(?:[^\"\n]|\n(?!\s*\n)){1,1500}\""
    r"|(?<![\w'])'(?=\S)(?:[^'\n]|'(?=\w)){1,600}(?<=\S)'(?!\w)|(?<!`)`[^`\n]{1,600}`(?!`)"
    r"|^[ \t]*>[^\n]+",
    re.MULTILINE,
)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_MARKED = re.compile(rf"(?:{FINAL.pattern}|\b{NAME}\b{NAME_IS})", re.IGNORECASE)
_NAME_BEHIND = re.compile(
    rf"[^\w\n]{{0,4}}{_MARKED.pattern}[^\w\n]*\w*(?:</\w+>|\}})?", re.IGNORECASE
)
_SENTENCE_ENDS = ".!?\n"
_MARKS = 100  # marks of a final answer that are checked, from the last
_COPIED = 8  # this many words in a row count as repeating a graded text
_REPORTS = re.compile(
    r"\b(?:says|states|claims|asserts|reads|declares|concludes|insists|tells|instructs|announces"
    r"|writes|adds|appends|repeats|quotes|presents|mentions|tries|attempts|calls|carries"
    r"|(?:contains|includes)(?! no\b| nothing| not\b)|(?:ends?|ended|ending|closes?|closed|closing)"
    r" (?:with|by|in|thus|like)|inject\w*|embed\w*|quoted|"
    r"(?:text|response|counterfactual|paragraph|passage|article|author|writer|headline|story)"
    r"(?:['’]s|s['’]| itself| of itself))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"[.!?;](?=\s|\Z)|\n|\b(?:so|therefore|thus|hence|but|because|since|and)\b"
    r"|,\s+(?=(?:the|this|it|i|we|my)\b)",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"[^\w\n]*(?:is|was|are|were|appears|stands|stood|comes|came|in|at|within|inside|from|being)\b"
    r"(?P<rest>[^.!?\n]*)",
    re.IGNORECASE,
)


def seen(text: str) -> str:
    """Return a text without invisible characters, such as zero-width marks and soft hyphens."""
    if text.isascii():
        return text
    return "".join(character for character in text if unicodedata.category(character) != "Cf")


def bare(text: str) -> str:
    """Return a word in lower case without the signs around it; "!T" keeps its "!"."""
    return text.rstrip(EDGE).lstrip(EDGE.replace("!", "")).casefold()


def without(text: str, spans: Sequence[tuple[int, int]], keep: str = "") -> str:
    """Return a text in which the spans are replaced by as many line feeds.

    With ``keep``, a class of characters, they are replaced by U+FFFC, except these characters.
    """
    parts, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            gone = text[max(at, start) : end]
            parts += [
                text[at:start],
                re.sub(f"[^{keep}]", "\ufffc", gone) if keep else "\n" * len(gone),
            ]
            at = end
    return "".join((*parts, text[at:]))


def reasoning(reply: str) -> tuple[list[tuple[int, int]], str | None]:
    """Return the spans of a reply's marked reasoning, and why the rest is no answer, or None."""
    spans: list[tuple[int, int]] = []
    depth, at = 0, 0
    for mark in _REASONING.finditer(reply):
        if mark["open"]:
            at = mark.start() if depth == 0 else at
            depth += 1
        elif depth:
            depth -= 1
            spans += [(at, mark.end())] if depth == 0 else []
        else:  # it was opened before the reply began
            spans = [(0, mark.end())]
    if depth:
        return spans, "the reasoning never ended"
    text = without(reply, spans).strip()
    if _REFUSAL.fullmatch(text):
        return spans, REFUSED
    noted = _KEPT.fullmatch(text)
    return spans, noted[1] if noted else None


def own_words(
    text: str, graded: Sequence[str], words: Collection[str], start: int = 0
) -> tuple[str, bool]:
    """Return a text with only its writer's own answer left, and whether a final mark introduces it.

    ``words`` are verdicts: one that stands alone in quotation marks is kept, like one in bold.
    """
    text = without(text, [mark.span() for mark in _STRUCK.finditer(text)])
    text = without(text, [mark.span() for mark in _TOKENS_AROUND.finditer(text)])
    spans = [(begin, end) for begin, end in objects_in(text)[0] if tries(text[begin:end])]
    outside = without(text, spans)
    cited = _cited(text, outside, graded, words)
    uncited = without(outside, cited, _SENTENCE_ENDS)
    described = [
        (mark.start(), end)
        for mark in [*FINAL.finditer(uncited)][-_MARKS:]
        if (end := reported_until(uncited, mark)) is not None
    ]
    text = without(text, [*cited, *described], _SENTENCE_ENDS)
    marks = [mark for mark in FINAL.finditer(without(uncited, described)) if mark.start() >= start]
    hidden = [(0, start)]
    if marks:
        last = marks[-1]
        hidden.append((0, last.end()))
        ends = (_BOX_ENDS if last[0].startswith("\\") else FINAL_ENDS).search(uncited, last.end())
        hidden += [ends.span()] if ends else []
    return without(text, hidden), bool(marks)


def _cited(
    whole: str, text: str, graded: Sequence[str], words: Collection[str]
) -> list[tuple[int, int]]:
    """Return the spans of quotations and of repeated graded texts; ``whole`` includes the JSON."""
    quotations = []
    lines = [line for line in whole.splitlines() if line.strip()]
    if not _QUOTED.fullmatch(whole.strip()) and not all(line.lstrip()[0] == ">" for line in lines):
        # A single word in quotation marks is emphasised, or a name.
        quotes = [match for match in _QUOTED.finditer(text) if re.search(r"\w\W+\w", match[0])]
        quotations = [match for match in quotes if bare(match[0]) not in words]
        fences = [match for match in _FENCED.finditer(text) if _MARKED.search(match[0])]
        outside = without(whole, [match.span() for match in fences])
        if any(word in outside.casefold() for word in words if len(word) > 1):
            quotations += fences
    spans = [match.span() for match in quotations]
    spoken = [(match[0].casefold(), *match.span()) for match in re.finditer(r"[^\W_]+", text)]
    for other in graded:
        graded_words = [match.casefold() for match in re.findall(r"[^\W_]+", other)]
        n = min(_COPIED, max(len(graded_words), 6))
        runs = {tuple(graded_words[at : at + n]) for at in range(len(graded_words) - n + 1)}
        spans += [
            (spoken[at][1], spoken[at + n - 1][2])
            for at in range(len(spoken) - n + 1 if runs else 0)
            if tuple(word for word, _, _ in spoken[at : at + n]) in runs
        ]
    # If a name of the answer follows a repeated text on its line, it is removed with its value.
    marks = [_NAME_BEHIND.match(text, end) for _, end in spans]
    return spans + [match.span() for match in marks if match]


def reported(text: str, at: int) -> bool:
    """Return whether the text at a position is reported as said elsewhere ("it ends with …")."""
    before = re.sub(r":[\s*_>`\"“#-]*\Z", " ", text[max(0, at - 300) : at])
    return _REPORTS.search(_SENTENCE.split(before)[-1]) is not None


def reported_until(text: str, mark: re.Match[str]) -> int | None:
    """Return where the text after a final mark ends if that text is only reported, or None."""
    word = re.compile(r"[^\W_]+").search(text, mark.end())
    end = word.end() if word else mark.end()
    if reported(text, mark.start()):
        return end
    if mark["tag"] or mark[0].startswith("\\"):
        ends = (FINAL_ENDS if mark["tag"] else _BOX_ENDS).search(text, mark.end())
        rest = ends and _DESCRIBED.match(text, ends.end())
        if ends and rest and not re.match(rf" (?:my|the|our) (?:final )?{NAME}\b", rest["rest"]):
            return ends.end()
    return None


def tries(part: str) -> bool:
    """Return whether text in braces is meant as a JSON object; ``{headline}`` is not."""
    return ":" in part or not part.strip("{} \t\r\n")


def objects_in(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Return the spans of balanced top-level ``{…}`` in a text, and whether one is left open."""
    found: list[tuple[int, int]] = []
    depth, start, in_string, escaped = 0, 0, False, False
    for position, char in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"' and depth:
            in_string = True
        elif char == "{":
            if depth == 0:
                start = position
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                found.append((start, position + 1))
    return found, depth > 0
