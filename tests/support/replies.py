"""Models of Inspect that say what a test wants."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput, ModelUsage, get_model


def counted(text: str, name: str = "model", stop: str = "stop") -> ModelOutput:
    """Return an output that says what it used, so that nobody counts tokens."""
    output = ModelOutput.from_content(f"mockllm/{name}", text, stop_reason=stop)  # type: ignore[arg-type]
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def says(
    reply: Callable[[str], str],
    name: str = "model",
    seen: list[tuple[list[ChatMessage], GenerateConfig]] | None = None,
) -> Model:
    """Return a model whose reply is a function of the last prompt; ``seen`` gets every call."""

    def answer(
        messages: list[ChatMessage], tools: object, tool_choice: object, config: GenerateConfig
    ) -> ModelOutput:
        if seen is not None:
            seen.append((list(messages), config))
        return counted(reply(messages[-1].text), name)

    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def evaluated(
    task: str,
    subject: str | Model,
    folder: Path,
    roles: dict[str, str | Model] | None = None,
    **arguments: Any,
) -> tuple[EvalLog, dict[str, int | float]]:
    """Evaluate a task of ours; return the log, as read again, and the first scorer's metrics."""
    (log,) = inspect_eval(
        f"contrafact/{task}", model=subject, task_args=arguments, model_roles=roles,
        display="none", log_dir=str(folder), fail_on_error=False,
    )  # fmt: skip
    log = read_eval_log(log.location)
    scores = log.results.scores if log.results else []
    return log, {name: one.value for name, one in scores[0].metrics.items()} if scores else {}
