"""A stand-in for a paid service: it speaks OpenAI's chat protocol and can be told to fail.

As a program it prints its port and serves until its standard input closes:

    python openai_server.py --latency 0.2 --faults 429,500,reset,stall,truncated,notjson

Every distinct request meets one of the faults before it is answered, the same one every time
the server is started; "quota", "later" and "blank" it meets each time, "noschema" while a schema
is asked for, "notemperature" while a temperature is. A request with the word
"doomed" in its last message is not answered. What was answered is counted: GET /stats gives the
number of good answers per request, GET /forget begins to count anew, GET /mend ends all faults.

The model "scored" gives log-probabilities where they are asked for; others leave them out.
"""

import argparse
import asyncio
import hashlib
import json
import math
import re
import sys
import threading
from collections import Counter
from typing import Any

FAULTS = (
    *("429", "500", "reset", "stall", "truncated", "notjson"),
    *("nochoices", "error200", "later", "quota", "parts", "refusal", "filter", "length"),
    *("empty", "html", "422", "blank"),
    *(
        "noschema",
        "notemperature",
        "grammar",
        "azure",
        "reasoned",
        "called",
        "oddusage",
        "cut",
        "drip",
    ),
)


class OpenAIServer:
    """Serves on loopback; `latency` and `stall` are seconds."""

    def __init__(
        self,
        latency: float = 0.0,
        faults: tuple[str, ...] = (),
        stall: float = 30.0,
        share: float = 1.0,
    ):
        self.latency, self.faults, self.stall, self.share = latency, faults, stall, share
        self.mended = False
        self.forget()

    def forget(self) -> None:
        """Have seen no request yet."""
        self.seen: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        self.settings: dict[str, list[Any]] = {}
        self.with_schema = 0

    async def start(self) -> int:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**24)
        return int(self.server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(found.group(1)) if found else 0)
                if head.startswith(b"GET /stats"):
                    stats = {
                        "answered": dict(self.answered),
                        "met": dict(self.met),
                        "settings": self.settings,
                        "with_schema": self.with_schema,
                    }
                    self._write(writer, "200 OK", json.dumps(stats).encode())
                elif head.startswith(b"GET /forget"):
                    self.forget()
                    self._write(writer, "200 OK", b"{}")
                elif head.startswith(b"GET /mend"):
                    self.faults, self.mended = (), True
                    self._write(writer, "200 OK", b"{}")
                elif not await self._complete(writer, json.loads(body)):
                    return
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _complete(self, writer: asyncio.StreamWriter, request: dict[str, Any]) -> bool:
        """Answer, or fail as planned; return whether the connection lives on."""
        key = hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest()
        self.seen[key] += 1
        self.with_schema += "response_format" in request
        for name, value in request.items():
            if name not in ("messages", "response_format", "model"):
                values = self.settings.setdefault(f"{request['model']}: {name}", [])
                if value not in values:
                    values.append(value)
        await asyncio.sleep(self.latency)
        last = request["messages"][-1]["content"]
        doomed = "doomed" in str(last) and not self.mended
        fault = "500" if doomed else self._fault(key, request)
        if fault is not None:
            self.met[fault] += 1
        answer = json.dumps(self._answer(request)).encode()
        match fault:
            case None:
                self.answered[key] += 1
                self._write(writer, "200 OK", answer)
            case "429":
                error = b'{"error": {"message": "slow down", "type": "rate_limit_error"}}'
                self._write(writer, "429 Too Many Requests", error, "Retry-After: 1\r\n")
            case "500":
                error = b'{"error": {"message": "the engine is on fire", "type": "server_error"}}'
                self._write(writer, "500 Internal Server Error", error)
            case "nochoices":
                self._write(
                    writer, "200 OK", json.dumps({**json.loads(answer), "choices": []}).encode()
                )
            case "error200":
                self._write(writer, "200 OK", b'{"error": {"message": "upstream has gone away"}}')
            case "parts" | "refusal" | "filter" | "length" | "empty" | "blank":
                changed = json.loads(answer)
                choice = changed["choices"][0]
                text = choice["message"]["content"]
                thought = {"type": "reasoning", "text": '{"risk_counterfactual": "a decoy"}'}
                parts = [thought, {"type": "text", "text": text}]
                content, refusal, choice["finish_reason"] = {
                    "parts": (parts, "", "stop"),
                    "refusal": (None, "I would rather not.", "stop"),
                    "filter": (None, None, "content_filter"),
                    "length": (text[: len(text) // 2], None, "length"),
                    "empty": ("", None, "stop"),
                    "blank": (" \u200b\n\u00ad\u3000", None, "stop"),
                }[fault]
                choice["message"] |= {"content": content, "refusal": refusal}
                self._write(writer, "200 OK", json.dumps(changed).encode())
            case "noschema":
                error = b'{"error": "response_format must be text, got: json_schema"}'
                self._write(writer, "400 Bad Request", error)
            case "notemperature":
                error = (
                    b'{"error": {"message": "Unsupported value: \'temperature\' does not support '
                )
                error += b'this value with this model.", "type": "invalid_request_error"}}'
                self._write(writer, "400 Bad Request", error)
            case "grammar":
                error = b'{"error": {"message": "the grammar engine is restarting"}}'
                self._write(writer, "500 Internal Server Error", error)
            case "azure":
                error = b'{"error": {"message": "content management policy", '
                error += b'"code": "content_filter"}}'
                self._write(writer, "400 Bad Request", error)
            case "reasoned" | "called" | "oddusage" | "cut":
                changed = json.loads(answer)
                message = changed["choices"][0]["message"]
                text, function = message["content"], {"name": "answer", "arguments": "{}"}
                if fault == "reasoned":
                    message |= {"content": "", "reasoning_content": text}
                elif fault == "called":
                    call = {"id": "1", "type": "function", "function": function}
                    message |= {"content": None, "tool_calls": [call]}
                elif fault == "oddusage":
                    changed["usage"] = {"prompt_tokens": 2.5, "completion_tokens": None}
                else:
                    changed["usage"] |= {"prompt_tokens": 40}
                self._write(writer, "200 OK", json.dumps(changed).encode())
            case "drip":
                self._write(writer, "200 OK", b" ", promised=1_000)
                while not writer.is_closing():
                    await writer.drain()
                    await asyncio.sleep(0.1)
                    writer.write(b" ")
            case "html":
                page = b"<html>busy</html>"
                self._write(writer, "200 OK", page, kind="text/html")
            case "later":
                error = b'{"error": {"message": "too many", "type": "rate_limit_error"}}'
                self._write(writer, "429 Too Many Requests", error, "Retry-After: 3600\r\n")
            case "quota":
                error = b'{"error": {"message": "you have spent it", "code": "insufficient_quota"}}'
                self._write(writer, "429 Too Many Requests", error)
            case "422":
                error = b'{"detail": [{"msg": "the window is 4,096 tokens"}]}'
                self._write(writer, "422 Unprocessable Content", error)
            case "reset":
                writer.transport.abort()
                return False
            case "stall":
                await asyncio.sleep(self.stall)
                writer.transport.abort()
                return False
            case "truncated":
                self._write(writer, "200 OK", answer, promised=len(answer) + 100)
                await writer.drain()
                return False
            case "notjson":
                self._write(writer, "200 OK", b"<html>gateway says hello</html>")
        return True

    def _fault(self, key: str, request: dict[str, Any]) -> str | None:
        wanting = {"noschema": "response_format", "notemperature": "temperature"}
        if (field := wanting.get(self.faults[0] if self.faults else "")) is not None:
            return self.faults[0] if field in request else None
        lasting = {"quota", "later", "blank"} & {*self.faults}
        if (
            not self.faults
            or (self.seen[key] > 1 and not lasting)
            or int(key[8:16], 16) >= self.share * 2**32
        ):
            return None
        return self.faults[int(key[:8], 16) % len(self.faults)]

    @staticmethod
    def _answer(request: dict[str, Any]) -> dict[str, Any]:
        text = str(request["messages"][-1]["content"])
        schema = (request.get("response_format") or {}).get("json_schema") or {}
        name = schema.get("name", "counterfactuals")
        content: Any
        if not schema and "<paragraph>" in text:
            content = _label(text, request["model"])
        elif text.endswith("T or F:"):
            content = _letter(text)
        elif text.endswith("yes or no."):
            content = "Yes"
        elif "<text>" in text and not schema:
            content = between("text", text).replace(", so", ", yet")
        elif "<review>" in text and not schema:
            content = f"{between('review', text)} Not so, says everybody else."
        elif name == "counterfactuals":
            headline = between("news", text).replace("[MASK]", "the market")
            content = {
                "original_headline": headline,
                "risk_counterfactual": f"{headline}, and lenders take fright",
                "opportunity_counterfactual": f"{headline}, and lenders take heart",
            }
        elif name == "screening":
            content = {"reason": "a quarrel between firms ends", "event_status": True}
            content |= {"material_relevance": True, "category": "Corporate strategy & operations"}
        else:
            content = {name: {"value": int(hashlib.sha256(text.encode()).hexdigest(), 16) % 3 > 0}}
        written = content if isinstance(content, str) else json.dumps(content)
        message = {"content": written}
        if "reasoning_effort" in request:
            message["reasoning_content"] = 'Perhaps {"risk_counterfactual": "a decoy"}?'
        scored = {}
        if request["model"] == "scored" and request.get("logprobs"):
            written = written.split()[0]
            message["content"] = written
            scored = {"logprobs": {"content": _scored(text, written)}}
        return completion(request, message, len(text) // 4, 20, **scored)

    @staticmethod
    def _write(
        writer: asyncio.StreamWriter,
        status: str,
        body: bytes,
        headers: str = "",
        promised: int | None = None,
        kind: str = "application/json",
    ) -> None:
        length = len(body) if promised is None else promised
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{headers}"
            f"Content-Length: {length}\r\n\r\n"
        )
        writer.write(head.encode() + body)


def completion(
    request: dict[str, Any], message: dict[str, Any], read: int = 1, wrote: int = 1, **choice: Any
) -> dict[str, Any]:
    """Return a reply of one choice to a request, with the tokens that it read and wrote."""
    spoken = {"role": "assistant", **message}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": spoken, "finish_reason": "stop", **choice}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": wrote,
            "total_tokens": read + wrote,
        },
    }


