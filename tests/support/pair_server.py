"""A stand-in writer of manipulated news that makes faults on purpose, and judges who know them.

It speaks OpenAI's chat protocol. What it writes depends on the paragraph and the number of the try
alone: the first tries make the fault that `fault_of` names, the third is sound where the paragraph
has words that it can turn. Models: ``writer``; ``writer-FAULT``, whose every try has that fault;
``judge``, who knows what was written; ``judge-pass``, who passes all; ``judge-lost``, who quotes
words that stand in no text.

Prints its port and serves until its standard input closes, and counts as `openai_server` does.
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parent))
from openai_server import OpenAIServer, between, completion, run

FAULTS = ("sound", "half", "copy", "figure", "name", "list", "long", "refusal", "empty")
"""``half`` is a fault of meaning alone, which a judge sees: a direction is left, or the tone is not
stronger, or the cause is the old one in other words. The others break facts, but for ``sound``."""
MEANING = {"flipping": "reversed", "sentiment": "stronger", "causal": "cause_changed"}
KINDS = {
    (0.1, 0.3): "numerical",
    (0.2, 0.8): "flipping",
    (0.3, 0.9): "sentiment",
    (0.3, 0.8): "causal",
}
"""Whose decoding settings the paper's are."""

_TURNS = [
    *(("rose", "fell"), ("rises", "falls"), ("rise", "fall"), ("rising", "falling")),
    *(("gains", "losses"), ("gained", "lost"), ("higher", "lower"), ("strong", "weak")),
    *(("growth", "decline"), ("beat", "missed"), ("rally", "slump"), ("increase", "decrease")),
    *(("surge", "plunge"), ("surged", "plunged"), ("jumped", "dropped"), ("climb", "slide")),
    *(("profit", "loss"), ("positive", "negative"), ("bullish", "bearish"), ("boost", "blow")),
    *(("up", "down"), ("high", "low"), ("best", "worst"), ("better", "worse")),
    *(("optimism", "pessimism"), ("optimistic", "pessimistic"), ("outperform", "underperform")),
]  # fmt: skip
TURNED = dict(_TURNS) | {b: a for a, b in _TURNS}
STRONGER = {
    "rose": "soared", "fell": "plunged", "rise": "soar", "fall": "plunge", "rises": "soars",
    "falls": "plunges", "up": "sharply up", "down": "sharply down", "strong": "stellar",
    "weak": "dismal", "higher": "far higher", "lower": "far lower", "gains": "huge gains",
    "growth": "stunning growth", "losses": "brutal losses", "may": "will", "good": "superb",
}  # fmt: skip
SAME = {
    "rose": "climbed",
    "rise": "climb",
    "fell": "declined",
    "fall": "decline",
    "rises": "climbs",
}
_CAUSE = re.compile(r"\b(?:because of|due to|thanks to|on the back of|after|amid|as)\b[^.;]*", re.I)
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")


def swapped(text: str, words: dict[str, str], most: int = 99) -> str:
    """Return a text with words in place of others, capitals kept; at most so many."""

    def one(match: re.Match[str]) -> str:
        new = words[match[0].lower()]
        return new.capitalize() if match[0][0].isupper() else new

    return re.sub(rf"\b(?:{'|'.join(words)})\b", one, text, count=most, flags=re.I)


def sound(kind: str, text: str) -> str | None:
    """Return a rewrite that is right, if the stand-in can make one."""
    if kind == "flipping":
        made = swapped(text, TURNED)
    elif kind == "sentiment":
        made = swapped(text, STRONGER, 2)
    elif kind == "causal":
        made = _CAUSE.sub("due to tighter credit", text, count=1)
    else:
        made = _NUMBER.sub(lambda m: _scaled(m[0]), text)
    return made if made != text else None


def _scaled(figure: str) -> str:
    places = len(figure.partition(".")[2])
    value = float(figure.replace(",", "")) * 1.6
    return f"{value:,.{places}f}" if "," in figure else f"{value:.{places}f}"


def fault_of(text: str, kind: str) -> str:
    """Return the fault that the first two tries make."""
    return FAULTS[hashlib.sha256(f"{kind} {text}".encode()).digest()[0] % len(FAULTS)]


def written(kind: str, text: str, fault: str) -> str:
    """Return a reply with a fault."""
    good = sound(kind, text) or text
    match fault:
        case "half":
            return _half(kind, text)
        case "copy":
            return text
        case "figure":
            return _NUMBER.sub("47", good, count=1) if kind != "numerical" else f"{text} Up 47%."
        case "name":
            return f"Oakmere Brindle Holdings: {good}"
        case "list":
            return "\n".join(f"- {part.strip()}" for part in good.split(". "))
        case "long":
            return f"{good} {good}"
        case "refusal":
            return "I am sorry, but I cannot help with that."
        case "empty":  # a service's reply without a sign is a failed call
            return "```\n```"
    return good


def _half(kind: str, text: str) -> str:
    """Return a rewrite in which one direction is left, nothing is stronger, or no cause can be."""
    if kind == "flipping":
        turned = len(re.findall(rf"\b(?:{'|'.join(TURNED)})\b", text, flags=re.I))
        return swapped(text, TURNED, max(1, turned - 1))
    if kind == "causal":  # a cause that can have no such effect
        return _CAUSE.sub("due to rain in the valley", text, count=1)
    return swapped(text, SAME)


class PairServer(OpenAIServer):
    """Answers as writer and as judge."""

    made: ClassVar[dict[str, str]] = {}
    """The fault of every text that was written."""

    @classmethod
    def _answer(cls, request: dict[str, Any]) -> dict[str, Any]:
        messages = [str(one["content"]) for one in request["messages"]]
        role, _, named = str(request["model"]).partition("-")
        content = (
            cls._verdicts(messages[-1], named)
            if role == "judge"
            else cls._write_pair(request, messages, named)
        )
        return completion(request, {"content": content}, len(messages[-1]) // 4, len(content) // 4)

    @classmethod
    def _write_pair(cls, request: dict[str, Any], messages: list[str], named: str) -> str:
        text = between("news", messages[0]).replace("&lt;", "<").replace("&gt;", ">")
        kind = KINDS[request.get("temperature"), request.get("top_p")]
        tries = 1 + sum(one["role"] == "assistant" for one in request["messages"])
        fault = named or (fault_of(text, kind) if tries < 3 else "sound")
        reply = written(kind, text, fault)
        cls.made[" ".join(reply.split())] = "half" if reply == text else fault
        return reply

    @classmethod
    def _verdicts(cls, prompt: str, named: str) -> str:
        rewritten = " ".join(between("rewritten", prompt).split())
        names = re.findall(r'"(\w+)": \{"words"', prompt.rpartition("<original>")[0])
        some = " ".join(rewritten.split()[:4])
        words = "that nobody wrote" if named == "lost" else some
        right = named == "pass" or cls.made.get(rewritten) == "sound"
        wrong = set() if right else set(MEANING.values())
        return json.dumps({n: {"words": words, "value": n not in wrong} for n in names})


if __name__ == "__main__":
    run(PairServer(latency=float(sys.argv[1]) if len(sys.argv) > 1 else 0.0))
