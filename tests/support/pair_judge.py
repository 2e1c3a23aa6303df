"""A stand-in judge of pairs: OpenAI's chat protocol, one behaviour for each name of a model.

    python pair_judge.py KEY [SECONDS]

KEY is a JSON file: for the SHA-256 of "original, line break, rewritten", as they stand in a prompt,
the criteria that are false. The models: "labels" answers by the key, "passes" and "fails" say the
same of everything, "invents" quotes words that nobody wrote, "partial" is right on all kinds but
causal, where it says the contrary, and "malformed-0" to "malformed-9" answer in ways that no
program can read. "noisy-N" is wrong on a criterion one time in ten, each N on others.
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parent))
from openai_server import OpenAIServer, between, completion, run

MALFORMED = (
    "```\n```",
    "It seems a fair rewriting to me.",
    "true",
    '{"%s": {"words": "shares", "val',
    '{"%s": {"words": "", "value": true}} {"%s": {"words": "shares", "value": false}}',
    '{"%s": {"value": true}}',
    '{"%s": {"words": "shares", "value": "rather"}}',
    '[{"words": "shares", "value": false}]',
    '{"overall": {"words": "shares", "value": false}}',
    '{"%s": {"words": "", "value": false}}',
)

FAULTS = {"flipping": "reversed", "sentiment": "stronger", "causal": "effect_kept"}
_FIRMS = [f"{name} {trade}" for name in ("Norrick", "Calder", "Vantor", "Ostrel", "Pellin")
          for trade in ("Steel", "Foods", "Energy", "Motors")]  # fmt: skip


def made_pairs(number: int) -> list[dict[str, str]]:
    """Return pairs in which facts find no fault, one of each kind in turn; no two are the same."""
    pairs = []
    for place in range(number):
        firm, share = _FIRMS[place // 4 % len(_FIRMS)], 2 + place // 4 // len(_FIRMS)
        kind, original, rewritten = (
            ("flipping", f"{firm} shares rose {share}% on Tuesday after it beat Q2 estimates.",
             f"{firm} shares fell {share}% on Tuesday after it missed Q2 estimates."),
            ("sentiment", f"{firm} posted steady growth of {share}% in Q2, a good start.",
             f"{firm} posted impressive growth of {share}% in Q2, an excellent start."),
            ("causal", f"{firm} shares rose {share}% on Tuesday because of strong demand.",
             f"{firm} shares rose {share}% on Tuesday because of lower costs."),
            ("numerical", f"{firm} said revenue grew {share}% in the second quarter.",
             f"{firm} said revenue grew {2 * share}% in the second quarter."),
        )[place % 4]  # fmt: skip
        pairs.append({"id": f"p{place}", "manipulation": kind, "original": original,
                      "rewritten": rewritten})  # fmt: skip
    return pairs


def faulty(place: int) -> bool:
    """Tell whether a pair of `made_pairs` is faulty by the key: one of four of each kind."""
    return place // 4 % 4 == 0


def key_of(pairs: list[dict[str, str]]) -> dict[str, list[str]]:
    """Return the key of made pairs: what is false of the faulty ones."""
    return {
        digest(one["original"], one["rewritten"]): [FAULTS[one["manipulation"]]]
        for place, one in enumerate(pairs)
        if faulty(place) and one["manipulation"] in FAULTS
    }


def digest(original: str, rewritten: str) -> str:
    return hashlib.sha256(f"{original}\n{rewritten}".encode()).hexdigest()


def asked(prompt: str) -> tuple[list[str], str, str]:
    """Return the criteria of a prompt, and its two texts."""
    names = re.findall(r'"(\w+)": \{"words"', prompt)
    return names, between("original", prompt), between("rewritten", prompt)


class PairJudge(OpenAIServer):
    """Answers from a key."""

    key: ClassVar[dict[str, list[str]]] = {}

    @classmethod
    def _answer(cls, request: dict[str, Any]) -> dict[str, Any]:
        content = cls._content(request["model"], str(request["messages"][-1]["content"]))
        return completion(request, {"content": content})

    @classmethod
    def _content(cls, model: str, prompt: str) -> str:
        names, original, rewritten = asked(prompt)
        if model.startswith("malformed-"):
            form = MALFORMED[int(model.removeprefix("malformed-"))]
            return form.replace("%s", names[0])
        false = cls.key.get(digest(original, rewritten), [])
        found = {}
        for name in names:
            value = name not in false
            if model in ("passes", "fails"):
                value = model == "passes"
            if model == "partial" and "effect_kept" in prompt:
                value = not value
            if model.startswith("noisy-"):
                chance = hashlib.sha256(f"{model} {name} {original} {rewritten}".encode()).digest()
                value ^= chance[0] < 26
            words = "" if value else " ".join(rewritten.split()[:3])
            if model == "invents":
                words = "words that nobody wrote"
            found[name] = {"words": words, "value": value}
        return json.dumps(found)


if __name__ == "__main__":
    PairJudge.key = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    run(PairJudge(float(sys.argv[2]) if len(sys.argv) > 2 else 0.0))
