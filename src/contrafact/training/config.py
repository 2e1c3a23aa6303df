"""The config of a training: one YAML file, checked key by key.

The default of a key is the value of the original paper (Yuan et al., 2024), if it is known. Two
keys use the family's words: a family of headlines has the keys ``headlines`` and ``per_headline``
for the fields ``items`` and ``per_item``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeVar

from pydantic import Field, ValidationError, field_validator, model_validator

from contrafact.errors import InputError, value_problem
from contrafact.family.settings import ConfigPart
from contrafact.family.training import TrainingSpec
from contrafact.files.config import ConfigFile, read_config
from contrafact.models.gguf import SMOLLM2, is_pathlike, plain_name, shipped_adapter

__all__ = [
    "ALL_LINEAR",
    "Dpo",
    "EditConfig",
    "Learning",
    "Lora",
    "ModelConfig",
    "Passes",
    "Sampled",
    "TrainConfig",
    "family_words",
    "load_config",
    "presets",
]

ALL_LINEAR = "all-linear"
"""The value of ``lora.targets`` for every linear layer except the head."""
_HINTS = {"extra_forbidden": "remove it, or check its spelling", "missing": "give it a value"}


class Sampled(ConfigPart):
    """Settings of the sampling of texts."""

    temperature: float = Field(gt=0, le=5, description="Divides the logits.")
    top_p: float = Field(default=0.9, gt=0, le=1, description="Nucleus: the probability to cover.")
    max_tokens: int = Field(ge=1, description="The most tokens of a text.")


class Lora(ConfigPart):
    """The adapter that is trained and then merged (peft)."""

    r: int = Field(default=64, ge=1, description="Rank.")
    alpha: int = Field(default=16, ge=1, description="Scale, divided by the rank.")
    dropout: float = Field(default=0.1, ge=0, lt=1, description="Dropout on its inputs.")
    targets: tuple[str, ...] = Field(
        default=(ALL_LINEAR,),
        min_length=1,
        description="Layers to adapt, by the ends of their names.",
    )

    @field_validator("targets", mode="before")
    @classmethod
    def _one_name(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class Learning(ConfigPart):
    """Settings of the steps of learning."""

    learning_rate: float = Field(gt=0, description="Rate at the start.")
    final_learning_rate: float = Field(ge=0, description="Rate at the end (cosine).")
    batch: int = Field(default=1, ge=1, description="Examples at a time.")
    effective_batch: int = Field(default=16, ge=1, description="Examples per step.")
    evaluate_every: int = Field(default=10, ge=1, description="Steps between validations.")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.effective_batch % self.batch:
            raise ValueError(f"effective_batch is not a multiple of batch ({self.batch})")
        if self.final_learning_rate > self.learning_rate:
            raise ValueError("final_learning_rate is above learning_rate")
        return self


class Passes(Learning):
    """Settings of a stage that goes over its data until the loss no longer falls."""

    epochs: float = Field(default=1.0, gt=0, description="Passes over the data.")
    patience: int = Field(
        default=2, ge=1, description="Validations without a better loss before it stops."
    )


class WarmUp(Passes):
    """Settings of the supervised warm-up on given pairs; the loss is on the replies only."""

    examples: int | None = Field(default=None, ge=1, description="The most examples; all if empty.")
    learning_rate: float = Field(default=5.5e-6, gt=0)
    final_learning_rate: float = Field(default=1.1e-6, ge=0)


class NewItems(Sampled):
    """Settings of new items, written by the model from examples."""

    count: int = Field(ge=1, description="New items per iteration.")
    tries: float = Field(default=4.0, ge=1, description="The most tries per item wanted.")
    seed_examples: int = Field(default=6, ge=1, description="Examples from the data.")
    own_examples: int = Field(default=2, ge=0, description="Examples written by the model.")
    temperature: float = Field(default=0.6, gt=0, le=5)
    max_tokens: int = Field(default=48, ge=1)


class Candidates(Sampled):
    """Settings of the candidate answers to each item."""

    method: str = Field(
        default="zero-shot",
        min_length=1,
        description="A method with its options; zero-shot is the model's own reply.",
    )
    per_item: int = Field(default=4, ge=2, description="Answers per item.")
    temperature: float = Field(default=0.7, gt=0, le=5)
    max_tokens: int = Field(default=160, ge=1)


class JudgeSettings(Sampled):
    """Settings of the judge that scores candidates, from 0 to 10."""

    by: str = Field(
        default="self",
        min_length=1,
        description="'self', 'checks' (built in), or the name of an Inspect model.",
    )
    samples: int = Field(default=3, ge=1, description="Scores to average, for a model.")
    temperature: float = Field(default=0.7, gt=0, le=5)
    max_tokens: int = Field(default=24, ge=1)


class Preferences(ConfigPart):
    """Settings of the preference pairs, the best against the worst candidate."""

    margin: float = Field(
        default=0.0, ge=0, lt=10, description="A pair's scores differ by more than this."
    )
    min_pairs: int = Field(
        default=16, ge=2, description="With fewer an iteration is saturated, and training stops."
    )


class Dpo(Passes):
    """Settings of direct preference optimisation."""

    beta: float = Field(default=0.1, gt=0, description="Penalty for leaving the reference.")
    learning_rate: float = Field(default=1e-6, gt=0)
    final_learning_rate: float = Field(default=1e-7, ge=0)


class ModelConfig(ConfigPart):
    """The model that is trained, and the keys that all trainings share."""

    model: str = Field(description="A folder, a GGUF file, smollm2-135m, or a name on the hub.")
    seed: int = Field(default=0, ge=0, lt=2**32, description="Seed of all random draws.")
    weights: Literal["float32", "bfloat16", "float16", "4bit"] = Field(
        default="float32", description="Type of the weights; 4bit needs a GPU and bitsandbytes."
    )
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32", description="Precision of the arithmetic in training."
    )
    save_memory: bool = Field(
        default=False, description="Compute activations twice instead of keeping them."
    )
    family: str = Field(description="The family; needed if several can be trained.")
    prompts: Path | None = Field(default=None, description="Folder of the prompt pack.")
    lora: Lora = Lora()

    @field_validator("model", "fluency_model", "begin", check_fields=False)
    @classmethod
    def _one_name(cls, name: str | None) -> str | None:
        """Normalise a model's name, so that its spelling does not change a training's identity."""
        return None if name is None else plain_name(name)


class TrainConfig(ModelConfig):
    """The config of a self-rewarding training."""

    data: Path | None = Field(
        default=None, description="File of items with answers; by default the bundled one."
    )
    iterations: int = Field(default=2, ge=1, description="Rounds of preferences and DPO.")
    held_out: int = Field(
        default=50, ge=5, description="Items that every checkpoint is evaluated on."
    )
    validation: float = Field(
        default=0.1, gt=0, lt=0.5, description="Share of examples kept to validate on."
    )
    warm_up: WarmUp = WarmUp()
    items: NewItems
    candidates: Candidates = Candidates()
    judge: JudgeSettings = JudgeSettings()
    preferences: Preferences = Preferences()
    dpo: Dpo = Dpo()
    fluency_model: str | None = Field(
        default="smollm2-135m", description="Model that scores perplexity; null for no perplexity."
    )


class Supervised(Learning):
    """Settings of learning from proven answers, each once; the loss is on the answers only."""

    examples: int = Field(default=8000, ge=16, description="Answers of this piece.")
    total: int | None = Field(
        default=None, ge=16, description="Answers of all pieces; up to this piece if empty."
    )
    learning_rate: float = Field(default=1e-3, gt=0)
    final_learning_rate: float = Field(default=1e-5, ge=0)
    batch: int = Field(default=8, ge=1)
    effective_batch: int = Field(default=32, ge=1)


class Held(ConfigPart):
    """Settings of the held-out tasks, for the editor and the base model."""

    each: int = Field(default=60, ge=8, description="Tasks of each split.")


class EditConfig(ModelConfig):
    """The config of the training of an editor on tasks whose answers are proven."""

    begin: str | None = Field(
        default=None, alias="from", description="The adapter to go on from: its folder or name."
    )
    supervised: Supervised = Supervised()
    held_out: Held = Held()
    framing: str | None = Field(
        default=None,
        description="How the request is put: plain, or stated:1 to stated:3 (docs/framing.md); for "
        "stories stated:1 if empty.",
    )
    max_tokens: int = Field(default=192, ge=8, description="The most tokens of an answer.")


_Config = TypeVar("_Config", bound=ModelConfig)


class _Presets(Protocol):
    @property
    def presets(self) -> Path: ...


def presets(specs: Mapping[str, _Presets]) -> dict[str, tuple[str, Path]]:
    """Return the family and the path of each bundled config, by the config's name.

    A name that several families use becomes ``FAMILY/NAME``.
    """
    files = [(family, path) for family in specs for path in specs[family].presets.glob("*.yaml")]
    stems = [path.stem for _, path in files]
    return {
        path.stem if stems.count(path.stem) == 1 else f"{family}/{path.stem}": (family, path)
        for family, path in sorted(files, key=lambda file: file[1].stem)
    }


def family_words(config: Mapping[str, Any], spec: TrainingSpec) -> dict[str, Any]:
    """Return a config with its keys in its family's words."""
    words = _words(spec)
    return {
        words.get(key, key): family_words(value, spec) if isinstance(value, Mapping) else value
        for key, value in config.items()
    }


