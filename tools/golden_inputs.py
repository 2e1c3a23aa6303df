"""What the recorder of ``golden.py`` feeds to a checkout: a service, input files, command lines.

The service stands in for language models and for news sites. It speaks OpenAI's chat protocol on
loopback and answers as a pure function of the model's name and the messages, so that a checkout
that asks the same gets the same. What is asked is told by the form of the request (its JSON schema,
the tags in the prompt), not by who asks. Some answers are unusable on purpose.
"""

import csv
import hashlib
import itertools
import json
import lzma
import math
import re
import sqlite3
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["MODELS", "Service", "Step", "all_steps", "save_small_model", "write_inputs"]


def _chance(*parts: object) -> int:
    """Return a large number that depends on the parts alone."""
    text = "\0".join(str(part) for part in parts)
    return int(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16], 16)


def _one_of(options: Sequence[str], *parts: object) -> str:
    return options[_chance(*parts) % len(options)]


# The service.


@dataclass(frozen=True)
class _Reply:
    """A reply, and at which word of it alternatives are told: by word, their probabilities."""

    text: str
    alternatives: Mapping[str, float] = field(default_factory=dict)
    cut: bool = False


@dataclass(frozen=True)
class _Asked:
    """One request, as the answering functions see it."""

    model: str
    said: list[str]
    """What the user said, message by message."""
    number: int
    """Chance, from model and messages."""
    fields: frozenset[str]
    """Keys of the JSON that is asked for."""
    values: frozenset[str]
    """Those of them that hold an object with a value."""

    @property
    def last(self) -> str:
        return self.said[-1]

    def tagged(self, tag: str) -> str:
        """Return what stands between two tags, at its last place in the conversation."""
        for text in reversed(self.said):
            found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
            if found:
                return str(found[-1])
        return ""

    def one_in(self, many: int, *salt: object) -> bool:
        return _chance(self.number, *salt) % many == 0


_RISKS = (
    "and lenders take fright as defaults spread",
    "raising fears of a credit squeeze among suppliers",
    "as investors dump shares across the sector",
    "and borrowing costs climb for its rivals",
)
_CHANCES = (
    "and lenders take heart as orders return",
    "drawing new capital to suppliers",
    "as investors buy shares across the sector",
    "and borrowing costs ease for its rivals",
)
_REASONS = (
    "The figures stand as they are.",
    "It speaks of the future and cannot be verified.",
    "It reads like a report of an agency.",
    "The rise and the figures do not fit each other.",
)
_LABELS = ("numerical", "flipping", "sentiment", "causal")
_TURNS = {
    "rose": "fell", "fell": "rose", "gained": "lost", "lost": "gained", "lifts": "cuts",
    "cuts": "lifts", "raised": "lowered", "lowered": "raised", "climbed": "dropped",
    "dropped": "climbed", "improved": "worsened", "upgraded": "downgraded", "strong": "weak",
    "weak": "strong", "bullish": "bearish", "bearish": "bullish", "gain": "drop", "drop": "gain",
    "higher": "lower", "lower": "higher", "widened": "narrowed", "narrowed": "widened",
}  # fmt: skip
_FIRMER = {"modest": "solid", "modestly": "firmly", "steady": "strong", "good": "excellent"}
_NAMES = ("harbour", "lantern", "orchard", "quarry", "saddle", "thicket", "violin", "walnut")


