"""The facts about the runs that a report's chapter covers."""

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Cost", "ReportMeta", "RunFacts", "Setting"]

Setting = str | int | float | bool | None


class Cost(BaseModel):
    """The cost of one model in one role."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(description="The model.")
    method: str | None = Field(description="The method; null if the cost belongs to no method.")
    role: str = Field(description="subject, judge, reader or fluency.")
    dollars: float | None = Field(description="US dollars at list price; null if unknown.")
    price: str = Field(description="Where the price comes from: free, listed or unknown.")


class RunFacts(BaseModel):
    """The facts about one run, from its manifest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="The run's name, usually its folder's.")
    systems: tuple[str, ...] = Field(default=(), description="Labels, as in the items frame.")
    models: tuple[str, ...] = Field(default=(), description="The models that wrote.")
    methods: tuple[str, ...] = ()
    shots: int | tuple[int, ...] = Field(
        default=0, description="Examples in a few-shot prompt; 0 for none; several in a grid."
    )
    draws: int = Field(default=1, description="How often the examples were drawn anew.")
    judges: tuple[str, ...] = Field(default=(), description="The judge, or a panel's members.")
    fluency_model: str | None = Field(default=None, description="What scored perplexities.")
    asked: dict[str, bool] = Field(
        default_factory=dict, description="How its judge was asked, where an exam may differ."
    )
    settings: dict[str, Setting] = Field(default_factory=dict, description="Of generation.")
    prompt_pack: str | None = None
    prompt_pack_hash: str | None = None
    templates: dict[str, str] = Field(
        default_factory=dict, description="The templates used: name to the hash of its text."
    )
    data: str | None = Field(default=None, description="The data file's or sample's name.")
    data_hash: str | None = Field(default=None, description="Its SHA-256.")
    bundled: bool = Field(default=False, description="Whether the data are the bundled samples.")
    data_count: int | None = Field(default=None, description="Items in it.")
    limit: int | None = Field(default=None, description="The most items that the run took.")
    versions: dict[str, str] = Field(
        default_factory=dict, description="Versions of the code, the task and their environment."
    )
    seed: int | None = None
    started: str | None = Field(default=None, description="Start time, ISO 8601.")
    finished: str | None = None
    complete: bool = Field(default=True, description="Whether every sample was finished.")
    calls: int | None = Field(default=None, description="Calls of models.")
    input_tokens: int | None = Field(default=None, description="Tokens sent to models.")
    output_tokens: int | None = Field(default=None, description="Tokens that came back.")
    cut_prompts: dict[str, tuple[int, int]] = Field(
        default_factory=dict,
        description="For each model that cut prompts: how many it cut, and how many it was sent.",
    )
    costs: tuple[Cost, ...] = Field(default=(), description="By model, method and role, if known.")
    self_judged: bool = Field(default=False, description="Whether a model judged its own texts.")
    notes: tuple[str, ...] = Field(default=(), description="Further notes for the reader.")


class ReportMeta(BaseModel):
    """The facts about all runs of a chapter, with the verdicts of a panel's members."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    created: str | None = Field(default=None, description="When the report was made, ISO 8601.")
    runs: tuple[RunFacts, ...] = Field(default=(), description="The runs it covers.")
    embedded_judge: bool = Field(
        default=False, description="Whether any judge is the small embedded model."
    )
    panel: pd.DataFrame | None = Field(
        default=None,
        description="Verdicts of a panel's members, one row each: system, draw, what names the "
        "row, criterion, judge, passed (1.0, 0.0 or NaN where the reply could not be read).",
    )

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(judge for run in self.runs for judge in run.judges))

    @property
    def bundled(self) -> bool:
        """Whether all runs are of the bundled samples."""
        return bool(self.runs) and all(run.bundled for run in self.runs)

    def judges_of(self, system: str) -> tuple[str, ...]:
        """Return the judges on whose verdicts a system's figures rest."""
        return next((run.judges for run in self.runs if system in run.systems), self.judges)

    @property
    def fluency_models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.fluency_model for run in self.runs if run.fluency_model))

    @property
    def one_fluency_model(self) -> bool:
        """Whether perplexities can be compared: all come from the same model."""
        return len(self.fluency_models) <= 1

    @property
    def self_judged(self) -> bool:
        """Whether a model judged its own texts in any run."""
        return any(run.self_judged for run in self.runs)
