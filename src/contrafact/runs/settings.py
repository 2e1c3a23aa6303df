"""What a run is asked to do: its settings, checked, and the hash that tells runs apart."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["DEFAULT_FLUENCY_MODEL", "DEFAULT_METHODS", "TASKS", "RunSettings", "identity"]

TaskName = Literal["finforce", "rfc-detect", "rfc-diagnose", "cobe"]
TASKS: tuple[str, ...] = ("finforce", "rfc-detect", "rfc-diagnose", "cobe")
DEFAULT_FLUENCY_MODEL = "smollm2-135m"
DEFAULT_METHODS: dict[str, tuple[str, ...]] = {
    "finforce": ("zero-shot",),
    "rfc-detect": ("plain",),
    "rfc-diagnose": ("plain",),
    "cobe": ("plain",),
}


class RunSettings(BaseModel):
    """One run: a task, a grid of models and methods, and how to call them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: TaskName = Field(description="The task.")
    models: tuple[str, ...] = Field(default=(), description="Models under test, Inspect names.")
    judges: tuple[str, ...] = Field(default=(), description="Judges; several form a panel.")
    methods: tuple[str, ...] = Field(
        default=(), description="Generation methods or solvers; the task's first if none is named."
    )
    data: Path | None = Field(default=None, description="File of items; bundled samples if none.")
    limit: int | None = Field(default=None, ge=1, description="Take the first so many items.")
    shots: int = Field(
        default=0, ge=0, description="Few-shot examples per prompt; finforce: 0 for its own number."
    )
    draws: int = Field(default=1, ge=1, description="Random draws of the examples.")
    shots_from: Path | None = Field(default=None, description="File with the pool of examples.")
    seed: int = Field(default=0, ge=0, description="Seed of draws and, if given, of sampling.")
    prompts: Path | None = Field(default=None, description="Folder of the prompt pack.")
    structured: bool = Field(default=True, description="Ask providers for JSON by schema.")
    judge_faults: bool = Field(default=False, description="Judge figure 4's two faults as well.")
    fluency_model: str | None = Field(
        default=None, description="Scores perplexity; none leaves fluency out."
    )
    background: Path | None = Field(
        default=None, description="File of news that is searched for background."
    )
    rationale: bool = Field(default=False, description="Ask for reasons with the label.")
    logprobs: bool = Field(default=False, description="Ask for the label's probability.")
    judge_context: bool = Field(
        default=False, description="cobe: show the judge scenario and query as well."
    )
    generation: dict[str, Any] = Field(
        default_factory=dict, description="Inspect's generation settings for the models under test."
    )
    model_args: dict[str, Any] = Field(
        default_factory=dict, description="Provider arguments of the models under test."
    )
    judge_args: dict[str, Any] = Field(
        default_factory=dict, description="Provider arguments of the judges."
    )
    transport: dict[str, Any] = Field(
        default_factory=dict,
        description="Settings that change no answer: connections, retries, timeouts, batch mode.",
    )
    shared_cache: bool = Field(
        default=False, description="Reuse answers of earlier runs, and keep these for later ones."
    )
    preset: str | None = Field(default=None, description="The preset that filled in settings.")

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_task(cls, given: Any) -> Any:
        """Fill in what differs from task to task, where nothing is said."""
        if not isinstance(given, dict):
            return given
        task = str(given.get("task"))
        filled = dict(given)
        if not filled.get("methods"):
            filled["methods"] = DEFAULT_METHODS.get(task, ())
        if task == "finforce":
            filled.setdefault("fluency_model", DEFAULT_FLUENCY_MODEL)
        return filled


# What moves bytes about but changes no answer; a rerun may choose it anew. Files count by content.
_NOT_IDENTITY = {
    *("transport", "shared_cache", "preset", "data", "shots_from", "prompts", "background"),
}
# Settings that came after the first release: runs that do not use them are who they were.
_LATER = ("rationale", "logprobs", "judge_context", "judge_args")


def identity(settings: RunSettings, contents: dict[str, str]) -> str:
    """Return 12 hex digits that are equal for runs whose results are meant to be equal.

    Args:
        settings: The settings.
        contents: Hashes of what they name: data, example pool, prompt pack, task version.
    """
    unused = {name for name in _LATER if not getattr(settings, name)}
    told = settings.model_dump(mode="json", exclude=_NOT_IDENTITY | unused)
    text = json.dumps({"settings": told, "contents": contents}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
