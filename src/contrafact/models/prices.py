"""The cost of calls in US dollars, by the list prices that `genai-prices` contains; no network.

A model on this machine costs nothing. The cost of a model without a known price is unknown, never
0. Prices apply to single calls: some providers charge more per token for a long call, so that
tokens of many calls must not be summed first.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from contrafact.models.gguf import inspect_name

if TYPE_CHECKING:
    from inspect_ai.model import ModelUsage

__all__ = ["FREE", "Tokens", "dollars", "is_paid", "price_note"]

FREE = "free: runs on this machine"
LISTED = "list price"
UNKNOWN = "price unknown"

# Providers that run on the user's own machines. All others are assumed to cost money.
_OWN = {
    "embedded", "whitebox", "verifier", "hf", "vllm", "sglang", "ollama", "llama-cpp-python",
    "mockllm", "transformer_lens", "nnterp", "none",
}  # fmt: skip

# Inspect's names of providers, and their names in the price table.
_PROVIDERS = {
    **{name: name for name in ("anthropic", "openai", "google", "mistral", "groq", "deepseek",
                               "together", "fireworks", "openrouter", "perplexity", "cloudflare")},
    "grok": "x-ai",
    "azureai": "azure",
    "bedrock": "aws",
    "moonshot": "moonshotai",
}  # fmt: skip
_COMPATIBLE = "openai-api"


@dataclass(frozen=True)
class Tokens:
    """The tokens of one call: sent, received, and read from or written to a provider's cache."""

    read: int
    written: int
    cache_read: int = 0
    cache_written: int = 0

    @classmethod
    def of(cls, usage: "ModelUsage | None") -> "Tokens":
        """Return the tokens that a provider reports for a call; 0 if it reports none."""
        if usage is None:
            return cls(0, 0)
        return cls(
            usage.input_tokens,
            usage.output_tokens,
            usage.input_tokens_cache_read or 0,
            usage.input_tokens_cache_write or 0,
        )

    @property
    def sent(self) -> int:
        """All tokens sent."""
        return self.read + self.cache_read + self.cache_written


def is_paid(model: str) -> bool:
    """Return whether calls of a model are assumed to cost money: all but local models do."""
    return inspect_name(model).split("/", 1)[0] not in _OWN


def dollars(model: str, calls: Sequence[Tokens]) -> Decimal | None:
    """Return the cost of calls at list price; 0 for a local model, None if unknown."""
    if not is_paid(model):
        return Decimal(0)
    if price_note(model) == UNKNOWN:
        return None
    each = ((_price(model, call) or Decimal(0)) * n for call, n in Counter(calls).items())
    return sum(each, Decimal(0))


def price_note(model: str) -> str:
    """Return a note on a model's price: free, listed or unknown."""
    if not is_paid(model):
        return FREE
    return UNKNOWN if _price(model, Tokens(1, 0)) is None else LISTED


def _price(model: str, call: Tokens) -> Decimal | None:
    from genai_prices import Usage, calc_price

    provider, _, name = model.partition("/")
    if provider == _COMPATIBLE:
        # openai-api/<service>/<model>: the service charges.
        service, _, name = name.partition("/")
        known = service if service in _PROVIDERS.values() else None
    else:
        known = _PROVIDERS.get(provider)
    if known is None or not name:
        return None
    usage = Usage(
        input_tokens=call.sent,
        output_tokens=call.written,
        cache_read_tokens=call.cache_read,
        cache_write_tokens=call.cache_written,
    )
    try:
        total: Decimal = calc_price(usage, model_ref=name, provider_id=known).total_price
    except LookupError:
        return None
    return total
