"""Handling of model services' failures: empty answers, refused requests, and waits.

Inspect retries errors that its providers call transient, and keeps the outputs that they return.
`guard` adds:

- A reply without a choice, or one that its provider cannot read (an error in a 200, a body without
  end), is a failed call with the service's own words. It is tried again, and never kept.
- A refusal by the provider's content filter becomes an answer that says so, whatever its status.
- A service that rejects a JSON schema, a temperature of 0 or log-probabilities with a status of
  400 to 499 gets all later requests without them.
- A used-up quota stops every further call of the model at once.
- A pause that the service asks for is observed and shown; if it exceeds the time limit of the
  call, the call ends, as it does when a reply takes too long.
- The client's own retries are off, so that ``max_retries`` is exact and limits count each try.
- ``max_connections`` limits the calls to a service, all its models together.
- An answer is kept before its call releases its connection (`contrafact.models.calls`).
- Only the provider sees secrets in the address; they are removed from replies and errors.
- A warning is shown if the service reports far fewer prompt tokens than the prompt has words: it
  has cut the prompt.
"""

import json
import random
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import anyio
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelAPI, ModelOutput

from contrafact.console import say_once
from contrafact.models.bodies import Body, ReplyTooLongError, bodies, watch
from contrafact.models.calls import Tries, current_tries, is_cut, keep_answer
from contrafact.models.private import clean_error, cleaned, keep_private
from contrafact.redaction import redacted, without_secrets
from contrafact.text.delimit import printable, shorten

_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing_hard_limit|out of credits"
)
_FILTER = re.compile(
    r"content[ _-]?(?:filter|management|polic)|content exists risk|responsible ?ai"
    r"|safety (?:system|polic|filter|settings)|moderation|flagged|data_?inspection"
    r"|(?:inappropriate|sensitive|unsafe|harmful|prohibited)[ _]?content|considered high risk"
    r"|violates? (?:\w+ ){0,3}(?:guidelines|polic)|guardrail|敏感|不安全",
    re.IGNORECASE,
)
_MAY_BE_FILTERED = (200, 400, 403, 422, 451)

_FIELDS = {
    "temperature": ("temperature",),
    "JSON schema": ("response_schema",),
    "log-probabilities": ("logprobs", "top_logprobs"),
}
"""Features of a request that a service may not support, with the settings that request them."""
_LACKING = {
    "temperature": r"temperature",
    "JSON schema": r"response.?(?:format|schema|mime)|schema|json.?(?:object|mode)|structured"
    r"|grammar|guided|output.?(?:config|format)",
    "log-probabilities": r"log.?prob",
}
_REFUSED = (400, 404, 405, 415, 422)

_FIRST, _SOON, _LONGEST = 3.0, 2.0, 1_800.0
"""Seconds until the first retry; the longest wait after a reply without an answer; the longest."""
_SHOWN_FROM = 5.0
"""Seconds; shorter waits are not shown."""
_KEPT_WORDS = 2_000
"""Characters of an error that are kept."""

_UNREADABLE = (TypeError, AttributeError, LookupError, ValueError, RecursionError, AssertionError)
"""The errors that providers raise if they cannot read a reply."""


class NoAnswer(RuntimeError):
    """The service replied without an answer."""


def guard(model: Model, arguments: Mapping[str, Any] | None = None) -> Model:
    """Return a model whose service is handled as described above; it stays so.

    No secret in the arguments it was opened with is written to a file. Opening it again (Inspect
    returns the same instance) allows calls again after a used-up quota.
    """
    model = keep_private(model, arguments or {})
    api = model.api
    if isinstance(api, _Guarded):
        api.used_up = None
        return model
    # The instance keeps its state, and the base class its name in Inspect's registry.
    api.__class__ = type(type(api).__name__, (_Guarded, type(api)), {})
    assert isinstance(api, _Guarded)
    api.watch(str(model), model.config)
    return model


_UNREACHED = re.compile(r"APIConnectionError|Connect(?:Error|Timeout)")
"""Names of errors of clients that reached no server."""


def is_service(model: Model) -> bool:
    """Return whether a model is one of a service, guarded by `guard`."""
    return isinstance(getattr(model, "api", None), _Guarded)


_asking: ContextVar[bool] = ContextVar("_asking", default=False)


@contextmanager
def _known_address() -> Iterator[None]:
    """Let the provider see the whole address."""
    token = _asking.set(True)
    try:
        yield
    finally:
        _asking.reset(token)


