"""What a self-rewarding training does: one YAML file, checked key by key.

A key that is left out has the original's value (Yuan et al., 2024) or the paper's (FIN-FORCE,
appendix B.2), where one is known.
"""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem

__all__ = [
    "ALL_LINEAR",
    "Candidates",
    "Dpo",
    "Headlines",
    "JudgeSettings",
    "Lora",
    "Preferences",
    "TrainConfig",
    "WarmUp",
    "load_config",
    "preset_names",
]

ALL_LINEAR = "all-linear"
"""Every linear layer but the head."""
_PRESETS = Path(__file__).parent / "presets"
_MENDS = {
    "extra_forbidden": "remove it, or check its spelling",
    "missing": "give it a value",
}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Draws(_Part):
    """How texts are sampled."""

    temperature: float = Field(gt=0, le=5, description="Divides the logits.")
    top_p: float = Field(default=0.9, gt=0, le=1, description="The mass of the nucleus.")
    max_tokens: int = Field(ge=1, description="The most tokens of a text.")


class Lora(_Part):
    """The adapter that is trained and then merged (peft)."""

    r: int = Field(default=64, ge=1, description="Its rank.")
    alpha: int = Field(default=16, ge=1, description="Its scale, over the rank.")
    dropout: float = Field(default=0.1, ge=0, lt=1, description="On what goes into it.")
    targets: tuple[str, ...] = Field(
        default=(ALL_LINEAR,),
        min_length=1,
        description="The layers it stands beside, by the ends of their names.",
    )

    @field_validator("targets", mode="before")
    @classmethod
    def _one_name(cls, given: object) -> object:
        return (given,) if isinstance(given, str) else given


class _Learning(_Part):
    """How a stage learns (trl)."""

    epochs: float = Field(gt=0, description="Passes over its data.")
    learning_rate: float = Field(gt=0, description="At the start.")
    final_learning_rate: float = Field(ge=0, description="At the end of a cosine.")
    batch: int = Field(default=1, ge=1, description="Examples at a time.")
    effective_batch: int = Field(default=16, ge=1, description="Examples per step.")
    evaluate_every: int = Field(default=10, ge=1, description="Steps between validations.")
    patience: int = Field(
        default=2, ge=1, description="Validations without a better loss, before it stops."
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.effective_batch % self.batch:
            raise ValueError(f"effective_batch is no multiple of batch ({self.batch})")
        if self.final_learning_rate > self.learning_rate:
            raise ValueError("final_learning_rate is above learning_rate")
        return self


class WarmUp(_Learning):
    """Supervised warm-up on given pairs; the loss is on the replies alone."""

    examples: int | None = Field(default=None, ge=1, description="At most so many; all if none.")
    epochs: float = Field(default=1.0, gt=0)
    learning_rate: float = Field(default=5.5e-6, gt=0)
    final_learning_rate: float = Field(default=1.1e-6, ge=0)


class Headlines(_Draws):
    """New headlines, written by the model from examples."""

    count: int = Field(ge=1, description="How many an iteration wants.")
    tries: float = Field(default=4.0, ge=1, description="At most so many written per one wanted.")
    seed_examples: int = Field(default=6, ge=1, description="Examples from the data.")
    own_examples: int = Field(default=2, ge=0, description="Examples it wrote itself.")
    temperature: float = Field(default=0.6, gt=0, le=5)
    max_tokens: int = Field(default=48, ge=1)


class Candidates(_Draws):
    """Candidate pairs for each headline."""

    method: str = Field(
        default="zero-shot",
        min_length=1,
        description="A generation method with its options; zero-shot is the model's own reply.",
    )
    per_headline: int = Field(default=4, ge=2, description="How many.")
    temperature: float = Field(default=0.7, gt=0, le=5)
    max_tokens: int = Field(default=160, ge=1)


class JudgeSettings(_Draws):
    """Who scores candidates, from 0 to 10."""

    by: str = Field(
        default="self",
        min_length=1,
        description="'self', 'checks' (built in), or the name of an Inspect model.",
    )
    samples: int = Field(default=3, ge=1, description="Scores that are averaged, if a model's.")
    temperature: float = Field(default=0.7, gt=0, le=5)
    max_tokens: int = Field(default=24, ge=1)


class Preferences(_Part):
    """Best against worst."""

    margin: float = Field(
        default=0.0, ge=0, lt=10, description="A pair's scores differ by more than this."
    )
    min_pairs: int = Field(
        default=16, ge=2, description="With fewer an iteration is saturated, and training stops."
    )


class Dpo(_Learning):
    """Direct preference optimisation."""

    beta: float = Field(default=0.1, gt=0, description="How dear it is to leave the reference.")
    epochs: float = Field(default=1.0, gt=0)
    learning_rate: float = Field(default=1e-6, gt=0)
    final_learning_rate: float = Field(default=1e-7, ge=0)


class TrainConfig(_Part):
    """One self-rewarding training."""

    model: str = Field(description="A folder, a GGUF file, smollm2-135m, or a name on the hub.")
    data: Path | None = Field(
        default=None, description="File of headlines with both counterfactuals; bundled if none."
    )
    prompts: Path | None = Field(default=None, description="Folder of the prompt pack.")
    seed: int = Field(default=0, ge=0, lt=2**32, description="Seed of all that is drawn.")
    iterations: int = Field(default=2, ge=1, description="Rounds of preferences and DPO.")
    weights: Literal["float32", "bfloat16", "float16", "4bit"] = Field(
        default="float32", description="How weights are kept; 4bit wants a GPU and bitsandbytes."
    )
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32", description="Of the sums while training."
    )
    save_memory: bool = Field(
        default=False, description="Compute activations twice instead of keeping them."
    )
    held_out: int = Field(default=50, ge=5, description="Headlines every checkpoint is tried on.")
    validation: float = Field(
        default=0.1, gt=0, lt=0.5, description="Share of examples kept to validate on."
    )
    lora: Lora = Lora()
    warm_up: WarmUp = WarmUp()
    headlines: Headlines
    candidates: Candidates = Candidates()
    judge: JudgeSettings = JudgeSettings()
    preferences: Preferences = Preferences()
    dpo: Dpo = Dpo()
    fluency_model: str | None = Field(
        default="smollm2-135m", description="Scores perplexity, the same for all; none for none."
    )


