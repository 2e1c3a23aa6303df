"""Keys and passwords: what is written down, logged or shown has none of them.

Among settings a secret is known by its name (``api_key``), by where it stands (any header, any
parameter of a query) or as a part of an address. `without_secrets` and `secrets_dropped` take them
out, and remember their values; `redacted` takes those, and the environment's, out of any text.
"""

import base64
import json
import logging
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

__all__ = [
    "LEFT_OUT",
    "hide_in_address",
    "keep_out_of_logs",
    "make_public",
    "redacted",
    "secrets_dropped",
    "without_secrets",
]

LEFT_OUT = "(left out)"
_SECRET = re.compile(
    r"key|token|secret|passw|passphrase|pwd|credential|auth(?!or(?!iz))|bearer|cookie",
    re.IGNORECASE,
)
_ALL_SECRET = re.compile(r"header|query|params|cookies", re.IGNORECASE)
"""Names of mappings of which every value may be a secret, whatever it is called."""
_COUNTS = {"max_tokens", "reasoning_tokens"}
_IN_ENVIRONMENT = re.compile(r"SECRET|PASSWORD|CREDENTIAL")
_MADE_IN_ENVIRONMENT = re.compile(r"KEY|TOKEN")
"""What programs make, so that a word under such a name (``KEYMAP``) is none of them."""

_ADDRESS = re.compile(r"([A-Za-z][\w+.-]*://)([^\s\"'<>]+)")
_USERINFO = re.compile(r"(?<=://)[^/@\s\"'<>]+:[^/\s\"'<>]*@")
_KNOWN_PATH = re.compile(
    r"v\d+\w{0,6}|api|apis|openai|anthropic|google|chat|completions|compat|compatible-mode|models?|"
    r"inference|engines?|llm|ai|proxy|gateway|serve|serverless|paas|beta|rest|public|endpoints?",
    re.IGNORECASE,
)
"""Parts of a path that are no secret; any other may be one."""
_NAME = re.compile(r"(?!(?:sk|pk|rk|key|token)[-_])\w{1,12}(?:[-.:]\w{1,12})*")
"""Parts that look like the name of a model or of a server, and not like a key."""
_VERSION = re.compile(r"(?:api-)?version=[\w.-]+", re.IGNORECASE)
_BY_FLAG = re.compile(
    r"((?:key|token|secret|password|authorization)[\"']?(?:\s*[=:]\s*|\s+)[\"']?"
    r"(?:(?:bearer|basic)\s+)?)([^\s\"',;&]{8,})",
    re.IGNORECASE,
)
_MADE = re.compile(
    r"(?=\w*\d)(?=\w*[A-Za-z])\w{20,}|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    re.IGNORECASE,
)
"""What looks like a key in the path or the query of an address, whatever it is called."""
_SHORTEST = 8
"""Characters: shorter values are left out of settings, and not looked for in texts."""

_values: set[str] = set()
_public: set[str] = set()


def secrets_dropped(value: Any) -> Any:
    """Return settings without what looks like a secret, so that another key changes nothing.

    The path of an address tells servers apart: its parts stay that look like names. What is written
    down goes through `without_secrets` first.
    """
    if isinstance(value, dict):
        return {
            key: secrets_dropped(item)
            for key, item in value.items()
            if item is None or not _is_secret(str(key), item)
        }
    if isinstance(value, list | tuple):
        return [secrets_dropped(item) for item in value]
    if not isinstance(value, str):
        return value
    return _ADDRESS.sub(lambda found: _without_address(*found.groups(), names=True)[0], value)


