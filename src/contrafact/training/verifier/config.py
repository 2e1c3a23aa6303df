"""What a training of a verifier does: one YAML file, checked key by key."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from contrafact.family.learning import LearningSpec
from contrafact.files.config import ConfigFile, nearest, read_config
from contrafact.models.gguf import plain_name
from contrafact.training.config import (
    Learning,
    Lora,
    Part,
    TrainingConfig,
    checked_config,
    located_model,
)

__all__ = ["Shares", "Source", "Stage", "VerifierConfig", "load_verifier_config", "presets"]


class Source(Part):
    """Items of one family."""

    count: int = Field(
        ge=1, description="How many stories, headlines or pairs; fewer if there are no more."
    )
    data: Path | None = Field(
        default=None, description="File of them; drawn or bundled ones if none."
    )


class Shares(Part):
    """How the values of each group are shared out; what is in no share of all is left out."""

    validation: float = Field(default=0.15, gt=0, lt=0.5, description="To stop and calibrate by.")
    held_out: float = Field(default=0.25, gt=0, lt=0.5, description="To measure on.")


class Stage(Learning):
    """One stage of a curriculum: it goes on with the model of the stage before."""

    criteria: tuple[str, ...] = Field(
        min_length=1,
        description="Criteria and lessons, as FAMILY/NAME; FAMILY is all its criteria.",
    )
    items: int = Field(ge=2, description="At most so many items, evenly over criteria.")
    epochs: float = Field(default=1.0, gt=0)
    learning_rate: float = Field(default=5e-5, gt=0)
    final_learning_rate: float = Field(default=5e-6, ge=0)
    warm_up_steps: int = Field(default=50, ge=0, description="Steps of a rising rate at first.")
    evaluate_every: int = Field(default=200, ge=1)
    patience: int = Field(default=5, ge=1)
    validate_on: int = Field(default=400, ge=2, description="At most so many items to stop by.")


class VerifierConfig(TrainingConfig):
    """One training of a verifier."""

    head: Literal["new", "answers"] = Field(
        default="new",
        description="The output layer begins at random, or as what the model itself says of "
        "' true' and ' false'; encoders have new ones.",
    )
    lora: Lora | None = Field(
        default=None, description="The adapter that is trained; all weights if none."
    )
    sources: dict[str, Source] = Field(min_length=1, description="Items, by family.")
    shares: Shares = Shares()
    length: int = Field(
        default=256, ge=8, description="Most tokens of an item; longer ones are left out, counted."
    )
    stages: tuple[Stage, ...] = Field(min_length=1, description="The curriculum, in order.")
    measured: int = Field(
        default=1000, ge=40, description="At most so many held-out items of each criterion."
    )
    decided: float = Field(
        default=0.75,
        ge=0.5,
        lt=1,
        description="A verdict is given where its calibrated probability is at least this.",
    )

    @field_validator("model")
    @classmethod
    def _one_name(cls, name: str) -> str:
        return plain_name(name)

    @model_validator(mode="after")
    def _known(self) -> Self:
        for stage in self.stages:
            for name in stage.criteria:
                if name.partition("/")[0] not in self.sources:
                    raise ValueError(f"a stage asks '{name}', of which there is no source")
        return self


def presets() -> dict[str, Path]:
    """Return the configs that ship, by name."""
    folder = Path(str(files("contrafact.training.verifier"))) / "presets"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load_verifier_config(
    source: str, specs: Mapping[str, LearningSpec], **changes: Any
) -> VerifierConfig:
    """Return a checked config.

    Args:
        source: The name of a preset, or a file. A path in a file is relative to the file's folder.
        specs: What training a verifier needs of each family, by its name.
        changes: Keys to set, over what the file says; None changes nothing.

    Raises:
        InputError: There is no such config, it is no YAML, or a key is wrong; the message names
            the file, the line of the key, and a hint.
    """
    path = presets().get(source, Path(source))
    file = read_config(path, missing=f"name a YAML file, or one of {', '.join(presets())}")
    given = dict(file.values)
    sources = given.get("sources")
    if isinstance(sources, dict):
        given["sources"] = {name: _placed(one, path.parent) for name, one in sources.items()}
    if isinstance(given.get("model"), str):
        given["model"] = located_model(given["model"], path.parent)
    given |= {key: value for key, value in changes.items() if value is not None}
    config = checked_config(VerifierConfig, given, file)
    _check_names(config, specs, file)
    return config


def _placed(source: object, folder: Path) -> object:
    if isinstance(source, dict) and isinstance(data := source.get("data"), str):
        return {**source, "data": folder / Path(data).expanduser()}
    return source


def _check_names(
    config: VerifierConfig, specs: Mapping[str, LearningSpec], file: ConfigFile
) -> None:
    for name in config.sources:
        if name not in specs:
            raise file.problem(
                ("sources", name),
                f"sources: no family '{name}' makes items to learn from",
                nearest(name, list(specs)),
            )
    for place, stage in enumerate(config.stages):
        for asked in stage.criteria:
            family, _, name = asked.partition("/")
            known = (*specs[family].lessons, *specs[family].criteria)
            if name and name not in known:
                raise file.problem(
                    ("stages", place, "criteria"),
                    f"stages.{place}.criteria: {family} has no criterion or lesson '{name}'",
                    f"use {', '.join(known)}",
                )
