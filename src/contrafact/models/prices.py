"""What calls cost in US dollars, by the list prices that come with `genai-prices`: no network.

A model of this machine costs nothing. A model without a known price has none: it is never taken
for free. Prices are those of single calls: some providers charge more per token for a long one, so
that tokens of many calls must not be added up first.
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

# Providers that run on the user's own machines. Everything else is taken to cost money.
_OWN = {
    "embedded", "whitebox", "verifier", "hf", "vllm", "sglang", "ollama", "llama-cpp-python",
    "mockllm", "transformer_lens", "nnterp", "none",
}  # fmt: skip

# Inspect's names of providers, and what the price table calls them.
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
    """What one call used: tokens sent, those of a provider's cache apart, and come back."""

    read: int
    written: int
    cache_read: int = 0
    cache_written: int = 0

    @classmethod
    def of(cls, usage: "ModelUsage | None") -> "Tokens":
        """Return what a provider says of a call; nothing where it says nothing."""
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
    """Whether calls of a model are taken to cost money: all but those on one's own machines."""
    return inspect_name(model).split("/", 1)[0] not in _OWN


def dollars(model: str, calls: Sequence[Tokens]) -> Decimal | None:
    """Return what calls cost at list price; 0 of a model of this machine, None where unknown."""
    if not is_paid(model):
        return Decimal(0)
    if price_note(model) == UNKNOWN:
        return None
    each = ((_price(model, call) or Decimal(0)) * n for call, n in Counter(calls).items())
    return sum(each, Decimal(0))


def price_note(model: str) -> str:
    """Return where a model's price comes from: it is free, listed or unknown."""
    if not is_paid(model):
        return FREE
    return UNKNOWN if _price(model, Tokens(1, 0)) is None else LISTED


def _price(model: str, call: Tokens) -> Decimal | None:
    from genai_prices import Usage, calc_price

    provider, _, name = model.partition("/")
    if provider == _COMPATIBLE:
        # openai-api/<service>/<model>: the service is what charges.
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