def without_secrets(value: Any, name: str = "") -> Any:
    """Return settings with everything that looks like a secret replaced by ``(left out)``."""
    if isinstance(value, dict):
        inner = name if _names_secret(name) else ""
        return {key: without_secrets(item, inner or str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(item, name) for item in value]
    if value is not None and _is_secret(name, value):
        return LEFT_OUT
    if not isinstance(value, str):
        return value
    return _BY_FLAG.sub(_flag_left_out, _ADDRESS.sub(_address_left_out, value))


def _names_secret(name: str) -> bool:
    return name not in _COUNTS and bool(_SECRET.search(name) or _ALL_SECRET.search(name))


def _is_secret(name: str, value: Any) -> bool:
    """Tell whether a value is a secret, which is remembered, by its name."""
    if not _names_secret(name):
        return False
    if isinstance(value, dict | list | tuple):
        without_secrets(value, name)
    elif isinstance(value, str):
        _remember(value, certain=_SECRET.search(name) is not None)
    return True


def _flag_left_out(found: re.Match[str]) -> str:
    _remember(found[2])
    return f"{found[1]}{LEFT_OUT}"


def _address_left_out(found: re.Match[str]) -> str:
    shown, secrets = _without_address(*found.groups())
    for secret in secrets:
        _remember(secret, certain=False)
    return shown


def _without_address(scheme: str, rest: str, *, names: bool = False) -> tuple[str, list[str]]:
    """Return an address without what may be a secret, and what may be one."""
    place, hash_, fragment = rest.partition("#")
    place, mark, query = place.partition("?")
    host, slash, path = place.partition("/")
    user, _, host = host.rpartition("@")
    secrets = [user, *user.split(":", 1)[1:], fragment]
    if ":" in user:
        secrets.append(base64.b64encode(unquote(user).encode()).decode())
    parts = path.split("/")
    for n, part in enumerate(parts):
        if part and not _KNOWN_PATH.fullmatch(part) and not (names and _NAME.fullmatch(part)):
            secrets.append(part)
            parts[n] = LEFT_OUT
    fields = query.split("&") if query else []
    for n, one in enumerate(fields):
        key, equals, value = one.partition("=")
        if not _VERSION.fullmatch(one):
            secrets.append(value or key)
            fields[n] = f"{key}={LEFT_OUT}" if equals else LEFT_OUT
    shown = scheme + host + slash + "/".join(parts) + mark + "&".join(fields)
    return shown + hash_ + (LEFT_OUT if fragment else ""), [one for one in secrets if one]


def hide_in_address(address: str, hidden: dict[str, str]) -> str:
    """Return an address as it may be kept, with stand-ins for its secrets; add these to ``hidden``.

    Secrets are user and password, a parameter of the query that is named so, and what looks like a
    key in path or query. All else stays, since it tells one feed from another, but the fragment,
    which is never sent.

    Args:
        hidden: Secrets by their stand-ins; a secret that is there already keeps its stand-in.
    """

    def stand_in(secret: str) -> str:
        known = {value: name for name, value in hidden.items()}
        number = f"-{len(hidden) + 1}" if hidden else ""
        name = known.get(secret, f"(left-out{number})")
        hidden[name] = secret
        _remember(secret)
        return name

    def without(text: str, named: str = "") -> str:
        secret = _SECRET.search(named) and "keyword" not in named.lower()
        return stand_in(text) if text and (secret or _MADE.search(text)) else text

    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    _remember(user.partition(":")[2])
    fields = []
    for one in parts.query.split("&"):
        name, equals, value = one.partition("=")
        fields.append(f"{name}={without(value, name)}" if equals else without(one))
    path = "/".join(map(without, parts.path.split("/")))
    netloc = f"{stand_in(user)}{at}{host}" if user else parts.netloc
    return urlunsplit((parts.scheme, netloc, path, "&".join(fields), ""))


def _remember(secret: str, *, certain: bool = True) -> None:
    _values.update(_forms(secret, certain))


@cache
def _forms(secret: str, certain: bool) -> frozenset[str]:
    """Return how a secret may stand in a text; nothing where it may as well be a word or a date."""
    found = set()
    for one in (secret, *re.split(r"[\s;,]+|(?<=\w)=(?=[^=])", secret)):
        likely = re.search("[A-Za-z]", one) and re.search("[0-9]", one)
        if len(one) >= _SHORTEST and (certain or likely or len(one) >= 20):
            found |= {one, unquote(one), quote(one), quote(one, safe=""), json.dumps(one)[1:-1]}
    return frozenset(found)


def make_public(text: str) -> None:
    """Let a text be shown, such as a model's name, though a setting of a secret may hold it."""
    _public.add(text)


@cache
def _in_environment(name: str, value: str) -> frozenset[str]:
    if _IN_ENVIRONMENT.search(name.upper()):
        return _forms(value, certain=True)
    if _MADE_IN_ENVIRONMENT.search(name.upper()):
        return _forms(value, certain=not value.isalpha())
    found: set[str] = set()
    if "://" in value and re.search("URL|URI|BASE|ENDPOINT|PROXY|HOST", name.upper()):
        for scheme, rest in _ADDRESS.findall(value):
            for secret in _without_address(scheme, rest)[1]:
                found |= _forms(secret, certain=False)
    return frozenset(found)


def _known() -> Iterator[str]:
    yield from _values
    for name, value in os.environ.items():
        yield from _in_environment(name, value)


def redacted(text: str) -> str:
    """Return a text without the secrets of settings and of the environment."""
    found = {one for one in _known() if one in text and not any(one in name for name in _public)}
    for secret in sorted(found, key=len, reverse=True):
        text = text.replace(secret, LEFT_OUT)
    return _USERINFO.sub("", text)


def keep_out_of_logs() -> None:
    """Let every record of a log, of whatever library, be without secrets from here on."""
    make = logging.getLogRecordFactory()
    if getattr(make, "redacts", False):
        return

    def record(*args: Any, **options: Any) -> logging.LogRecord:
        made = make(*args, **options)
        try:
            text = made.getMessage()
        except (TypeError, ValueError):  # arguments that do not fit: logging tells
            return made
        if (shown := redacted(text)) != text:
            made.msg, made.args = shown, ()
        if made.exc_info:
            trace = logging.Formatter().formatException(made.exc_info)
            if (shown := redacted(trace)) != trace:
                made.exc_info, made.exc_text = None, shown
        return made

    record.redacts = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(record)
