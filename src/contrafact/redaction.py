"""Keep keys and passwords out of everything that is written, logged or shown.

In settings, a secret is recognised by its name (``api_key``), by its place (any header, any
parameter of a query) or as a part of an address. `without_secrets` and `secrets_dropped` remove
secrets and remember their values; `redacted` removes these, and the environment's, from any text.
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
"""Names of mappings whose values may all be secrets, whatever their keys."""
_COUNTS = {"max_tokens", "reasoning_tokens"}
_IN_ENVIRONMENT = re.compile(r"SECRET|PASSWORD|CREDENTIAL")
_MADE_IN_ENVIRONMENT = re.compile(r"KEY|TOKEN")
"""Names for generated values, so that a plain word under such a name (``KEYMAP``) is no secret."""

_ADDRESS = re.compile(r"([A-Za-z][\w+.-]*://)([^\s\"'<>]+)")
_USERINFO = re.compile(r"(?<=://)[^/@\s\"'<>]+:[^/\s\"'<>]*@")
_KNOWN_PATH = re.compile(
    r"v\d+\w{0,6}|api|apis|openai|anthropic|google|chat|completions|compat|compatible-mode|models?|"
    r"inference|engines?|llm|ai|proxy|gateway|serve|serverless|paas|beta|rest|public|endpoints?",
    re.IGNORECASE,
)
"""Parts of a path that are not secret; any other part may be."""
_NAME = re.compile(r"(?!(?:sk|pk|rk|key|token)[-_])\w{1,12}(?:[-.:]\w{1,12})*")
"""Parts that look like the name of a model or a server rather than a key."""
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
"""Values in the path or query of an address that look like a key, whatever their name."""
_SHORTEST = 8
"""The length of the shortest secret removed from texts; settings drop shorter ones too."""

_values: set[str] = set()
_public: set[str] = set()


def secrets_dropped(value: Any) -> Any:
    """Return settings without values that look like secrets, so that another key changes nothing.

    Parts of an address's path that look like names are kept, since they distinguish servers.
    Settings to be written must go through `without_secrets` first.
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
    """Return whether a value is a secret, judged by its name; remember the secret."""
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
    """Return an address without its possible secrets, and the list of these."""
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
    """Return an address with placeholders for its secrets; add these to ``hidden``.

    Secrets are user and password, query parameters with a secret's name, and values in path or
    query that look like a key. The rest is kept, since it distinguishes feeds, except the fragment,
    which is never sent.

    Args:
        hidden: Secrets by their placeholders; a secret that is already there keeps its own.
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
    """Return the forms of a secret in texts; empty if it may be an ordinary word or date."""
    found = set()
    for one in (secret, *re.split(r"[\s;,]+|(?<=\w)=(?=[^=])", secret)):
        likely = re.search("[A-Za-z]", one) and re.search("[0-9]", one)
        if len(one) >= _SHORTEST and (certain or likely or len(one) >= 20):
            found |= {one, unquote(one), quote(one), quote(one, safe=""), json.dumps(one)[1:-1]}
    return frozenset(found)


def make_public(text: str) -> None:
    """Allow a text to be shown, such as a model's name, even if a secret's setting holds it."""
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
    """Remove secrets from all log records of all libraries from now on."""
    make = logging.getLogRecordFactory()
    if getattr(make, "redacts", False):
        return

    def record(*args: Any, **options: Any) -> logging.LogRecord:
        made = make(*args, **options)
        try:
            text = made.getMessage()
        except (TypeError, ValueError):  # arguments that do not fit, which logging reports
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