class _Guarded(ModelAPI):
    """A mixin that comes before the provider's class."""

    def watch(self, name: str, config: GenerateConfig) -> None:
        self._watched, self._time_of_call = name, config.timeout
        self._bounded = config.max_connections is not None
        self.used_up: str | None = None
        self._shown_until = 0.0
        self._lacks: set[str] = set()
        self._watch_client()

    @property
    def base_url(self) -> str | None:
        """The address; only the provider sees it with secrets."""
        address: str | None = vars(self).get("base_url")
        return address if _asking.get() else without_secrets(address)

    @base_url.setter
    def base_url(self, address: str | None) -> None:
        vars(self)["base_url"] = address

    def initialize(self) -> None:
        """See Inspect's `ModelAPI`, which creates a new client here."""
        with _known_address():
            super().initialize()
        self._watch_client()

    def _watch_client(self) -> None:
        client: Any = getattr(self, "client", None)
        if isinstance(getattr(client, "max_retries", None), int):
            client.max_retries = 0
        # Providers without an attribute for their HTTP client keep it where Inspect's hooks find
        # it.
        http: Any = getattr(self, "http_client", None) or getattr(client, "_client", None)
        if isinstance(getattr(http, "event_hooks", None), dict):
            watch(http)

    def model_client(self, *options: Any, **named: Any) -> Any:
        """See Inspect's provider of Google's models, which creates a client for each call."""
        for given in options:
            if getattr(given, "httpx_async_client", "none") is None:
                import httpx

                once = httpx.Limits(max_keepalive_connections=0)  # nobody closes it
                given.httpx_async_client = httpx.AsyncClient(follow_redirects=True, limits=once)
                watch(given.httpx_async_client)
        return super().model_client(*options, **named)  # type: ignore[misc]

    async def generate(
        self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: GenerateConfig
    ) -> Any:
        """Return the provider's output; `NoAnswer` if it has no answer or the quota is used up."""
        if self.used_up is not None:
            raise NoAnswer(self.used_up)
        tries = current_tries.get() or Tries()
        tries.begin()
        refusals: dict[str, str] = {}
        while True:
            asked = without(config, {*self._lacks, *refusals})
            replies: list[Body] = []
            try:
                made = await self._reply(replies, tries, input, tools, tool_choice, asked)
            except Exception as raised:  # noqa: BLE001 (raised or returned, as providers differ)
                made = (raised,)
            output, *call = made if isinstance(made, tuple) else (made,)
            if not isinstance(output, Exception):
                break
            words = _error_words(replies)
            if replies and replies[-1].status in _MAY_BE_FILTERED and _FILTER.search(words):
                made = output = ModelOutput.from_content(
                    self.model_name, words, stop_reason="content_filter"
                )
                break
            refused = bool(replies) and replies[-1].status in _REFUSED
            if not refused or (name := lacking(words, asked)) is None:
                _say_why(output, replies, asked)
                if not replies and _UNREACHED.search(type(output).__name__):
                    client = getattr(getattr(self, "client", None), "base_url", None)
                    where = (
                        self.base_url or without_secrets(client and str(client)) or "the service"
                    )
                    words = f"no connection to {where}: is the server up? ({_text_of(output)})"
                    output = NoAnswer(words[:_KEPT_WORDS])
                    made = (output, *call)
                if not call:
                    raise output
                return made
            refusals[name] = words
        for name, words in refusals.items():
            self._lacks.add(name)
            why = shorten(printable(words), 200)[0]
            say_once(f"{self._watched} does not accept {name}, now left out ({why})")
        if is_cut(input, output):
            say_once(f"{self._watched}: reports far fewer prompt tokens than words were sent")
        return made

    async def _reply(self, replies: list[Body], tries: Tries, *asked: Any) -> Any:
        """Return the provider's output for one request, within the call's remaining time.

        Raises:
            NoAnswer: If the reply cannot be read, has no choice, or does not end in time.
        """
        limit = self._time_of_call
        left = None if limit is None else limit - tries.seconds
        token = bodies.set(replies)
        try:
            with anyio.move_on_after(left) as scope:
                made = await self._provided(*asked)
                output = made[0] if isinstance(made, tuple) else made
                if isinstance(output, ModelOutput):
                    if not output.choices:
                        raise NoAnswer(_words(replies, output.error or "no choices"))
                    if replies and replies[-1].status >= 400:
                        output.choices[
                            0
                        ].stop_details = None  # set by Inspect's guess, not by the model
                    keep_answer(output)
        except _UNREADABLE as error:
            if not replies:  # no reply: a bug in a program
                raise
            raise NoAnswer(_words(replies, f"{type(error).__name__}: {error}")) from None
        except Exception as error:
            if isinstance(error.__cause__, ReplyTooLongError):
                raise error.__cause__ from None
            raise
        finally:
            bodies.reset(token)
        if scope.cancelled_caught:
            raise NoAnswer(f"the service gave no whole reply within a call's {limit} s")
        return made

    async def _provided(self, *asked: Any) -> Any:
        """Return the provider's output, or raise its error, without secrets."""
        try:
            with _known_address():
                made = await super().generate(*asked)  # type: ignore[safe-super]
        except Exception as error:
            clean_error(error)
            if redacted(str(error)) != str(error):
                raise RuntimeError(redacted(str(error))) from None
            raise
        return tuple(map(cleaned, made)) if isinstance(made, tuple) else cleaned(made)

    def connection_key(self) -> str:
        """See Inspect's `ModelAPI`: with ``max_connections``, an account's models share them.

        Without it, Inspect chooses the number, and each model has its own connections.
        """
        key = super().connection_key()
        if not self._bounded:
            return key
        return f"{self.base_url}:{key.removesuffix(f':{self.model_name}')}"

    def should_retry(self, ex: Exception) -> Any:
        if self.used_up is not None or _QUOTA.search(f"{ex} {getattr(ex, 'body', '')}"):
            self.used_up = self.used_up or f"the quota is used up: {_text_of(ex)}"
            return False
        if isinstance(ex, NoAnswer):
            return True
        return super().should_retry(ex)

    def retry_wait(self) -> Callable[[Any], float]:
        """See Inspect's `ModelAPI`: return the function that computes the wait in seconds."""
        return self._wait

    def _wait(self, state: Any) -> float:
        wait = min(_LONGEST, _FIRST * 2.0 ** (state.attempt_number - 1)) * random.uniform(1, 1.25)
        error = state.outcome.exception()
        if isinstance(error, NoAnswer):  # the service replied, so it is not overloaded
            wait = min(wait, _SOON)
        asked = float(getattr(super().should_retry(error), "retry_after", None) or 0.0)
        wait = max(wait, asked)
        spent = state.seconds_since_start or 0.0
        if self._time_of_call is not None and spent + wait > self._time_of_call:
            if asked > wait / 2:
                why = (
                    f"the service asks to wait {asked:,.0f} s; "
                    f"a call's limit is {self._time_of_call} s"
                )
                raise NoAnswer(f"{why}: {_text_of(error)}") from error
            wait = max(0.0, self._time_of_call - spent)
        now = time.monotonic()
        if wait >= _SHOWN_FROM and now >= self._shown_until:
            self._shown_until = now + wait
            words = shorten(_text_of(error), 160)[0]
            print(
                f"{self._watched}: retrying in {wait:,.0f} s ({words})", file=sys.stderr, flush=True
            )
        return float(wait)


