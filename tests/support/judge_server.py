"""A stand-in judge of known worth: OpenAI's chat protocol, verdicts right at the rates it is told.

    python judge_server.py KEY

KEY is a JSON file: "verdicts" by the SHA-256 of the prompt, true or false; and the rates
"sensitivity", "specificity" and "invalid". With a list "good" of digests these are its rates on
them alone, and on the others it tosses a coin. It is right or wrong on a prompt by the prompt's
hash, the same every time; asked what is not in the key, it fails. Prints its port, serves until
its standard input closes, and counts answers like `openai_server`, whose protocol it speaks.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parent))
from openai_server import OpenAIServer, completion, run


def digest(text: str) -> str:
    """Return what a prompt is called in a key."""
    return hashlib.sha256(text.encode()).hexdigest()


def says(model: str, prompt: str, key: dict[str, Any]) -> bool | None:
    """Return the verdict that a model of this key gives, or none where it mumbles."""
    name = digest(prompt)
    known = key["verdicts"][name]
    if int(name[8:16], 16) / 2**32 < key["invalid"]:
        return None
    # By model: two judges of the same worth err on different items.
    chance = int(digest(f"{model} {prompt}")[:8], 16) / 2**32
    rate = key["sensitivity" if known else "specificity"]
    if "good" in key and name not in key["good"]:
        rate = 0.5
    right = chance < rate
    return known if right else not known


class JudgeServer(OpenAIServer):
    """Answers from a key."""

    key: ClassVar[dict[str, Any]] = {}

    @classmethod
    def _answer(cls, request: dict[str, Any]) -> dict[str, Any]:
        verdict = says(request["model"], str(request["messages"][-1]["content"]), cls.key)
        schema = (request.get("response_format") or {}).get("json_schema")
        content = "Who can say?"
        if verdict is not None:
            content = json.dumps({schema["name"]: {"value": verdict}}) if schema else "FT"[verdict]
        return completion(request, {"content": content})


if __name__ == "__main__":
    JudgeServer.key = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    run(JudgeServer())
