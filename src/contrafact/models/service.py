"""What a model service does besides answering: empty answers, refusals to serve, and waits.

Inspect retries what its providers call transient, and keeps what they return. Between the two
stands `guard`:

- An answer without a choice, or one that its provider cannot read (an error in a 200), is a
  failed call with the service's own words. It is tried again, and never kept.
- A used-up quota stops every further call of the model at once: trying again helps nobody.
- A wait that the service asks for is kept, and said; one that the time of a call does not allow
  ends the call.
- Content that comes in parts, as some servers of OpenAI's protocol send it, is the text in them.
- A client's own retries are off, so that ``max_retries`` is their number, and limits see each.
- ``max_connections`` bounds the calls to a service, whichever of its models they ask.
- What is under way is marked on the disk (`contrafact.models.calls`).
"""

import json
import random
import re
import sys
import time
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from inspect_ai.model import GenerateConfig, Model, ModelAPI, ModelOutput

from contrafact.models.calls import keep_answer, under_way
from contrafact.secrets import redacted
from contrafact.text.delimit import shorten

__all__ = ["NoAnswer", "guard", "is_service"]

_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing_hard_limit|out of credits"
)
_FIRST, _SOON, _LONGEST = 3.0, 2.0, 1_800.0
"""Seconds until the first retry, at most after a reply without an answer, and at most."""
_SHOWN_FROM = 5.0
"""Seconds: shorter waits are not said."""

# What Inspect keeps for its log is dumped before content in parts becomes text.
warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)

_bodies: ContextVar[list[str] | None] = ContextVar("_bodies", default=None)


class NoAnswer(RuntimeError):
    """The service replied, and there is no answer in it."""


def guard(model: Model) -> Model:
    """Return a model whose service is watched as the module says; once guarded it stays so.

    Who opens it again (Inspect gives the same instance) asks a service that was used up anew.
    """
    api = model.api
    if isinstance(api, _Guarded):
        api.used_up = None
        return model
    # The provider's instance keeps its state, and the class below its name in Inspect's registry.
    api.__class__ = type(type(api).__name__, (_Guarded, type(api)), {})
    assert isinstance(api, _Guarded)
    api.watch(str(model), model.config)
    return model


def is_service(model: Model) -> bool:
    """Tell whether a model is asked of a service, and watched."""
    return isinstance(getattr(model, "api", None), _Guarded)