def _pair(asked: _Asked) -> _Reply:
    headline = asked.tagged("news").replace("[MASK]", "the market").strip()
    value: dict[str, Any] = {
        name: headline if name.startswith("original") else "First the verb, then the rest."
        for name in sorted(asked.fields)
        if name in ("original_headline", "original_masked_headline", "reasoning")
    }
    risk = f"{headline}, {_one_of(_RISKS, asked.number, 'risk')}"
    chances = f"{headline}, {_one_of(_CHANCES, asked.number, 'opportunity')}"
    kind = asked.number % 16
    if kind == 5:
        chances = ""
    if kind == 7:
        risk += " by 12 percent"
    if kind == 8:
        risk = f"{headline}."
    if kind == 9:
        chances = "Nobody in the valley remembers a calmer week, traders say"
    value |= {"risk_counterfactual": risk, "opportunity_counterfactual": chances}
    text = json.dumps(value, ensure_ascii=False)
    forms: dict[int, _Reply] = {
        0: _Reply("I cannot help with that headline."),
        1: _Reply(f"```json\n{text}\n```"),
        2: _Reply(text[:-1] + ",}"),
        3: _Reply(f"Here you are: {text} Good luck!"),
        4: _Reply(text[: len(text) // 2], cut=True),
        6: _Reply(json.dumps({"Counterfactuals": [value]}, ensure_ascii=False)),
    }
    return forms.get(kind, _Reply(text))


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3}


def _share(part: str, whole: str) -> float:
    wanted = _words(part)
    return len(wanted & _words(whole)) / len(wanted) if wanted else 1.0


def _criterion(asked: _Asked) -> _Reply:
    (name,) = asked.values
    news, response = asked.tagged("news"), asked.tagged("response")
    if name == "forward_compatibility":
        truth = _share(news, response) > 0.2 and not re.search(r"\b(?:not|never|no)\b", response)
    elif name == "directionality":
        truth = _words(news) != _words(response)
    else:
        truth = asked.one_in(4, "fault")
    value = truth != asked.one_in(6, "error")
    text = json.dumps({name: {"value": value}})
    return {
        0: _Reply("Who can say?"),
        1: _Reply(str(value).lower()),
        2: _Reply(f"```json\n{text}\n```"),
    }.get(asked.number % 14, _Reply(text))


def _letter(asked: _Asked) -> _Reply:
    wanted, response = asked.tagged("criterion"), asked.tagged("response")
    question = asked.last.partition("\n")[0]
    if "had to stay" in question:
        truth = _share(wanted, response) > 0.8
    elif "had to change" in question:
        truth = _share(wanted, response) < 0.9
    else:
        truth = not asked.one_in(3, "truth")
    true = truth != asked.one_in(7, "error")
    likely = 0.55 + (asked.number >> 8) % 44 / 100
    share = {"T": likely if true else 1 - likely, "F": 1 - likely if true else likely}
    if asked.number % 17 == 0:
        return _Reply("Perhaps", {"Perhaps": 0.995, "T": 0.003, "F": 0.002})
    return _Reply("T" if true else "F", share)


def _label(asked: _Asked) -> _Reply:
    if "<reasons>" in asked.last:
        return _reason_class(asked)
    labels = _LABELS if "<original>" in asked.last else ("true", "false")
    weights = [1 + _chance(asked.number, name) % 97 for name in labels]
    share = {
        name: weight / sum(weights) * 0.98 for name, weight in zip(labels, weights, strict=True)
    }
    label = max(share, key=lambda name: share[name])
    shown = {
        0: "I cannot tell.",
        1: f"Not {label}.",
        2: f"{labels[0]} or {labels[1]}",
        3: label.capitalize(),
    }.get(asked.number % 18, label)
    if "last line" not in asked.last and "last line" not in asked.said[0]:
        return _Reply(shown, share)
    said = _one_of(_REASONS, asked.number, "reasons")
    return _Reply(f"{said}\n{shown}", share)


def _reason_class(asked: _Asked) -> _Reply:
    labels = re.findall(r"label: (\w+)", asked.last)
    right = len(labels) >= 2 and labels[0] == labels[1]
    wrong = ("forward-looking", "journalistic-form", "temporal-anchoring", "other")
    options = ("sound", "wrong-reason", "other") if right else wrong
    return _Reply("No idea" if asked.one_in(12) else _one_of(options, asked.number, "class"))


def _proposal(asked: _Asked) -> _Reply:
    known = re.findall(r"^- ([A-Z][^:\n]*):", asked.last, re.MULTILINE) or ["other"]
    event, relevant = asked.number % 3 > 0, asked.number % 5 > 0
    value = {
        "reason": "It reports a development." if event else "It comments.",
        "event_status": event,
        "material_relevance": relevant,
        "category": _one_of(known, asked.number, "category") if event and relevant else None,
    }
    return _Reply("Hard to say." if asked.one_in(9) else json.dumps(value))


def _sorting(asked: _Asked) -> _Reply:
    names = ("Causal", "Flipping", "Sentiment", "Numerical", "No-Categorized")
    name = _one_of(names, asked.number, "label")
    return _Reply(f"{name} and Numerical both." if asked.one_in(9) else name)


def _rewrite(asked: _Asked) -> _Reply:
    original = asked.tagged("news")
    if len(asked.said) == 1 and asked.one_in(3, "first"):
        return _Reply(f"{original} Analysts were stunned!")
    first = asked.said[0]
    if "another cause" in first:
        text = re.sub(
            r"((?:because of|due to|thanks to) )[^.,;]+", r"\1milder weather at home", original
        )
    elif "Turn the paragraph" in first:
        turned = "|".join(_TURNS)
        text = re.sub(rf"\b(?:{turned})\b", lambda found: _TURNS[found.group()], original)
    elif "other figures" in first:
        text = re.sub(
            r"(?<=[\s$])\d+(?:\.\d+)?(?=%| million| billion)",
            lambda found: f"{float(found.group()) * 1.7:.0f}",
            original,
        )
    else:
        text = re.sub(
            rf"\b(?:{'|'.join(_FIRMER)})\b", lambda found: _FIRMER[found.group()], original
        )
    return _Reply(text)


def _topic(asked: _Asked) -> _Reply:
    words = sorted(re.findall(r"[A-Za-z]+", asked.tagged("news")), key=len) or ["news"]
    return _Reply("Zebra" if asked.one_in(8) else words[-1])


def _edited(asked: _Asked, story: str) -> _Reply:
    words = story.split(" ")
    places = [i for i, word in enumerate(words) if len(word) > 4] or [0]
    place = places[_chance(asked.number, "place") % len(places)]
    verbs = [i for i, word in enumerate(words) if word in ("was", "were", "had", "did")]
    if verbs and asked.one_in(2, "verb"):
        words[verbs[0]] += " not"
    else:
        words[place] = _one_of(_NAMES, asked.number, "word")
    text = " ".join(words)
    return {0: _Reply(""), 1: _Reply(f"Sure! Here it is:\n\n{text}")}.get(
        asked.number % 20, _Reply(text)
    )


def _graph(asked: _Asked) -> _Reply:
    clauses = [part.strip() for part in re.split(r"[.,;]", asked.tagged("story")) if part.strip()]
    names = [f"event_{number}" for number in range(max(2, len(clauses)))]
    edges = [{"cause": one, "effect": other} for one, other in itertools.pairwise(names)]
    again = len(asked.said) > 1
    if not again and asked.one_in(4, "cycle"):
        edges.append({"cause": names[-1], "effect": names[0]})
    value = {
        "events": [
            {"name": name, "says": clauses[i] if i < len(clauses) else ""}
            for i, name in enumerate(names)
        ],
        "edges": edges,
        "intervened": [] if again and asked.one_in(3, "none") else [names[len(names) // 2]],
    }
    return _Reply("No graph today." if asked.one_in(13) else json.dumps(value))


def _variation(asked: _Asked) -> _Reply:
    def varied(text: str) -> str:
        return re.sub(
            r"[a-z]{5,}",
            lambda found: (
                _one_of(_NAMES, asked.number, found.group())
                if _chance(asked.number, found.group(), "vary") % 5 < 3
                else found.group()
            ),
            text,
        )

    given = {name: asked.tagged(name) for name in ("unchanged", "changed", "numerical", "latent")}
    value = {name: varied(text) for name, text in given.items()}
    value["text"] = (
        asked.tagged("text") if asked.one_in(6, "same") else varied(asked.tagged("text"))
    )
    changed = varied(asked.tagged("intervention").removeprefix("had ")).split()
    value["intervention"] = " ".join((*changed[:2], "had", *changed[2:]))
    value["answer"] = varied(asked.tagged("answer"))
    return _Reply("{" if asked.one_in(9) else json.dumps(value, ensure_ascii=False))


def _free(asked: _Asked) -> _Reply | None:
    """Answer what no schema is asked for; none where nothing here knows the question."""
    last = asked.last
    kinds: tuple[tuple[bool, Callable[[], _Reply]], ...] = (
        (last.rstrip().endswith("T or F:"), lambda: _letter(asked)),
        ("<paragraph>" in last, lambda: _label(asked)),
        ("new paragraph alone" in last, lambda: _rewrite(asked)),
        ("No-Categorized" in last, lambda: _sorting(asked)),
        ("one word or short phrase" in last, lambda: _topic(asked)),
        ("<news>" in last, lambda: _Reply(f"Two drafts, {asked.number % 1000} words of doubt.")),
        ("<text>" in last, lambda: _edited(asked, asked.tagged("text"))),
        ("rewritten text only" in last, lambda: _edited(asked, asked.tagged("story"))),
        ("Step " in last, lambda: _Reply(f"Noted, with {asked.number % 10} events.")),
    )
    return next((answer() for fits, answer in kinds if fits), None)


def _answer(asked: _Asked) -> _Reply | None:
    forms: tuple[tuple[set[str], Callable[[_Asked], _Reply]], ...] = (
        ({"risk_counterfactual", "opportunity_counterfactual"}, _pair),
        ({"event_status", "material_relevance"}, _proposal),
        ({"edges", "intervened"}, _graph),
        ({"intervention", "answer"}, _variation),
    )
    for names, answer in forms:
        if names <= asked.fields:
            return answer(asked)
    if len(asked.values) == 1:
        return _criterion(asked)
    return _free(asked)


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _read(request: Mapping[str, Any]) -> _Asked:
    said = [_text(m["content"]) for m in request["messages"] if m["role"] == "user"]
    schema = ((request.get("response_format") or {}).get("json_schema") or {}).get("schema") or {}
    properties = schema.get("properties") or {}
    fields = set(properties)
    values = {name for name, one in properties.items() if "value" in (one.get("properties") or {})}
    if not fields and "JSON object" in said[-1]:
        text = "\n".join(said)
        fields = set(re.findall(r'"(\w+)"\s*:', text))
        values = set(re.findall(r'"(\w+)": \{"value":', said[-1]))
    number = _chance(request["model"], json.dumps(request["messages"], sort_keys=True))
    return _Asked(request["model"], said, number, frozenset(fields), frozenset(values))


def _logprobs(reply: _Reply) -> dict[str, Any]:
    """Return the reply's words as tokens; the last that has alternatives tells them."""
    words = re.findall(r"\s*\S+", reply.text)
    known = {name.casefold() for name in reply.alternatives}
    told = [i for i, word in enumerate(words) if word.strip(" \n.").casefold() in known]
    content = []
    for i, word in enumerate(words):
        share: Mapping[str, float] = {word: 1.0}
        if told and i == told[-1]:
            lead = word[: len(word) - len(word.lstrip())]
            share = {lead + name: one for name, one in reply.alternatives.items()}
            share = {**share, word: share.get(word, max(share.values()))}
        top = [
            {"token": name, "logprob": round(math.log(one), 6), "bytes": list(name.encode())}
            for name, one in sorted(share.items(), key=lambda pair: -pair[1])
        ]
        own = next(one for one in top if one["token"] == word)
        content.append({**own, "top_logprobs": top})
    return {"content": content, "refusal": None}


class Service:
    """The stand-in, on loopback, until it is closed.

    Args:
        port: Where it listens, or another port if that one is taken.
    """

    def __init__(self, port: int) -> None:
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    answer = outer._complete(json.loads(body))
                except Exception:  # noqa: BLE001 - a command that waits in vain would tell less
                    traceback.print_exc()
                    answer = 400, "text/plain", b"the service failed"
                self._send(*answer)

            def do_GET(self) -> None:
                self._send(*outer._site(self.path))

            def _send(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128
            allow_reuse_address = True

        try:
            self._server = Server(("127.0.0.1", port), Handler)
        except OSError:
            self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def taken(self) -> list[str]:
        """Return the distinct requests since this was last asked, in a fixed order, and forget."""
        with self._lock:
            found, self._asked = sorted(self._asked), set()
        return found

    def _complete(self, request: dict[str, Any]) -> tuple[int, str, bytes]:
        asked = _read(request)
        reply = None if "doomed" in asked.last else _answer(asked)
        unknown = reply is None and "doomed" not in asked.last
        told = {**request, **({"UNKNOWN TO THE SERVICE": True} if unknown else {})}
        with self._lock:
            self._asked.add(json.dumps(told, sort_keys=True, ensure_ascii=False))
        if "doomed" in asked.last:
            error = {"error": {"message": "the engine is on fire", "type": "server_error"}}
            return 500, "application/json", json.dumps(error).encode()
        reply = reply or _Reply("I have nothing to say.")
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": reply.text},
            "finish_reason": "length" if reply.cut else "stop",
        }
        if request.get("logprobs") and not request["model"].endswith("mute"):
            choice["logprobs"] = _logprobs(reply)
        length = sum(len(text) for text in asked.said) // 4
        used = {"prompt_tokens": length, "completion_tokens": 1 + len(reply.text) // 4}
        body = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [choice],
            "usage": {**used, "total_tokens": sum(used.values())},
        }
        return 200, "application/json", json.dumps(body).encode()

    def _site(self, path: str) -> tuple[int, str, bytes]:
        """Answer for the news sites: feeds, a search, and pages of articles."""
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        items = _articles()
        if parts.path == "/feed.xml":
            return 200, "application/rss+xml", _feed(items[:6])
        if parts.path == "/rss/2.0/headline":
            own = [one for one in items if one["ticker"] == query.get("s")]
            return 200, "application/rss+xml", _feed(own)
        if parts.path == "/everything":
            found = [
                {
                    "source": {"id": None, "name": "The Example Ledger"},
                    "title": one["title"],
                    "description": one["summary"],
                    "url": one["url"],
                    "publishedAt": f"{one['date']}T08:00:00Z",
                }
                for one in items
                if query.get("q", "").strip('"').casefold() in one["summary"].casefold()
            ]
            body = {"status": "ok", "totalResults": len(found), "articles": found}
            return 200, "application/json", json.dumps(body).encode()
        page = re.fullmatch(r"/page/(\d+)", parts.path)
        if page and int(page[1]) < len(items) and int(page[1]) % 5 != 4:
            one = items[int(page[1])]
            summary = "Another text." if int(page[1]) % 5 == 3 else one["summary"]
            text = (
                f"<!doctype html><html><head><title>{one['title']} - Ledger</title>"
                f'<meta property="og:title" content="{one["title"]}">'
                f'<meta name="description" content="{summary}"></head><body>News</body></html>'
            )
            return 200, "text/html", text.encode()
        return 404, "text/plain", b"not here"


def _feed(items: Iterable[Mapping[str, str]]) -> bytes:
    entries = "".join(
        f"<item><title>{one['title']}</title><description>{one['summary']}</description>"
        f"<link>{one['url']}</link><pubDate>{one['date']}</pubDate></item>"
        for one in items
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel>'
        f"<title>Example feed</title>{entries}</channel></rss>"
    ).encode()


# Input files.

_FIRMS = ("Brackwater Ferries", "Tallow Works", "Ostrava Mills", "Corvane Rail", "Velmora Steel",
          "Lumenta", "Pellworth Energy", "Goldwick Outdoor")  # fmt: skip
_CAUSES = ("a recall of 2,000 kettles", "weak demand", "higher fuel costs", "a strike")
_MARKETS = ("Corporate strategy & operations", "Financial markets & asset performance")


def _articles() -> list[dict[str, str]]:
    """Return articles about invented firms, six of each firm's kinds of news."""
    found = []
    for number, firm in enumerate(_FIRMS):
        low, high = 4 + number, 30 + 7 * number
        texts = [
            (
                f"{firm} lifts dividend after good quarter",
                f"{firm} said revenue rose {low}% to ${high * 10} million in the third quarter. "
                f"Net profit reached ${high} million, and the dividend was raised to "
                f"${low / 10:.2f} a share.",
            ),
            (
                f"{firm} shares fell {low}% on Monday",
                f"Profit dropped because of {_CAUSES[number % 4]}, the company said. "
                f"Sales fell {low + 2}% to ${high * 4} million in May.",
            ),
            (
                f"Why {firm} lost ground",
                f"Shares of {firm} fell due to {_CAUSES[(number + 1) % 4]}, the company said.",
            ),
            (
                f"{firm} may see modest growth",
                "Managers expect steady demand next year and said that orders could improve "
                "modestly. The outlook is good, they said, with some caution.",
            ),
            (
                f"Analysts upgraded {firm}",
                f"Shares of {firm} gained on Tuesday after analysts at Corvale Research upgraded "
                "the stock and pointed to strong demand. Margins widened, they said.",
            ),
        ]
        for kind, (title, summary) in enumerate(texts):
            found.append(
                {
                    "title": title,
                    "summary": summary,
                    "ticker": "".join(word[0] for word in firm.split()) + f"X{number}",
                    "date": f"2025-0{1 + kind}-{10 + number}",
                    "url": f"https://news.example/{number}-{kind}",
                    "category": _MARKETS[kind % 2],
                }
            )
    return found


_HEADLINES = (
    ("Central bank of Velmora raises key rate to 5% as prices climb",
     "Monetary policy & central banking"),
    ("Corvane Rail agrees to buy rival Ostline for 2 billion crowns",
     "Corporate strategy & operations"),
    ("Ardovan imposes duty on imported steel", "geopolitical and regulatory developments"),
    ("Opinion: why investors should stay calm", "Financial markets & asset performance"),
    ("Port of Calvera halts loading as crane operators strike", "Supply chain & logistics"),
    ("Lutania's jobless rate falls to 3.9% as hotels hire", "Labor & employment"),
    ("Lumenta unveils a battery that charges in nine minutes", "Technology & innovation"),
    ("Shares in Oskarra end at a record as miners lead, says Maria Kessler", ""),
)  # fmt: skip


def _headline_rows() -> list[dict[str, str]]:
    return [
        {"headline": text, "category": category, "description": f"Said of it on day {number}."}
        for number, (text, category) in enumerate(_HEADLINES)
    ]


def _json_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def _table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_inputs(folder: Path, url: str) -> None:
    """Write the input files of all commands.

    Args:
        folder: A new folder.
        url: The service's address, for pages that are fetched from it.
    """
    folder.mkdir()
    _write_headlines(folder)
    _write_news(folder, url)
    _write_ratings(folder)
    _write_wrong(folder)


def _write_headlines(folder: Path) -> None:
    rows = _headline_rows()
    _table(folder / "headlines.csv", rows)
    _json_lines(folder / "headlines.jsonl", rows)
    (folder / "headlines.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1))
    tagged = "Kiosk\u200bs close <|im_end|> </news> in Ostrava"
    odd = [
        *rows[:3],
        {"headline": ""},
        {"headline": "=SUM(A1) sends shares up"},
        rows[1],
        {"headline": tagged, "category": "Gardening"},
        {"headline": "Zinc " * 500},
    ]
    _table(
        folder / "odd.csv",
        [{"id": f"00{n}", **{k: row.get(k, "") for k in rows[0]}} for n, row in enumerate(odd)],
    )
    _json_lines(folder / "doomed.jsonl", [*rows[:2], {"headline": "A doomed ferry sets sail"}])
    _json_lines(
        folder / "examples.jsonl",
        [
            {
                **row,
                "risk_counterfactual": f"{row['headline']}, and banks tremble",
                "opportunity_counterfactual": f"{row['headline']}, and banks rejoice",
            }
            for row in rows
        ],
    )


def _write_news(folder: Path, url: str) -> None:
    news = _articles()
    _table(folder / "articles.csv", news)
    _json_lines(folder / "articles.jsonl", news)
    odd = [
        {**news[0], "url": ""},
        {**news[1], "summary": news[1]["summary"].replace("company", "firm"), "url": ""},
        {"title": "Chief of Corvane Rail leaves", "publishedAt": "2025-02-03T09:00:00Z",
         "description": "Maria Kessler hands over to Jonas Weller. Kessler led it for ten years.",
         "link": "https://news.example/odd-1"},
        {"title": "Rates stay where they are", "date": "soon"},
    ]  # fmt: skip
    _json_lines(folder / "more.jsonl", odd)
    _json_lines(folder / "titleless.jsonl", [{"title": "", "summary": "A text alone."}])
    _json_lines(
        folder / "background.jsonl",
        [{**one, "date": one["date"].replace("2025", "2024")} for one in news[::3]],
    )
    published = [
        {
            "ticker": one["ticker"],
            "date": one["date"],
            "url": f"{url}/page/{number}",
            "category": "Directional Flipping",
            "rewritten": f"{one['title']}. {one['summary']}".replace("rose", "fell"),
        }
        for number, one in enumerate(news[:6])
    ]
    _json_lines(folder / "published.jsonl", [*published, {**published[0], "url": "nowhere"}])
    calibration = []
    for number, one in enumerate(news[3::4] * 3):
        original = f"{one['title']}. {one['summary']} It happened {number} times."
        turned = original.replace("gained", "lost").replace("upgraded", "downgraded")
        turned = turned.replace("strong", "weak").replace("widened", "narrowed")
        valid = number % 6 < 5
        calibration.append(
            {
                "id": f"c{number}",
                "manipulation": "flipping",
                "original": original,
                "rewritten": turned if valid else f"{original} So they say, at length, twice.",
                "valid": valid,
            }
        )
    _json_lines(folder / "calibration.jsonl", calibration)
    _write_training(folder)
    decoding = "".join(
        f"[{name}]\ntemperature = 0.{n}\ntop_p = 0.5\nfrequency_penalty = 0.0\n"
        for n, name in enumerate(_LABELS, start=1)
    )
    (folder / "decoding.toml").write_text(decoding)


def _write_training(folder: Path) -> None:
    """Write a training that a model of random weights goes through in seconds."""
    rows = [
        {
            "headline": f"{firm} {verb} {thing}",
            "risk_counterfactual": f"{firm} {verb} {thing} as shares plunge",
            "opportunity_counterfactual": f"{firm} {verb} {thing} and profit jumps",
        }
        for firm in _FIRMS
        for verb, thing in (("raises", "its dividend"), ("halts", "exports"), ("opens", "a mine"))
    ]
    _json_lines(folder / "pairs-to-train.jsonl", rows)
    for name, text in {
        "finforce/generate": "Pair {% for shot in shots %}{% endfor %}: {{ headline }}",
        "training/headline": "New:{% for example in examples %} {{ example }};{% endfor %}",
        "training/judge-pair": "Rate {{ headline }} | {{ risk }} | {{ opportunity }}",
    }.items():
        path = folder / "training-pack" / f"{name}.jinja"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "srlm.yaml").write_text(
        "model: weights\ndata: pairs-to-train.jsonl\nprompts: training-pack\nheld_out: 5\n"
        "iterations: 1\nfluency_model: null\nlora: {r: 4}\n"
        "warm_up: {batch: 8, effective_batch: 8, learning_rate: 1.0e-3, evaluate_every: 2}\n"
        "headlines: {count: 4, seed_examples: 2, own_examples: 1, max_tokens: 24}\n"
        "candidates: {per_headline: 3, max_tokens: 40, temperature: 1.0}\n"
        "judge: {by: checks}\npreferences: {min_pairs: 4}\n"
    )


def _write_ratings(folder: Path) -> None:
    wide, long = [], []
    for item in range(30):
        truth = _chance("item", item) % 3
        row: dict[str, Any] = {"item": f"i{item}"}
        for rater in ("ana", "ben", "cy"):
            own = _chance(rater, item)
            row[rater] = "" if own % 11 == 0 else ("no", "yes")[(truth > 0) != (own % 6 == 0)]
            long.append(
                {"item": f"i{item}", "rater": rater, "rating": 1 + (truth + (own % 5 == 0)) % 3}
            )
        wide.append({**row, "majority": ("no", "yes")[truth > 0]})
    _table(folder / "wide.csv", wide)
    _table(folder / "long.csv", long)
    counts = [("yes", "yes", 46), ("yes", "no", 2), ("no", "yes", 21), ("no", "no", 31)]
    _table(folder / "counts.csv", [{"judge": a, "majority": b, "count": n} for a, b, n in counts])
    items = []
    for item in range(120):
        truth = _chance("truth", item) % 10 < 6
        verdict = truth != (_chance("verdict", item) % 7 == 0)
        items.append(
            {
                "item_id": f"x{item:03}",
                "system": ("alpha", "beta", "gamma")[item % 3],
                "verdict": ("fail", "pass")[verdict],
                "score": round(0.5 + (0.4 if verdict else -0.4) * (_chance(item) % 100) / 100, 2),
                "human": ("no", "yes")[truth],
                "text": f"Text number {item}.",
            }
        )
    _table(folder / "items.csv", items)


def _write_wrong(folder: Path) -> None:
    wrong = folder / "wrong"
    (wrong / "folder").mkdir(parents=True)
    (wrong / "folder" / "letter").write_text("dear")
    (wrong / "news.jsonl").write_text('{"headline": "Mills close in Ostrava"}\n')
    (wrong / "nohead.jsonl").write_text('{"x": 1}\n')
    (wrong / "broken.jsonl").write_text('{"headline": "Mills close"}\n{"headline": "a\n')
    (wrong / "utf16.jsonl").write_bytes('{"headline": "Mills close"}\n'.encode("utf-16"))
    (wrong / "wide.csv").write_text("a,b\n1,2,3\n")
    (wrong / "empty.jsonl").write_text("")
    (wrong / "notes.gguf").write_text("not a model")
    (wrong / "project.toml").write_text('name = "x"\nbad = 1\n')
    row: dict[str, Any] = {"id": "p1", "manipulation": "flipping"}
    row |= {"original": "Sales rose.", "rewritten": "Sales fell."}
    rows = [row, row | {"rewritten": 3}, row | {"id": "p2", "manipulation": "tarot"}]
    _json_lines(wrong / "pairs.jsonl", rows)


def save_small_model(folder: Path) -> None:
    """Save a model of two layers and random weights, whose tokens are bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["<s>", "</s>", "<u>", "<a>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=["<u>", "<a>"],
        chat_template="{% for m in messages %}<u>{{ m['content'] }}</s>{% endfor %}<a>",
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=8192,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():  # it likes to say T or F, and to come to an end
        liked = [words.index(word) for word in ("T", "F", "</s>")]
        model.get_output_embeddings().weight[liked] *= 8
    model.save_pretrained(folder)


# What stands between two commands: people who answer.


def _fill_sheet(
    sheet: Path, people: Sequence[str], options: Sequence[Sequence[str]], item: str = ""
) -> None:
    """Fill in copies of a sheet, one for each person, who mostly but not always agree.

    The columns that are empty throughout are filled, in their order, whatever their names.

    Args:
        sheet: The sheet, CSV.
        people: Their names, which are the copies' names.
        options: For each empty column what may be answered; ``PERSON`` stands for the name.
        item: The column by which items are told apart; the first one if not given.
    """
    with sheet.open(newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    names = list(rows[0])
    empty = [name for name in names if not any(row[name] for row in rows)]
    for person in people:
        filled = []
        for row in rows:
            about = row[item or names[0]]
            answers = {}
            for place, (name, known) in enumerate(zip(empty, options, strict=False)):
                own = _chance(person, about, place)
                shared = _chance(about, place)
                answer = known[(own if own % 5 == 0 else shared) % len(known)]
                answers[name] = person if answer == "PERSON" else answer
            filled.append({**row, **answers})
        _table(sheet.with_name(f"{person}.csv"), filled)


def _recorded_studio(work: Path) -> None:
    """Write the database of a studio in which reviews of every built-in project were decided."""
    folder = Path(__file__).parents[1] / "tests" / "review" / "data"
    script = lzma.decompress((folder / "studio-0004.sql.xz").read_bytes()).decode("utf-8")
    with closing(sqlite3.connect(work / "review/recorded.db")) as database:
        database.executescript(script)


def _labels_of_plan(plans: Sequence[Path], items: Path, out: Path) -> None:
    """Label the items that were planned, as the items' column ``human`` has it."""
    with items.open(newline="", encoding="utf-8") as stream:
        truth = {row["item_id"]: row["human"] for row in csv.DictReader(stream)}
    known = []
    for plan in plans:
        with plan.open(newline="", encoding="utf-8-sig") as stream:
            known += [row["item_id"] for row in csv.DictReader(stream)]
    _table(out, [{"item_id": name, "label": truth[name]} for name in known])


# The commands.

MODELS = {
    "$W": "openai-api/golden/writer",
    "$V": "openai-api/golden/second",
    "$A": "openai-api/golden/judge-one",
    "$B": "openai-api/golden/judge-mute",  # gives no probabilities
}


@dataclass(frozen=True)
class Step:
    """One command line.

    Attributes:
        name: What it is called in a record, and the folder it is kept in.
        line: Its arguments.
        stdin: What it is given to read.
        before: What is done first, in the folder that all commands share.
    """

    name: str
    line: str
    stdin: str = ""
    before: Callable[[Path], None] | None = None


_TF = ("TRUE", "FALSE")
_RUN = {
    "finforce": "run finforce --model $W --model $V --method zero-shot --method few-shot --shots 2 "
    "--draws 2 --judge $A --judge $B --judge-faults --limit 6 --with-published",
    "finforce-methods": "run finforce --model $W --method llms-for-cfs --method metacognitive "
    "--method counterfactual-distil --method least-to-most --judge $A --no-structured "
    "--data inputs/headlines.jsonl --seed 3 --temperature 0.5 --max-tokens 200",
    "finforce-unjudged": "run finforce --model $V --method few-shot --seed 4 --limit 5 "
    "--shots-from inputs/examples.jsonl --data inputs/headlines.csv",
    "finforce-many": "run finforce --model $W --method few-shot --draws 3 --judge $A",
    "detect": "run rfc-detect --model $W --model $V --method plain --method stepwise "
    "--method reflect --method majority --method surface "
    "--logprobs --limit 6",
    "detect-reasons": "run rfc-detect --model $W --rationale --shots 2 --draws 2 "
    "--limit 6",
    "detect-shots": "run rfc-detect --model $W --shots 8 --limit 8",
    "diagnose": "run rfc-diagnose --model $W --method plain --method stepwise "
    "--method reflect --method majority --method surface --logprobs --limit 12",
    "diagnose-reasons": "run rfc-diagnose --model $V --rationale --method plain "
    "--limit 8",
    "cobe": "run cobe --model $W --method plain --method few-shot --method abduct-act-predict "
    "--judge $A --judge $B --judge-context --limit 4",
    "cobe-drawn": "run cobe --model $V --model $W --judge $A --data synth/stories.json --limit 6 "
    "--no-structured --seed 2",
}  # fmt: skip


def _run_line(name: str) -> str:
    fluency = " --fluency-model none" if name.startswith("finforce") else ""
    return f"{_RUN[name]}{fluency} --out runs/{name}"


def all_steps() -> list[Step]:
    """Return the commands in the order in which they need each other."""
    groups = (_basics, _runs, _bulk, _exams, _people, _reports, _building, _reviews, _white_box)
    return [step for group in (*groups, _mistakes) for step in group()]


def _basics() -> Iterator[Step]:
    yield Step("basics/nothing", "")
    yield Step("basics/version", "--version")
    yield Step("basics/data-list", "data list")
    yield Step("basics/prompts", "prompts export prompts/pack")
    yield Step("basics/cobe-synth", "cobe synth --n 24 --seed 1 --out synth/stories.json")
    yield Step(
        "basics/cobe-synth-diamond",
        "cobe synth --n 6 --seed 2 --graph diamond --domain engineering --out synth/diamonds.json",
    )
    for name in ("headlines.csv", "odd.csv", "examples.jsonl"):
        yield Step(f"basics/check-{name}", f"data check inputs/{name}")
    yield Step("basics/check-stories", "data check synth/stories.json")
    yield Step("basics/check-stdin", "data check -", stdin='{"headline": "Mills close"}\n')


def _runs() -> Iterator[Step]:
    for name in _RUN:
        yield Step(f"estimate/{name}", f"{_run_line(name)} --estimate")
    yield Step("estimate/preset", "run finforce --preset finforce-paper --limit 20 --estimate")
    for name in _RUN:
        yield Step(f"run/{name}", _run_line(name))
    yield Step("run/again", _run_line("finforce"))
    yield Step("run/refused", _run_line("finforce").replace("--limit 6", "--limit 5"))
    yield Step(
        "run/failing",
        "run finforce --model $W --data inputs/doomed.jsonl --max-retries 0 --fluency-model none "
        "--out runs/failing",
    )
    yield Step(
        "run/own-pack",
        "run finforce --model $W --prompts prompts/pack --limit 2 --fluency-model none",
    )


def _bulk() -> Iterator[Step]:
    line = "generate inputs/odd.csv --model $W --max-connections 1 --out bulk/odd.csv"
    yield Step("generate/csv", line)
    yield Step("generate/again", line)
    yield Step(
        "generate/judged",
        "generate inputs/headlines.jsonl --method few-shot --shots 2 --seed 5 --model $V "
        "--judge $A --judge $B --max-connections 1 --out bulk/judged.jsonl",
    )
    yield Step(
        "generate/parquet",
        "generate inputs/headlines.json --method metacognitive --model $W --out bulk/pairs.parquet",
    )
    yield Step(
        "generate/stream",
        "generate - --model $W --max-connections 1 --no-structured --out -",
        stdin='{"headline": "Mills close"}\n{"headline": ""}\n{"headline": "Tin falls"}\n',
    )
    yield Step(
        "generate/failing",
        "generate inputs/doomed.jsonl --model $W --max-connections 1 --max-retries 0 "
        "--out bulk/doomed.jsonl",
    )


def _exams() -> Iterator[Step]:
    finforce = "exam --judge $A --judge $B --family finforce --n 140 --no-order --seed 1"
    yield Step("exam/finforce", f"{finforce} --out exams/finforce.json")
    yield Step("exam/finforce-alone", "exam --judge $A --n 140 --no-order --out exams/alone.json")
    yield Step("exam/finforce-again", f"{finforce} --out exams/finforce.json")
    yield Step(
        "exam/finforce-order",
        "exam --judge $B --n 30 --repeats 2 --no-structured --out exams/order.json",
    )
    yield Step(
        "exam/cobe",
        "exam --judge $A --judge $B --family cobe --n 60 --no-order --judge-context --seed 2 "
        "--out exams/cobe.json",
    )
    yield Step(
        "exam/cobe-data",
        "exam --judge $A --family cobe --data synth/stories.json --n 40 --out exams/data.json",
    )
    yield Step(
        "exam/cobe-long",
        "exam --judge $A --family cobe --n 120 --no-order --seed 3 --out exams/long.json",
    )
    yield Step("agree/wide", "agree inputs/wide.csv --reference majority --out agree/wide.json")
    yield Step("agree/long", "agree inputs/long.csv --categories 1,2,3 --out agree/long.json")
    yield Step("agree/counts", "agree inputs/counts.csv --count count --reference majority")
    yield Step(
        "agree/stdin",
        "agree - --rater ana --rater ben --seed 3",
        stdin="item,ana,ben,remarks\na,yes,yes,x\nb,No,no,y\nc,yes,no,z\nd,yes,,\n",
    )


def _filled(
    sheet: str, people: Sequence[str], *options: Sequence[str], item: str = ""
) -> Callable[[Path], None]:
    return lambda work: _fill_sheet(work / sheet, people, options, item)


def _people() -> Iterator[Step]:
    yield Step(
        "study/finforce-sample",
        "finforce study sample runs/finforce runs/finforce-methods --n 60 --seed 1 "
        "--out study/finforce/sheet.csv",
    )
    yield Step(
        "study/finforce-score",
        "finforce study score study/finforce/anna.csv study/finforce/ben.csv study/finforce/cy.csv "
        "--with-published --out study/finforce/figures",
        before=_filled(
            *("study/finforce/sheet.csv", ("anna", "ben", "cy")),
            *(_TF, ("yes", "no", "maybe"), ("", "1"), ("",), ("", "a remark")),
        ),
    )
    yield Step(
        "study/cobe-sample",
        "cobe study sample runs/cobe runs/cobe-drawn --n 40 --out study/cobe/sheet.csv",
    )
    yield Step(
        "study/cobe-score",
        "cobe study score study/cobe/ana.csv study/cobe/ben.csv study/cobe/cy.csv "
        "--with-published --out study/cobe/figures",
        before=_filled(
            *("study/cobe/sheet.csv", ("ana", "ben", "cy")),
            *(("Yes", "No", "Yes", "Other", "n"), ("a remark",)),
        ),
    )


def _reports() -> Iterator[Step]:
    exams = "--exam exams/finforce.json --exam exams/cobe.json"
    yield Step(
        "report/finforce",
        "report runs/finforce runs/finforce-methods runs/finforce-unjudged --with-published "
        "--out reports/finforce",
    )
    yield Step("report/one", "report runs/diagnose --with-published --out reports/diagnose")
    yield Step("report/shots", "report runs/detect runs/detect-shots --out reports/shots")
    yield Step(
        "report/all",
        f"report runs/finforce runs/detect runs/diagnose runs/cobe {exams} --with-published "
        "--out reports/all",
    )
    yield Step(
        "report/corrected",
        "report runs/finforce-many --exam exams/alone.json --out reports/corrected",
    )
    yield Step(
        "report/cobe",
        "report runs/cobe-drawn --exam exams/long.json --with-published --out reports/cobe",
    )
    yield Step(
        "report/labels",
        "report runs/finforce runs/finforce-methods --exam exams/finforce.json "
        "--labels study/finforce/figures/labels.csv --out reports/labels",
    )


def _building() -> Iterator[Step]:
    """Yield the stages from raw news to released sets."""
    yield from _news()
    yield from _screening()
    yield from _manipulations()
    yield Step(
        "cobe/augment",
        "cobe augment synth/stories.json --model $W --n 2 --seed 1 --out synth/variations.json",
    )


def _news() -> Iterator[Step]:
    service = "--pause 0 --base-url $URL"
    yield Step(
        "news/file",
        "news fetch file inputs/articles.csv inputs/more.jsonl inputs/titleless.jsonl "
        "--out news/all.jsonl",
    )
    yield Step(
        "news/rss", "news fetch rss $URL/feed.xml $URL/none.xml --pause 0 --out news/rss.jsonl"
    )
    yield Step("news/yahoo", f"news fetch yahoo BFX0 TWX1 {service} --out news/yahoo.jsonl")
    yield Step(
        "news/newsapi", f"news fetch newsapi revenue dividend --from 2025-01-01 --to 2025-04-18 "
        f"{service} --out news/newsapi.jsonl",
    )  # fmt: skip
    yield Step(
        "news/dedupe",
        "news dedupe news/all.jsonl --against inputs/background.jsonl --near 0.9 "
        "--out news/fresh.jsonl",
    )


def _screening() -> Iterator[Step]:
    yield Step("screen/rules", "finforce screen inputs/headlines.csv --out screen/rules.jsonl")
    yield Step(
        "screen/model",
        "finforce screen inputs/headlines.csv --model $W "
        "--against inputs/doomed.jsonl --out screen/model.jsonl",
    )
    yield Step(
        "screen/release",
        "finforce release screen/model.jsonl --decisions screen/anna.csv "
        "--decisions screen/ben.csv --unreviewed --name events --license CC-BY-4.0 "
        "--out screen/release",
        before=_filled(
            *("screen/model.jsonl.sheet.csv", ("anna", "ben")),
            *(("yes", "yes", "no", "unsure", ""), ("",), ("PERSON",), ("",), ("a note",)),
        ),
    )


def _manipulations() -> Iterator[Step]:
    yield Step("rfc/bucket", "rfc bucket inputs/articles.jsonl --out rfc/bucketed.jsonl")
    yield Step(
        "rfc/bucket-titles", "rfc bucket inputs/more.jsonl --titles-alone --out rfc/titles.jsonl"
    )
    yield Step("rfc/label", "rfc label rfc/bucketed.jsonl --out rfc/labelled.jsonl")
    yield Step(
        "rfc/label-model",
        "rfc label rfc/bucketed.jsonl --per-article one --model $W --out rfc/one.jsonl",
    )
    yield Step(
        "rfc/rewrite",
        "rfc rewrite rfc/labelled.jsonl --seed 7 --out rfc/pairs.jsonl",
    )
    for name, more in (
        ("model", ""),
        ("decoding", " --decoding inputs/decoding.toml"),
    ):
        yield Step(
            f"rfc/rewrite-{name}",
            f"rfc rewrite rfc/one.jsonl --model $W --attempts 2{more} --out rfc/by-{name}.jsonl",
        )
    yield Step("rfc/check", "rfc check rfc/pairs.jsonl --out rfc/checked.jsonl")
    yield Step("rfc/check-bad", "rfc check inputs/wrong/pairs.jsonl")
    yield Step(
        "rfc/calibrate",
        "rfc calibrate inputs/calibration.jsonl --coverage 0.9 --out rfc/bands.json",
    )
    yield Step("rfc/schema", "rfc finalize --schema")
    yield Step(
        "rfc/finalize-unreviewed",
        "rfc finalize rfc/pairs.jsonl --unreviewed keep --require ticker --out rfc/final.jsonl",
    )
    for name, more in (("", ""), ("-floor", " --audit-floor 0.1")):
        yield Step(
            f"rfc/finalize{name}",
            f"rfc finalize rfc/pairs.jsonl --decisions rfc/decisions.jsonl{more} "
            f"--out rfc/reviewed{name}.jsonl",
            before=_decisions,
        )
    yield Step(
        "rfc/release",
        "rfc release rfc/final.jsonl --name demo --license CC-BY-4.0 --date 2025-06-01 "
        "--out rfc/release",
    )
    yield Step("rfc/release-limit", "rfc release rfc/final.jsonl --max-auroc 0.5 --out rfc/no")
    yield Step(
        "rfc/hydrate",
        "rfc hydrate rfc/release/pairs.jsonl --news inputs/articles.jsonl --out rfc/again.jsonl",
    )
    yield Step("rfc/surface", "rfc surface rfc/pairs.jsonl --max-auroc 0.65 --out rfc/surface")
    stages = ("bucketed", "labelled", "pairs", "reviewed-floor")
    ledgers = " ".join(f"rfc/{stage}.jsonl.ledger.jsonl" for stage in stages)
    yield Step("rfc/ledger", f"rfc ledger {ledgers} --out rfc/ledger")
    yield Step("run/own-pairs", "run rfc-detect --model $W --method plain --method majority "
               "--data rfc/pairs.jsonl --limit 10 --out runs/own-pairs")  # fmt: skip
    answers: dict[str, tuple[Sequence[str], ...]] = {
        "agreement": (_TF, ("pass", "fail", ""), ("",)),
        "detect": (_TF, ("",)),
        "diagnose": (("numerical", "flipping", "sentiment", "causal", "none"), ("",)),
    }
    for kind, options in answers.items():
        folder = f"study/{kind}"
        yield Step(
            f"study/{kind}-sample",
            f"rfc study sample rfc/pairs.jsonl --kind {kind} --n 8 --out {folder}/sheet.csv",
        )
        yield Step(
            f"study/{kind}-score",
            f"rfc study score {folder}/ann.csv {folder}/ben.csv --with-published "
            f"--out {folder}/figures.csv",
            before=_filled(f"{folder}/sheet.csv", ("ann", "ben"), *options),
        )


def _decisions(work: Path) -> None:
    """Write what people decided on the pairs: an audit, two annotators, an arbiter."""
    rows = []
    for number, line in enumerate((work / "rfc/pairs.jsonl").read_text("utf-8").splitlines()):
        made = [("annotation", who, "pass") for who in ("ann", "ben")]
        if number % 5 == 1:
            made = [("annotation", "ann", "pass"), ("annotation", "ben", "fail"),
                    ("secondary-review", "bo", "fail" if number % 2 else "pass")]  # fmt: skip
        if number % 7 == 2:
            made = [("annotation", who, "mis-category") for who in ("ann", "ben")]
        if number % 6 == 3:
            made = made[:1]
        if number % 3 == 0:
            made.append(("audit", "eve", "fail" if number % 4 == 0 else "pass"))
        rows += [
            {
                "item_id": json.loads(line)["id"],
                "stage": stage,
                "decided_by": who,
                "decision": decision,
                "when": "2025-01-12T09:30:00Z",
                "why": "so it seems" if decision == "fail" else "",
                **({"inclusion_probability": 0.33} if stage == "audit" else {}),
            }
            for stage, who, decision in made
        ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (work / "rfc/decisions.jsonl").write_text(text, encoding="utf-8")


def _reviews() -> Iterator[Step]:
    for name in ("", " rfc-rewrite", " headline-screening", " judge-agreement", " cobe-rating"):
        yield Step(f"review/project{name.replace(' ', '-')}", f"review project{name}")
    db = "--db review/review.db --review edits"
    raters = " ".join(f"--person {name}=rater" for name in ("Ana", "Ben", "Cy"))
    yield Step(
        "review/import-edits",
        f"review import runs/cobe/items.parquet --project cobe-rating {raters} {db}",
        before=lambda work: (work / "review").mkdir(),
    )
    yield Step(
        "review/export-items", f"review export --what items --out review/edits/items.jsonl {db}"
    )
    yield from _recorded()
    team = " ".join(
        f"--person {one}"
        for one in ("Ada=expert-a", "Ben=expert-b", "Cem=annotator", "Eve=strict-annotator")
    )
    other = "--db review/review.db --review pairs"
    yield Step(
        "review/import-pairs", f"review import rfc/pairs.jsonl --project rfc-rewrite {team} {other}"
    )
    for name, source in (("headline-screening", "screen/model.jsonl"),
                         ("judge-agreement", "runs/finforce/items.parquet")):  # fmt: skip
        yield Step(
            f"review/import-{name}",
            f"review import {source} --project {name} --db review/review.db --review {name}",
        )
        yield Step(
            f"review/export-{name}",
            f"review export --what items --db review/review.db --review {name} "
            f"--out review/{name}.jsonl",
        )
    yield Step(
        "review/export-pairs", f"review export --what history --out review/pairs.csv {other}"
    )
    yield Step("review/prove-pairs", f"review prove {other}")
    yield Step("review/invite", "review invite Ada --db review/review.db --role manager")
    yield from _planning()


def _recorded() -> Iterator[Step]:
    """Yield what comes out of reviews that people have decided."""
    first: Callable[[Path], None] | None = _recorded_studio
    for project in ("rfc-rewrite", "rfc-rewrite-three", "headline-screening", "judge-agreement",
                    "cobe-rating"):  # fmt: skip
        for review in (f"{project} quiet", f"{project} busy"):
            db, name = f"--db review/recorded.db --review '{review}'", review.replace(" ", "-")
            for what, form in (("decisions", "jsonl"), ("items", "csv"), ("ratings", "csv"),
                               ("sheet", "csv"), ("history", "jsonl")):  # fmt: skip
                out = f"review/{name}-{what}.{form}"
                line = f"review export --what {what} --out {out} {db}"
                yield Step(f"review/{name}-{what}", line, before=first)
                first = None
            yield Step(f"review/{name}-prove", f"review prove {db}")
            yield Step(f"review/{name}-residual", f"review residual {db} --out review/{name}.json")
            yield Step(f"review/{name}-figures", f"review figures {db} --out review/{name}-figures")
            plan = f"--figure residual --budget 2 --out review/{name}-audit.jsonl"
            yield Step(f"review/{name}-audit", f"review plan {db} {plan}")
    ratings = "review/cobe-rating-quiet-ratings.csv"
    yield Step("review/agree", f"agree {ratings} --out review/agree.json")


def _planning() -> Iterator[Step]:
    items, plan = "inputs/items.csv", "review plan inputs/items.csv"

    def labelled(*plans: str) -> Callable[[Path], None]:
        paths = [f"review/plan/{name}.csv" for name in plans]
        return lambda work: _labels_of_plan(
            [work / path for path in paths], work / items, work / "review/plan/labels.csv"
        )

    yield Step(
        "plan/one",
        f"{plan} --judge verdict --by system --figure ranking --figure rate --budget 30 "
        "--hide human --hide score --seed 1 --out review/plan/one.csv",
    )
    yield Step(
        "plan/two",
        f"{plan} --labels review/plan/labels.csv --earlier review/plan/one.key.csv --budget 30 "
        "--hide human --out review/plan/two.csv",
        before=labelled("one"),
    )
    yield Step(
        "plan/estimate",
        "review estimate review/plan/two.key.csv --labels review/plan/labels.csv "
        "--out review/plan/figures.json",
        before=labelled("one", "two"),
    )
    yield Step(
        "plan/gain", f"{plan} --judge score --budget 20 --simulate 8 --parts 2 --truth human"
    )


def _white_box() -> Iterator[Step]:
    """Yield what computes with weights, those of a small random model."""
    model = "--model whitebox/./weights"
    yield Step(
        "white-box/fluency",
        "run finforce --model $W --judge $A --limit 6 --with-published --fluency-model weights "
        "--out runs/fluency",
        before=_make_small_model,
    )
    yield Step(
        "white-box/held-noise",
        f"run finforce {model} --method lm-counterfactuals:max-tokens=40 "
        "--method lm-counterfactuals:noise=fresh,max-tokens=40 --limit 4 --fluency-model none "
        "--out runs/held-noise",
    )
    yield Step(
        "white-box/exam",
        "exam --judge whitebox/./weights --family cobe --n 6 --no-order --max-connections 1 "
        "--out exams/white-box.json",
    )
    whatif = "whatif --model weights --factual-prompt Up? --counterfactual-prompt Down?"
    yield Step(
        "white-box/whatif",
        f"{whatif} --text 'Aldmoor gains 3%' --samples 3 --max-tokens 30 --out white/whatif.jsonl",
    )
    yield Step("white-box/whatif-fresh", f"{whatif} --samples 2 --noise fresh --top-p 0.9 --seed 4")
    yield Step("white-box/train", "train srlm inputs/srlm.yaml --out white/srlm")


def _make_small_model(work: Path) -> None:
    code = "import sys, pathlib, golden_inputs as g; g.save_small_model(pathlib.Path(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", code, str(work / "weights")],
        cwd=Path(__file__).parent,
        stderr=subprocess.DEVNULL,
        check=True,
    )


_MISTAKES = """
nonsense
--nope
data
demo more
demo --out
demo --headlines 0
run
run nosuch --model $W
run finforce
run finforce --model $W --data none.json
run finforce --model $W --data inputs/wrong/nohead.jsonl
run finforce --model $W --data inputs/wrong/broken.jsonl
run finforce --model $W --data -
run finforce --model $W --method nosuch
run finforce --model $W --method few-shot --shots 0
run finforce --model $W --preset nosuch
run finforce --model $W --draws 3
run finforce --model nosuch/model
run finforce --model openai/gpt-4o
run finforce --model embedded/./inputs/wrong/notes.gguf
run finforce --model $W -M bad
run rfc-detect --model $W --shots 3
run rfc-detect --model $W --data inputs/wrong/nohead.jsonl
run rfc-detect --model $W --judge $A
run rfc-diagnose --model $W --shots 2
run rfc-diagnose --method coherent
run cobe --model $W --data inputs/wrong/nohead.jsonl
report
report none
report inputs/wrong/folder
report runs/finforce --exam none.json
report runs/finforce --labels inputs/wide.csv --out reports/wrong
report runs/detect --exam exams/finforce.json --out reports/wrong
generate inputs/headlines.csv --model $W
generate none.csv --model $W --out o.csv
generate inputs/headlines.csv --model $W --out o.xlsx
generate inputs/wrong/wide.csv --model $W --out o.csv
exam --judge $A
exam --judge nosuch/x --out o.json
exam --judge $A --family finforce --judge-context --out o.json
agree inputs/wrong/broken.jsonl
agree inputs/wide.csv --reference nobody
agree inputs/wide.csv --out o.txt
whatif --model M
whatif --model M --factual-prompt a
whatif --model none/ --factual-prompt a --counterfactual-prompt b --text c
data list more
data list --nope
data lisst
data fetch
data fetch nosuch
data fetch cobe
data check none
data check inputs/wrong/folder
data check inputs/wrong/empty.jsonl
data check inputs/headlines.csv --schema nosuch
data check inputs/headlines.csv --schema cobe
cobe synth --n 5
cobe synth --n 0 --out o.json
cobe synth --n 5 --out o.json --graph nosuch
cobe augment none.json --model $W --out o.json
cobe augment inputs/wrong/nohead.jsonl --model $W --out o.json
cobe augment synth/stories.json --model $W --out o.txt
cobe study sample
cobe study sample none --out o.csv
cobe study sample runs/detect --out o.csv
cobe study score
cobe study score none.csv
cobe study score inputs/wrong/wide.csv --key none.csv
finforce screen none.csv --out o.jsonl
finforce screen inputs/wrong/broken.jsonl --out o.jsonl
finforce screen inputs/wrong/nohead.jsonl --out o.jsonl
finforce release inputs/headlines.jsonl --unreviewed --out o
finforce release screen/rules.jsonl --out o
finforce release screen/rules.jsonl --decisions inputs/wide.csv --out o
finforce study sample
finforce study sample none --out s.csv
finforce study sample runs/finforce-unjudged --out s.csv
finforce study score
finforce study score none.csv
finforce study score inputs/wrong/wide.csv --key none.csv
news fetch nosuch --out o.jsonl
news fetch file none.csv --out o.jsonl
news fetch rss not-an-address --out o.jsonl
news fetch newsapi x --from 2025-99-01 --out o.jsonl
news dedupe none.jsonl --out o.jsonl
news dedupe inputs/wrong/utf16.jsonl --out o.jsonl
news dedupe inputs/articles.jsonl --out inputs/articles.jsonl
prompts export
prompts export inputs/wrong/folder
prompts export inputs/wrong/news.jsonl/pack
rfc bucket none.jsonl --out o.jsonl
rfc bucket inputs/wrong/broken.jsonl --out o.jsonl
rfc bucket inputs/wrong/folder --out o.jsonl
rfc label none.jsonl --out o.jsonl
rfc label inputs/articles.jsonl --out o.jsonl
rfc label rfc/bucketed.jsonl --per-article some --out o.jsonl
rfc rewrite none.jsonl --out o.jsonl
rfc rewrite rfc/labelled.jsonl --out o.jsonl --decoding inputs/decoding.toml
rfc rewrite rfc/labelled.jsonl --out o.jsonl --judge x/y
rfc check none.jsonl
rfc check inputs/wrong/broken.jsonl --out o.jsonl
rfc check inputs/wrong/nohead.jsonl
rfc calibrate none.jsonl
rfc calibrate rfc/pairs.jsonl
rfc calibrate inputs/calibration.jsonl --coverage 2
rfc finalize none.jsonl --out o.jsonl
rfc finalize rfc/pairs.jsonl --decisions inputs/wide.csv --out o.jsonl
rfc finalize rfc/pairs.jsonl --decisions rfc/decisions.jsonl --out rfc/pairs.jsonl
rfc release none.jsonl --out o
rfc release inputs/articles.jsonl --out o
rfc release rfc/final.jsonl --version one --out o
rfc hydrate none.jsonl --news none.jsonl --out o.jsonl
rfc hydrate inputs/headlines.jsonl --news inputs/headlines.jsonl --out o.jsonl
rfc hydrate rfc/release/pairs.jsonl --news none.jsonl --out o.jsonl
rfc ledger none.jsonl
rfc ledger inputs/articles.jsonl
rfc ledger rfc/pairs.jsonl.ledger.jsonl --level 2
rfc surface none.jsonl --out o
rfc surface inputs/wrong/nohead.jsonl --out o
rfc surface rfc/pairs.jsonl --max-auroc 2 --out o
rfc study sample none.jsonl --out o.csv
rfc study sample rfc/pairs.jsonl --kind nosuch --out o.csv
rfc study sample rfc/pairs.jsonl --out o.txt
rfc study score
rfc study score none.csv
review project nosuch
review project inputs/wrong/project.toml
review project --nope
review import
review import inputs/wrong/news.jsonl
review import inputs/wrong/news.jsonl --project nosuch
review import rfc/pairs.jsonl --project cobe-rating --review wrong --db review/wrong.db
review export
review export --out o.jsonl
review export --db review/review.db --review pairs --what labels --out o.csv
review prove
review prove --db review/review.db --review nosuch
review prove more
review serve --port 99999
review serve --host 0.0.0.0
review serve --db sqlite:///none/none.db
review invite
review invite Ann --db sqlite:///none/none.db
review invite Ann --role annotator
review plan
review plan --budget 0
review plan inputs/items.csv --budget 5
review plan inputs/items.csv --budget 500 --out o.csv
review plan inputs/items.csv --figure ranking --budget 5 --out o.csv
review estimate
review estimate review/plan/one.key.csv --labels none.csv
review estimate inputs/wide.csv --labels review/plan/labels.csv
review residual
review residual --db review/review.db --review pairs
review residual more
train srlm
train srlm nosuch
train srlm tiny --iterations 0
"""


def _mistakes() -> Iterator[Step]:
    for line in _MISTAKES.split("\n"):
        if line:
            name = re.sub(r"[^\w.-]+", "-", line).strip("-")
            yield Step(f"wrong/{name}", line)