def preset_names() -> list[str]:
    """Return the names of the configs that ship."""
    return sorted(path.stem for path in _PRESETS.glob("*.yaml"))


def load_config(source: str, **changes: Any) -> TrainConfig:
    """Return a checked config.

    Args:
        source: The name of a preset, or a YAML file. A path in a file is seen from the file's
            folder.
        changes: Keys to set, over what the file says; None changes nothing. ``judge`` is
            ``judge.by``.

    Raises:
        InputError: There is no such config, it is no YAML, or a key is wrong; the message names
            the file, the line of the key, and the mend.
    """
    path = _PRESETS / f"{source}.yaml" if source in preset_names() else Path(source)
    given, lines = _read(path)
    for key in ("data", "prompts"):
        if isinstance(given.get(key), str):
            given[key] = path.parent / Path(given[key]).expanduser()
    for key, value in changes.items():
        if value is None:
            continue
        if key == "judge":
            inner = given.get("judge")
            given["judge"] = {**(inner if isinstance(inner, dict) else {}), "by": value}
        else:
            given[key] = value
    try:
        return TrainConfig.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = tuple(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise InputError(
            f"{'.'.join(where) or 'the config'}: {said[:1].lower()}{said[1:]}"
            + (f" (it is {first['input']!r:.60})" if first["type"] not in _MENDS else ""),
            file=path,
            line=_line(where, lines),
            hint=_MENDS.get(first["type"], "change it"),
        ) from None


def _read(path: Path) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    """Return what a YAML file says, and the line of each key."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(
            "there is no such config",
            file=path,
            hint=f"name a YAML file, or one of {', '.join(preset_names())}",
        ) from error
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", file=path) from error
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "cannot be read"
        raise InputError(
            f"not YAML: {problem}", file=path, line=None if mark is None else mark.line + 1
        ) from error
    if not isinstance(given, dict):
        raise InputError("holds no keys", file=path, hint="begin with: model: smollm2-135m")
    lines: dict[tuple[str, ...], int] = {}
    _note_lines(node, (), lines)
    return given, lines


def _note_lines(node: Any, at: tuple[str, ...], lines: dict[tuple[str, ...], int]) -> None:
    for key, value in node.value if isinstance(node.value, list) else ():
        where = (*at, str(key.value))
        lines[where] = key.start_mark.line + 1
        if hasattr(value, "value") and value.id == "mapping":
            _note_lines(value, where, lines)


def _line(where: tuple[str, ...], lines: dict[tuple[str, ...], int]) -> int | None:
    """Return the line of a key, or of the innermost key around it that the file has."""
    while where and where not in lines:
        where = where[:-1]
    return lines.get(where)
