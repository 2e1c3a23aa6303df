"""One reader of replies: what a model answers, taken for what it says or for nothing.

A reply may hold more than its answer: reasoning, a draft, a second thought. Every reader here goes
the same way. Marked reasoning is taken off. Where an answer is marked as final, what stands behind
the last mark counts and nothing else does. Otherwise all that answers must agree. What differs, is
taken back, or stands nowhere is invalid, with the reason; nothing is guessed.

Form is forgiven (fences, bold, Python's constants, a trailing comma), and what had to be repaired
is named. A reply that was cut off is none, and neither is one that the model refuses: what a
provider says of that is `contrafact.models.asking.no_answer`.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contrafact.records import CAUSES, REFUSED
from contrafact.text.delimit import replace_surrogates, shorten

__all__ = [
    "MAX_CHARACTERS",
    "NO_ANSWER",
    "Answer",
    "LabelReply",
    "Reply",
    "answer_in",
    "answer_text",
    "as_bool",
    "read_bool",
    "read_json_object",
    "read_label",
    "read_letter",
]

MAX_CHARACTERS = 20_000
"""A longer reply is no edit of a short text, and no judge should be made to read it."""

NO_ANSWER = "(no answer)"
"""What stands for an empty turn of a model in what it is shown again; some services refuse one."""

# Reasoning, as models and their templates mark it. A close without an open ends what began before
# the reply, since templates may open it; an open without a close leaves no answer.
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

# In a verdict, what is struck out is not said, and templates' tokens at either end say nothing.
_STRUCK = re.compile(r"~~[^~\n]+~~|<(del|strike)>[^<>]*</\1>", re.IGNORECASE)
_TOKENS = r"(?:(?:<\|\w{1,30}\|>|</?s>|<(?:start|end)_of_turn>|<[be]os>)\s{0,4}){1,4}"
_TOKENS_AROUND = re.compile(rf"\A{_TOKENS}|{_TOKENS}\Z")

_NAME = r"(?:answer|verdict|judge?ment|decision|label|output|response|json|version|result|text)"
_FINAL = re.compile(
    rf"\b(?:final|corrected|revised)[ \t]+(?:{_NAME}|story|rewrite|headline|passage)\b"
    r"[*_`\"')\]]*[ \t]*(?:is\b|:|=|–|—)[*_` \t]*"
    r"|<(?:final_?)?answer>|\\boxed\s*\{",
    re.IGNORECASE,
)
_FINAL_ENDS = re.compile(r"</(?:final_?)?answer>.*", re.IGNORECASE | re.DOTALL)
_MARKED = re.compile(
    rf"\b{_NAME}\b[*_`\"')\]]*[ \t]*(?:is\b[ \t]*:?|:|=|–|—)[\s*_`\"'“‘(\[]*", re.IGNORECASE
)
_TAKEN_BACK = re.compile(
    r"\b(?:wait|hmm+|hold on|scratch that|on (?:second thoughts?|reflection|reconsideration)"
    r"|let me (?:re\w+|correct|think again)|i (?:was|am) (?:wrong|mistaken)|correction"
    r"|i take (?:it|that) back|actually,|oops|my (?:mistake|bad)|changed my mind)(?!\w)"
    r"|(?:^|[.!?\n])[ \t]*(?:no|hardly|not really)\b"
    r"|\A[\"'”’*_`.]*\s[❌✗✘]",
    re.IGNORECASE,
)
_SECOND_THOUGHT = re.compile(
    r"\n[^\S\n]*\n[ \t*_]*(?:(?:wait|hmm+|no), |scratch that|correction:"
    r"|(?:wait, )?on (?:second thoughts?|reflection),"
    r"|let me (?:rewrite|redo|revise|correct|try) (?:that|this|it|again)\b)",
    re.IGNORECASE,
)
# A refusal is known by its form where it is all there is: one sentence that names no more than the
# request, and one more that offers something else. Whatever else may be a refusal is unreadable.
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
_UNSEEN = " \t\r\n\ufeff\u200b\u200c\u200d\u2060"
_EDGE = " \t\r\n`*_#>\"'“”„‘’‚«»‹›「」『』.,:;!()[]-–—"
_WORD = re.compile(r"[^\W_]+")
_TRUTH = {"true": True, "false": False}
_LETTERS = {**_TRUTH, "t": True, "f": False}


@dataclass(frozen=True)
class Answer:
    """What of a reply may hold its answer; ``invalid`` says why none, ``removed`` what went."""

    text: str
    invalid: str | None = None
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """A reply read as one JSON object, with the repairs it took, or why it could not be."""

    value: dict[str, Any] | None
    repairs: tuple[str, ...] = ()
    invalid: str | None = None


@dataclass(frozen=True)
class LabelReply:
    """A reply read as one label, or why it is none; and what came before it, if reasons did."""

    label: str | None
    invalid: str | None = None
    rationale: str | None = None


def answer_in(reply: str) -> Answer:
    """Return a reply without its reasoning and without what stands before an answer marked final.

    A mark inside a JSON object is its text, and marks nothing.
    """
    text, invalid = _without_reasoning(reply)
    removed: tuple[str, ...] = ("reasoning",) if text != reply.strip() else ()
    if invalid:
        return Answer("", invalid, removed)
    text = _TOKENS_AROUND.sub("", _STRUCK.sub("", text.strip(_UNSEEN)))
    spans, _ = _objects(text)
    marks = [
        mark
        for mark in _FINAL.finditer(text)
        if not any(start < mark.start() < end for start, end in spans)
    ]
    if marks:
        text = text[marks[-1].end() :]
        if marks[-1][0].startswith("\\"):
            text = text.partition("}")[0]
        text = _FINAL_ENDS.sub("", text)
        removed += ("text before the final answer",)
    return Answer(text.strip(), None if text.strip() else "empty reply", removed)


def answer_text(reply: str) -> Answer:
    """Return a reply that is free text: an edit, a headline, a phrasing.

    As `answer_in`, but what cannot be seen stays within it, and a mark counts only where a line
    begins with it. A fence around the whole is taken off. One that a paragraph takes back is none,
    and so is one of dots or without an end.
    """
    text, invalid = _without_reasoning(replace_surrogates(reply))
    if invalid:
        return Answer("", invalid)
    marks = [
        mark
        for mark in _FINAL.finditer(text)
        if not text[: mark.start()].rpartition("\n")[2].strip(_EDGE)
    ]
    if marks:
        text = _FINAL_ENDS.sub("", text[marks[-1].end() :])
    text = text.strip(_UNSEEN)
    if fenced := re.fullmatch(r"```\w*[ \t]*\n(.*?)\n?```", text, re.DOTALL):
        text = fenced[1].strip()
    if _SECOND_THOUGHT.search(text):
        return Answer("", "a text that is taken back")
    if len(text) > MAX_CHARACTERS:
        return Answer(text, f"the reply is over {MAX_CHARACTERS:,} characters")
    return Answer(text, None if text.strip(" .…") else "empty reply")


def read_json_object(reply: str) -> Reply:
    """Return the JSON object in a reply.

    Repaired, and named: reasoning, a code fence, words around the object, a trailing comma,
    Python's constants, raw line breaks inside strings, typographic quotes as delimiters, and an
    object that is repeated. Not repaired: an object that was cut off, and objects that differ.
    """
    if (value := _loads(reply)) is not None:
        return Reply(value)
    answer = answer_in(reply)
    if answer.invalid:
        return Reply(None, answer.removed, answer.invalid)
    text, repairs = answer.text, list(answer.removed)
    if (value := _loads(text)) is not None:
        return Reply(value, answer.removed)
    if "```" in text:
        repairs.append("code fence")
    spans, open_end = _objects(text)
    tried = [one for start, end in spans if _tries(one := text[start:end])]
    if open_end:
        return Reply(None, tuple(repairs), "cut off inside the JSON object")
    if not tried:
        return Reply(None, tuple(repairs), "no JSON object")
    if text.replace("```json", "").replace("```", "").strip() != tried[0]:
        repairs.append("text around the object")
    read = [_repaired(one) for one in tried]
    if any(one is None for one in read):
        return Reply(None, tuple(repairs), "not JSON")
    if any(_denied(text, start) for start, _ in spans):
        return Reply(None, tuple(repairs), "a denied JSON object")
    (first, needed), *others = [one for one in read if one is not None]
    for other, _ in others:
        if other != first:
            both = " and ".join(shorten(json.dumps(one), 60)[0] for one in (first, other))
            return Reply(None, tuple(repairs), f"several different JSON objects: {both}")
    return Reply(first, (*repairs, *needed))


def read_bool(reply: str, key: str) -> tuple[bool | None, str | None]:
    """Return a judge's true or false for one criterion, or the reason it has none.

    Read are ``{key: {"value": true}}``, ``{key: true}``, ``{"value": true}`` (with Python's
    constants or the words as strings), and the word where it stands alone: as the whole reply, on a
    line of its own, or behind "the answer is". A word within a sentence is none.
    """
    answer = answer_in(reply)
    if answer.invalid:
        return None, answer.invalid
    return _verdict(answer.text, _TRUTH, key)


def read_letter(reply: str) -> tuple[bool | None, str | None]:
    """Return the T or F of a reply, or the reason it has none; true and false are read too."""
    answer = answer_in(reply)
    if answer.invalid:
        return None, _neither("") if answer.invalid == "empty reply" else answer.invalid
    passed, invalid = _verdict(answer.text, _LETTERS, None)
    if passed is None and invalid is not None and invalid.startswith("no "):
        invalid = _neither(answer.text)
    return passed, invalid


def read_label(reply: str, labels: Sequence[str], *, reasons: bool = False) -> LabelReply:
    """Return the label that a reply gives.

    It is valid if exactly one label of the space stands in it as a word of its own, in any case,
    once or repeated, and its clause says no more than that it is the label: one in another
    statement ("far from true", "true of most banks") or taken back is none.

    Args:
        reasons: Whether reasons were asked for, with the label on the last line: then only that
            line is read, and what stands before it is the rationale.
    """
    text, invalid = _without_reasoning(reply)
    if invalid:
        return LabelReply(None, invalid)
    rationale = None
    if reasons:
        lines = [line for line in text.splitlines() if line.strip()]
        # A fence or a rule below the label is no answer.
        while lines and not re.search(r"\w", lines[-1]):
            lines.pop()
        rationale = "\n".join(lines[:-1]).strip() or None
        text = lines[-1] if lines else ""
    answer = answer_in(text)
    if answer.invalid:
        return LabelReply(None, answer.invalid, rationale)
    text = _seen(answer.text)
    words = "|".join(re.escape(label) for label in labels)
    found = list(
        re.finditer(rf"(?<![^\W_])(?<!\w[-‑])(?:{words})(?![^\W_]|[-‑]\w)", text, re.IGNORECASE)
    )
    named = list(dict.fromkeys(match.group().casefold() for match in found))
    where = " on the last line" if reasons else ""
    if not named:
        return LabelReply(None, f"no label{where}", rationale)
    if len(named) > 1:
        return LabelReply(None, f"several labels{where}: {', '.join(named)}", rationale)
    for match in found:
        if not _stated(text, *match.span()):
            words = " ".join(text[max(0, match.start() - 40) : match.end() + 40].split())
            return LabelReply(None, f"a label in another statement{where}: '{words}'", rationale)
    if _TAKEN_BACK.search(text[found[-1].end() :]):
        return LabelReply(None, f"a label that is taken back{where}: {named[0]}", rationale)
    return LabelReply(named[0], None, rationale)


# A label counts in a clause that says no more than that it is the label.
_CLAUSE = re.compile(
    r"[.!?;:\n(){}\[\]–—|]|,\s+(?=(?:the|this|it|i|we)\b)"
    r"|(?<!anything )\b(?:so|therefore|thus|hence|because|since|as|given that|but|and|which)\b",
    re.IGNORECASE,
)
_FRAME = frozenset(
    _WORD.findall("""
    a an the this that these it its i we you my our is are was were be been has have will would must
    should can clearly likely probably definitely most best correct right final overall here in on
    of by to for with from say said think believe find found conclude judge consider deem choose
    select mark classify classified label labels labelled labeled answer verdict judgement judgment
    decision classification class category type kind result conclusion response reply output
    prediction value option word opinion view paragraph text passage article news claim statement
    headline story report sentence content information financial published manipulation manipulated
    misinformation rewriting rewritten rewrite edit edited change changed alteration altered
    perturbation perturbed distortion distorted amplification inversion yes ok okay well sure above
    """)
)
_DENIAL = re.compile(
    r"(?:\b(?:not|never|neither|nor|hardly|no|wrong|incorrect|instead of|rather than|cannot)"
    r"|n['’]t)\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)
_NUMBER_NEXT = re.compile(r"[^\w\n.;]{0,40}\d")


def _stated(text: str, start: int, end: int) -> bool:
    """Return whether what stands at a place is said there, and is no part of another statement."""
    before, after = text[max(0, start - 160) : start], text[end : end + 160]
    last = max((one.end() for one in _CLAUSE.finditer(before)), default=0)
    clause = f"{before[last:]} {_CLAUSE.split(after)[0].partition(',')[0]}"
    return (
        all(word.casefold() in _FRAME for word in _WORD.findall(clause))
        and not before.rstrip(" \"'“‘*_`(").endswith(("!", "¬", "~", "≠"))
        and not _denied(before, len(before))
        and not _NUMBER_NEXT.match(after)
    )


def _denied(text: str, at: int) -> bool:
    """Return whether one of the words just before a place denies what stands there."""
    return _DENIAL.search(text[max(0, at - 80) : at]) is not None


def _bare(text: str) -> str:
    """Return what stands alone without what dresses it; "!T" is no T."""
    return text.rstrip(_EDGE).lstrip(_EDGE.replace("!", "")).casefold()


def as_bool(value: object) -> bool | None:
    """Return true or false, or the word for it; None for anything else."""
    if isinstance(value, bool):
        return value
    return _TRUTH.get(_bare(value)) if isinstance(value, str) else None


def _without_reasoning(reply: str) -> tuple[str, str | None]:
    """Return a reply without its marked reasoning, or nothing and why."""
    kept, depth, at = [], 0, 0
    for mark in _REASONING.finditer(reply):
        if mark["open"]:
            if depth == 0:
                kept.append(reply[at : mark.start()])
            depth += 1
        elif depth:
            depth -= 1
            at = mark.end()
        else:  # opened before the reply began
            kept, at = [], mark.end()
    if depth:
        return "", "the reasoning never ended"
    text = " ".join((*kept, reply[at:])).strip()
    if _REFUSAL.fullmatch(text):
        return "", REFUSED
    noted = _KEPT.fullmatch(text)
    return ("", noted[1]) if noted else (text, None)


def _verdict(
    text: str, words: Mapping[str, bool], key: str | None
) -> tuple[bool | None, str | None]:
    """Return the one verdict of an answer, or why there is none; with no key, under any name."""
    text = _seen(text)
    if (whole := words.get(_bare(text))) is not None:
        return whole, None
    spans, open_end = _objects(text)
    spans = [(start, end) for start, end in spans if _tries(text[start:end])]
    if open_end:
        return None, "cut off inside the JSON object"
    found: list[tuple[int, bool]] = []
    missing = None
    for start, end in spans:
        read = _repaired(text[start:end])
        if read is None:
            return None, "not JSON"
        if _denied(text, start):
            return None, "a denied verdict"
        value = _under(read[0], key, words)
        if value is not None:
            found.append((end, value))
        elif key is None or _holds_truth(read[0]):
            missing = f"no true or false under '{key}'" if key else "no T or F in the JSON object"
    if missing:
        return None, missing
    outside = _blanked(text, spans)
    for start, end, answer in _alone(outside, words):
        if not _stated(outside, start, end):
            return None, "a verdict in another statement"
        found.append((end, answer))
    if not found:
        if spans:
            return None, f"no true or false under '{key}'"
        return None, "no JSON object" if key else "no T or F"
    if len({value for _, value in found}) > 1:
        return None, f"says both true and false: '{shorten(' '.join(text.split()), 120)[0]}'"
    end, value = max(found)
    if _against(outside[end:], value, words) or _TAKEN_BACK.search(outside[end:]):
        return None, f"a verdict that is taken back: '{shorten(' '.join(text.split()), 120)[0]}'"
    return value, None


def _under(found: Mapping[str, Any], key: str | None, words: Mapping[str, bool]) -> bool | None:
    """Return the verdict of a JSON object under a name, or under its only one."""
    if key is None:
        given = [
            value for name, value in found.items() if words.get(name.casefold(), value) == value
        ]
        given = given if len(found) == 1 else []  # {"F": true} is neither
    else:
        given = [value for name, value in found.items() if name.casefold() == key.casefold()]
        given += [value for name, value in found.items() if name.casefold() == "value"]
    read = [one.get("value") if isinstance(one, dict) else one for one in given]
    verdicts = {
        one if isinstance(one, bool) else words.get(_bare(one)) if isinstance(one, str) else None
        for one in read
    }
    return verdicts.pop() if len(verdicts) == 1 else None


def _seen(text: str) -> str:
    """Return a text without what cannot be seen: zero-width marks, soft hyphens."""
    return "".join(one for one in text if unicodedata.category(one) != "Cf")


def _holds_truth(value: object) -> bool:
    """Return whether any value in a JSON value is true or false."""
    if isinstance(value, Mapping):
        return any(map(_holds_truth, value.values()))
    if isinstance(value, list):
        return any(map(_holds_truth, value))
    return as_bool(value) is not None


def _alone(text: str, words: Mapping[str, bool]) -> Iterator[tuple[int, int, bool]]:
    """Yield where an answer that stands alone, or its mark, begins and ends, and the answer."""
    at = 0
    for line in text.splitlines(keepends=True):
        if (value := words.get(_bare(line))) is not None:
            yield at, at + len(line), value
        at += len(line)
    for mark in _MARKED.finditer(text):
        word = _WORD.match(text, mark.end())
        if word and (value := words.get(word[0].casefold())) is not None:
            yield mark.start(), word.end(), value


def _against(tail: str, value: bool, words: Mapping[str, bool]) -> bool:
    """Return whether what follows a verdict names the other one, or denies it."""
    for found in re.finditer(r"\w+", tail):
        word = found[0]
        # A lone letter in a sentence is a letter of the alphabet, unless it is a capital.
        stated = words.get(word.casefold()) if len(word) > 1 or word.isupper() else None
        if stated is not None and (stated != value or _denied(tail, found.start())):
            return True
    return False


def _neither(text: str) -> str:
    words = " ".join(text.split())
    shown = f"'{shorten(words, 40)[0]}'" if words else "nothing"
    return f"neither T nor F: {shown}"


_REPAIRS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("trailing comma", re.compile(r",(\s*[}\]])"), r"\1"),
    ("Python constant", re.compile(r"(?<=[:\[,\s])True(?=\s*[,}\]])"), "true"),
    ("Python constant", re.compile(r"(?<=[:\[,\s])False(?=\s*[,}\]])"), "false"),
    ("Python constant", re.compile(r"(?<=[:\[,\s])None(?=\s*[,}\]])"), "null"),
    ("line break in a string", re.compile(r"[\r\n\t]+"), " "),
    ("typographic quotes", re.compile("[“”]"), '"'),
)


def _one_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if any(found[name] != value for name, value in pairs):
        raise ValueError("a name with two values")
    return found


def _loads(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, object_pairs_hook=_one_each)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _repaired(text: str) -> tuple[dict[str, Any], list[str]] | None:
    if (value := _loads(text)) is not None:
        return value, []
    repairs: list[str] = []
    for name, pattern, replacement in _REPAIRS:
        changed = pattern.sub(replacement, text)
        if changed != text:
            text = changed
            repairs.append(name)
            if (value := _loads(text)) is not None:
                return value, repairs
    return None


def _tries(part: str) -> bool:
    """Return whether what stands in braces tries to be a JSON object: ``{headline}`` does not."""
    return ":" in part or not part.strip("{} \t\r\n")


def _objects(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Return where the balanced top-level ``{…}`` of a text stand, and whether one is left open."""
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


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text of the same length in which what stands in the spans is lines of nothing."""
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], "\n" * (end - start)]
        at = end
    return "".join((*parts, text[at:]))
