"""One judge's answer to one criterion: a single model call with a true or a false in it."""

from inspect_ai.model import CachePolicy, GenerateConfig, Model, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.judges.replies import read_bool
from contrafact.records import Verdict

__all__ = ["bool_schema", "judge_once"]


def bool_schema(criterion: str) -> ResponseSchema:
    """Return the response schema ``{criterion: {"value": true or false}}``."""
    value = JSONSchema(
        type="object",
        properties={"value": JSONSchema(type="boolean")},
        required=["value"],
        additionalProperties=False,
    )
    return ResponseSchema(
        name=criterion,
        json_schema=JSONSchema(
            type="object",
            properties={criterion: value},
            required=[criterion],
            additionalProperties=False,
        ),
        strict=True,
    )


async def judge_once(
    model: Model,
    prompt: str,
    criterion: str,
    *,
    structured: bool,
    cache: bool | CachePolicy = False,
    config: GenerateConfig | None = None,
) -> Verdict:
    """Ask one judge one criterion about one text.

    A reply that is neither true nor false is an invalid verdict with its reason. A call that
    fails raises: a judge's failure is an error of the sample, never a "false".

    Args:
        model: The judge.
        prompt: The rendered rubric with the text to judge.
        criterion: The criterion's name, the key of the reply.
        structured: Whether to ask the provider to hold the reply to the schema.
        cache: Inspect's cache policy for the call.
        config: Settings on top of the model's own.
    """
    config = config or GenerateConfig()
    if structured:
        config = config.merge(GenerateConfig(response_schema=bool_schema(criterion)))
    output = await model.generate(prompt, config=config, cache=cache)
    reply = output.completion
    passed: bool | None = None
    invalid: str | None
    if output.stop_reason == "model_length":
        invalid = f"prompt too long for the judge: {output.error or reply}"
    elif output.stop_reason == "content_filter":
        invalid = "refused by the provider's content filter"
    else:
        passed, invalid = read_bool(reply, criterion)
    return Verdict(
        criterion=criterion, passed=passed, invalid=invalid, judge=str(model), reply=reply
    )
