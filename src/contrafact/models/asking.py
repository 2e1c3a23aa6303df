"""How methods and solvers of every family ask a language model, and plan what they will ask."""

from dataclasses import dataclass, field

from inspect_ai.model import (
    CachePolicy,
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
)

__all__ = ["Ask", "PlannedCall", "Unanswered"]


class Unanswered(Exception):
    """The model gave no usable answer, for a reason that repeating the call would not mend."""


@dataclass(frozen=True)
class PlannedCall:
    """One call that will be made, for an estimate: its prompt and about how long a reply."""

    prompt: str
    reply_tokens: int


@dataclass(frozen=True)
class Ask:
    """A method's only way to a language model.

    Attributes:
        model: Any Inspect model.
        structured: Whether to ask the provider for schema-constrained JSON.
        cache: Inspect's cache policy for the calls.
        config: Settings on top of the model's own.
    """

    model: Model
    structured: bool = True
    cache: bool | CachePolicy = False
    config: GenerateConfig = field(default_factory=GenerateConfig)

    async def __call__(
        self, messages: str | list[ChatMessage], schema: ResponseSchema | None = None
    ) -> ModelOutput:
        """Return the model's output.

        Raises:
            Unanswered: if the prompt is longer than the context, or the provider refused.
        """
        config = self.config
        if schema is not None and self.structured:
            config = config.merge(GenerateConfig(response_schema=schema))
        output = await self.model.generate(messages, config=config, cache=self.cache)
        if output.stop_reason == "model_length":
            raise Unanswered(f"prompt too long: {output.error or output.completion}")
        if output.stop_reason == "content_filter":
            raise Unanswered("refused by the provider's content filter")
        return output
