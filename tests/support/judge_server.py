"""A stand-in judge of known worth: OpenAI's chat protocol, verdicts right at the rates it is told.

    python judge_server.py KEY

KEY is a JSON file: "verdicts" by the SHA-256 of the prompt, true or false; and the rates
"sensitivity", "specificity" and "invalid". It is right or wrong on a prompt by the prompt's hash,
the same every time; asked what is not in the key, it fails. Prints its port, serves until its
standard input closes, and counts answers like `openai_server`, whose protocol it speaks.
"""

import asyncio
import hashlib
import json
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from openai_server import OpenAIServer


class JudgeServer(OpenAIServer):
    """Answers from a key."""

    key: dict[str, Any] = {}

    @classmethod
    def _answer(cls, request: dict[str, Any]) -> dict[str, Any]:
        prompt = str(request["messages"][-1]["content"])
        digest = hashlib.sha256(prompt.encode()).hexdigest()
        # By model: two judges of the same worth err on different items.
        chance = int(hashlib.sha256(f"{request['model']} {prompt}".encode()).hexdigest()[:8], 16)
        known = cls.key["verdicts"][digest]
        right = chance / 2**32 < cls.key["sensitivity" if known else "specificity"]
        verdict = known if right else not known
        schema = (request.get("response_format") or {}).get("json_schema")
        content = json.dumps({schema["name"]: {"value": verdict}}) if schema else "FT"[verdict]
        if int(digest[8:16], 16) / 2**32 < cls.key.get("invalid", 0.0):
            content = "Who can say?"
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": content},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }


async def _main() -> None:
    JudgeServer.key = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    server = JudgeServer()
    print(await server.start(), flush=True)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    await stop.wait()


if __name__ == "__main__":
    asyncio.run(_main())