def _words(spec: TrainingSpec) -> dict[str, str]:
    return {"items": spec.items, "per_item": f"per_{spec.item}"}


def load_config(
    kind: type[_Config], source: str, specs: Mapping[str, _Presets], **changes: Any
) -> _Config:
    """Return the checked config of a preset (by name) or a YAML file.

    Paths in a file are relative to its folder. ``changes`` are keys that replace those of the file;
    None changes nothing, and a dictionary changes keys of a section: ``judge={"by": "checks"}``.

    Raises:
        InputError: There is no such config, it is not YAML, or a key is wrong; the message names
            the file and the line of the key.
    """
    shipped = presets(specs)
    family, path = shipped.get(source, (next(iter(specs)) if len(specs) == 1 else None, source))
    path = Path(path)
    file = read_config(path, missing=f"name a YAML file, or one of {', '.join(shipped)}")
    values = dict(file.values)
    family = values.setdefault("family", family)
    if not isinstance(family, str) or family not in specs:
        raise InputError(
            "family: there are several; choose one"
            if family is None
            else f"family: there is no '{family}'",
            file=path,
            line=file.line(("family",)),
            hint=f"the families that can be trained are {', '.join(specs)}",
        )
    for key in ("data", "prompts"):
        if isinstance(values.get(key), str):
            values[key] = path.parent / Path(values[key]).expanduser()
    for key in ("model", "fluency_model", "from"):
        if isinstance(name := values.get(key), str):
            values[key] = _located_model(name, path.parent)
    for key, value in changes.items():
        if value is not None:
            inner = values.get(key)
            if isinstance(inner, dict) and isinstance(value, dict):
                value = {**inner, **value}
            values[key] = value
    spec = specs[family]
    words = _words(spec) if isinstance(spec, TrainingSpec) else {}
    fields = {word: field for field, word in words.items()}

    def renamed(part: dict[str, Any]) -> dict[str, Any]:
        return {key if (f := fields.get(key, key)) in part else f: part[key] for key in part}

    if isinstance(values.get("candidates"), dict):
        values["candidates"] = renamed(values["candidates"])
    return _checked(kind, renamed(values), file, words)


def _located_model(name: str, folder: Path) -> str:
    """Return a model's name; a name like those on the hub is a folder if the folder exists."""
    if name == SMOLLM2 or shipped_adapter(plain_name(name)):
        return name
    here = (folder / Path(name).expanduser()).absolute()
    return str(here) if is_pathlike(name) or here.exists() else name


def _checked(
    kind: type[_Config], values: Mapping[str, Any], file: ConfigFile, words: Mapping[str, str]
) -> _Config:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = tuple(words.get(str(part), str(part)) for part in first["loc"])
        problem = value_problem(first)
        raise InputError(
            f"{'.'.join(where) or 'the config'}: {problem[:1].lower()}{problem[1:]}"
            + (f" (it is {first['input']!r:.60})" if first["type"] not in _HINTS else ""),
            file=file.path,
            line=file.line(where),
            hint=_HINTS.get(first["type"], "change it"),
        ) from None