def _error_words(replies: Sequence[Body]) -> str:
    """Return the error message in the last reply, without secrets and quotations of the request.

    A reply with a status below 400 is an error only if it has a field ``error``.
    """
    if not replies:
        return ""
    try:
        found = json.loads(replies[-1].text)
    except (ValueError, RecursionError):
        found = {} if replies[-1].status < 400 else {"message": replies[-1].text}
    if not isinstance(found, dict):
        found = {"detail": found}
    if replies[-1].status < 400:
        found = {"error": found["error"]} if found.get("error") else {}
    words = redacted(json.dumps(_without_request(found), ensure_ascii=False))
    return shorten(words, _KEPT_WORDS)[0]


def _without_request(found: Any) -> Any:
    if isinstance(found, dict):
        return {
            key: _without_request(value)
            for key, value in found.items()
            if key not in ("ctx", "flagged_input", "prompt", "messages", "request")
            and not (key == "input" and not isinstance(value, str))
        }
    return [_without_request(part) for part in found] if isinstance(found, list) else found


def lacking(words: str, asked: GenerateConfig) -> str | None:
    """Return the optional setting for which a request was refused, or None.

    A temperature of 0 asks for the likeliest answer, as judges do, and may be left out. Any other
    temperature is the user's choice and is never left out silently.
    """
    for name, pattern in _LACKING.items():
        asks = any(getattr(asked, field) is not None for field in _FIELDS[name])
        if name == "temperature" and asked.temperature != 0:
            continue
        if asks and re.search(pattern, words, re.IGNORECASE):
            return name
    return None


def without(config: GenerateConfig, names: Collection[str]) -> GenerateConfig:
    """Return the settings of a request without those that `lacking` named."""
    return config.model_copy(update={field: None for name in names for field in _FIELDS[name]})


def _words(replies: Sequence[Body], otherwise: str) -> str:
    """Return a message with the text that a service sent instead of an answer."""
    body = replies[-1].text.strip() if replies else ""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    error = found.get("error") if isinstance(found, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or error
    otherwise = "(an empty body)" if replies else otherwise
    shown = shorten(redacted(str(error or body or otherwise)), 300)[0]
    return f"the service replied without an answer: {shown}"


def _say_why(error: Exception, replies: Sequence[Body], asked: GenerateConfig) -> None:
    """Add the service's message to an error, where OpenAI's client has left it out."""
    words = str(error)
    body = getattr(error, "body", None)
    if body and re.fullmatch(r"Error code: \d+", words):
        shown = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        words += f" - {shorten(' '.join(shown.split()), 300)[0]}"
    if (
        replies
        and replies[-1].status in (400, 422)
        and asked.temperature
        and "temperature" in words
    ):
        words = f"{shorten(words, 200)[0]} (if it takes no temperature: leave out --temperature)"
    if words != str(error) or len(words) > _KEPT_WORDS:
        error.args = (shorten(words, _KEPT_WORDS)[0],)


def _text_of(error: BaseException) -> str:
    """Return the message of an error, or else of its cause."""
    return str(error) or str(error.__cause__ or error.__context__ or type(error).__name__)