def between(tag: str, text: str) -> str:
    """Return what stands last between such tags."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return found[-1] if found else ""


def _letter(text: str) -> str:
    """Answer a criterion of a story: mostly T, seldom what is neither."""
    pick = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    return ("T", "T", "F", "T", "F", "Perhaps")[pick % 6]


def _scored(text: str, written: str) -> list[dict[str, Any]]:
    """Return the tokens of an answer: half for the word itself, a fifth for another spelling of it,
    a tenth for the start of the next label, and some for what is none.
    """
    labels = _labels(text)
    shares = {written: 0.5, f" {written.capitalize()}": 0.2, "The": 0.15}
    if written in labels:
        shares[labels[(labels.index(written) + 1) % len(labels)][:3]] = 0.1
    top = [
        {"token": token, "logprob": math.log(share), "bytes": None}
        for token, share in shares.items()
    ]
    # Some services put a line break first.
    first = {"token": "\n", "logprob": -0.1, "bytes": None, "top_logprobs": []}
    return [first, {**top[0], "top_logprobs": top}]


def _label(text: str, model: str) -> str:
    """Answer a question for a label: one of them by chance, seldom none, with reasons if asked."""
    pick = int(hashlib.sha256(f"{model} {text}".encode()).hexdigest(), 16)
    labels = _labels(text)
    label = labels[pick % len(labels)] if pick % 11 else "I cannot tell."
    return f"The figures stand as they are.\n{label}" if "last line" in text else label


def _labels(text: str) -> list[str]:
    if "<original>" in text:
        return ["numerical", "flipping", "sentiment", "causal"]
    return ["true", "false"]


def run(server: OpenAIServer) -> None:
    """Print a server's address, and serve until standard input ends."""
    asyncio.run(_serve(server))


async def _serve(server: OpenAIServer) -> None:
    print(await server.start(), flush=True)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    await stop.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--faults", default="")
    parser.add_argument("--stall", type=float, default=30.0)
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    faults = tuple(name for name in options.faults.split(",") if name)
    run(OpenAIServer(options.latency, faults, options.stall, options.share))