class _Guarded(ModelAPI):
    """Mixed into a provider's class, before it."""

    def watch(self, name: str, config: GenerateConfig) -> None:
        self._watched, self._time_of_call = name, config.timeout
        self._bounded = config.max_connections is not None
        self.used_up: str | None = None
        self._shown_until = 0.0
        client: Any = getattr(self, "client", None)
        if isinstance(getattr(client, "max_retries", None), int):
            client.max_retries = 0
        http: Any = getattr(self, "http_client", None)
        hooks = getattr(http, "event_hooks", None)
        if isinstance(hooks, dict):
            http.event_hooks = {**hooks, "response": [*hooks.get("response", ()), _keep_body]}

    async def generate(self, *args: Any, **options: Any) -> Any:
        """Return what the provider does; `NoAnswer` if it holds none, or the quota is used up."""
        if self.used_up is not None:
            raise NoAnswer(self.used_up)
        bodies: list[str] = []
        token = _bodies.set(bodies)
        try:
            with under_way():
                made = await super().generate(*args, **options)  # type: ignore[safe-super]
                output = made[0] if isinstance(made, tuple) else made
                if isinstance(output, ModelOutput) and output.choices:
                    keep_answer(output)
                elif isinstance(output, Exception):
                    _say_why(output)
        except (TypeError, AttributeError, LookupError, json.JSONDecodeError) as error:
            if not bodies:  # not of a reply: a fault of a program
                raise
            raise NoAnswer(_words(bodies, f"{type(error).__name__}: {error}")) from None
        except Exception as error:
            _say_why(error)
            raise
        finally:
            _bodies.reset(token)
        if isinstance(output, ModelOutput) and not output.choices:
            raise NoAnswer(_words(bodies, output.error or "no choices"))
        return made

    def connection_key(self) -> str:
        """See Inspect's `ModelAPI`: where connections are bounded, models of an account share them.

        Where Inspect finds their number by itself, each model has its own.
        """
        key = super().connection_key()
        if not self._bounded:
            return key
        return f"{self.base_url}:{key.removesuffix(f':{self.model_name}')}"

    def chat_choices_from_completion(self, completion: Any, tools: Any) -> Any:
        """See Inspect's providers of OpenAI's protocol, which take content to be one text."""
        for choice in completion.choices or ():
            message = choice.message
            if isinstance(message.content, list):
                message.content, refusal = _text_in(message.content)
                message.refusal = message.refusal or refusal
            message.refusal = message.refusal or None  # an empty one is none
        return super().chat_choices_from_completion(completion, tools)  # type: ignore[misc]

    def should_retry(self, ex: Exception) -> Any:
        if self.used_up is not None or _QUOTA.search(f"{ex} {getattr(ex, 'body', '')}"):
            self.used_up = self.used_up or f"the quota is used up: {_text_of(ex)}"
            return False
        if isinstance(ex, NoAnswer):
            return True
        return super().should_retry(ex)

    def retry_wait(self) -> Callable[[Any], float]:
        """See Inspect's `ModelAPI`: how long to wait before the next try, by tenacity's state."""
        return self._wait

    def _wait(self, state: Any) -> float:
        wait = min(_LONGEST, _FIRST * 2.0 ** (state.attempt_number - 1)) * random.uniform(1, 1.25)
        error = state.outcome.exception()
        if isinstance(error, NoAnswer):  # it did reply: a slip of its own, not a crowd
            wait = min(wait, _SOON)
        asked = float(getattr(super().should_retry(error), "retry_after", None) or 0.0)
        wait = max(wait, asked)
        spent = state.seconds_since_start or 0.0
        if self._time_of_call is not None and spent + wait > self._time_of_call:
            if asked > wait / 2:
                why = f"the service asks to wait {asked:,.0f} s of a call's {self._time_of_call} s"
                raise NoAnswer(f"{why}: {_text_of(error)}") from error
            wait = max(0.0, self._time_of_call - spent)
        now = time.monotonic()
        if wait >= _SHOWN_FROM and now >= self._shown_until:
            self._shown_until = now + wait
            words = shorten(_text_of(error), 160)[0]
            print(
                f"{self._watched}: tries again in {wait:,.0f} s ({words})",
                file=sys.stderr,
                flush=True,
            )
        return float(wait)


async def _keep_body(response: Any) -> None:
    """Keep a reply's text for the call that it belongs to; a stream is left to its reader."""
    bodies = _bodies.get()
    if bodies is not None and "json" in response.headers.get("content-type", ""):
        await response.aread()
        bodies.append(response.text)


def _text_in(parts: list[Any]) -> tuple[str, str | None]:
    """Return the text in a message's parts and the refusal; what reasons in them is neither."""
    texts, refusals = [], []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") in ("text", "output_text", None):
            texts.append(str(part.get("text") or ""))
        elif isinstance(part, dict) and part.get("type") == "refusal":
            refusals.append(str(part.get("refusal") or ""))
    return "\n".join(texts), "\n".join(refusals) or None


def _words(bodies: list[str], otherwise: str) -> str:
    """Return what a service said where its answer should be."""
    body = bodies[-1].strip() if bodies else ""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    error = found.get("error") if isinstance(found, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or error
    otherwise = "(an empty body)" if bodies else otherwise
    shown = shorten(redacted(str(error or body or otherwise)), 300)[0]
    return f"the service replied without an answer: {shown}"


def _say_why(error: Exception) -> None:
    """Let an error say what its service did: OpenAI's client leaves out what is not in its form."""
    body = getattr(error, "body", None)
    if body and re.fullmatch(r"Error code: \d+", str(error)):
        words = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        error.args = (f"{error} - {shorten(' '.join(words.split()), 300)[0]}",)


def _text_of(error: BaseException) -> str:
    """Return an error's words: its provider's, else those of what caused it."""
    return str(error) or str(error.__cause__ or error.__context__ or type(error).__name__)
