"""Outputs that were made elsewhere: their rows, and the method that returns them.

A family's `TaskRun` defines which fields such a row may have (``output_fields``), which sets of
them suffice (``output_layouts``), and how a row is read (``read_output``). The outputs are stored
in a file of the run's folder, and the method `Recorded` answers with them.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote, unquote
from weakref import WeakValueDictionary

from inspect_ai.model import ModelOutput

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings
from contrafact.family.task import read_text
from contrafact.files.fields import is_absent
from contrafact.files.json_rows import json_lines
from contrafact.files.tables import json_line
from contrafact.models.asking import Ask, Unanswered
from contrafact.models.opening import NO_MODEL
from contrafact.records import Output
from contrafact.text.delimit import replace_surrogates

__all__ = [
    "OPTIONS",
    "OUTPUTS",
    "RECORDED_ITEMS",
    "LeftOut",
    "OutputRow",
    "RecordedOutputs",
    "RecordedRow",
    "RecordedSystem",
    "Units",
    "method",
    "recorded_spec",
    "register_outputs",
]

UnitT = TypeVar("UnitT")

OPTIONS = {"outputs": "", "system": ""}
"""The method's options, as `recorded_spec` writes them."""

OUTPUTS = "outputs.jsonl"
"""The file of outputs in a run's folder: one per line, by system, sample and draw."""

RECORDED_ITEMS = "given-items.jsonl"
"""The file of items, if they came with the outputs."""

NOT_RECORDED = "no output was given"
"""The reason given for an output that is missing from the file."""


class Units(Generic[UnitT]):
    """An index of the data's units, to find the unit that a row belongs to; empty without data."""

    def __init__(self, units: Sequence[UnitT]):
        self.by_id: Mapping[str, UnitT] = {str(unit.id): unit for unit in units}  # type: ignore[attr-defined]
        self._indexes: dict[str, dict[Hashable, list[str]]] = {}

    def ids(self, name: str, key: Callable[[UnitT], Hashable], value: Hashable) -> tuple[str, ...]:
        """Return the ids of the units whose key equals a value; ``name`` is the key's name."""
        if name not in self._indexes:
            index = self._indexes.setdefault(name, {})
            for identity, unit in self.by_id.items():
                index.setdefault(key(unit), []).append(identity)
        return tuple(self._indexes[name].get(value, ()))


@dataclass(frozen=True)
class RecordedRow:
    """A row of a file of outputs: ``row`` by the file's own columns, ``fields`` by the names of
    ``TaskRun.output_fields``, absent values left out; ``units`` are the data's units.
    """

    fields: Mapping[str, Any]
    row: Mapping[str, Any]
    units: Units[Any]
    settings: RunSettings

    def text(self, name: str) -> str:
        """Return a field's value as text; empty if it has none."""
        value = self.fields.get(name)
        if is_absent(value):
            return ""
        if isinstance(value, dict | list):
            raise InputError(f"'{name}' is not text: {str(value)[:40]!r}", hint="write it as text")
        return replace_surrogates(str(value))

    def output(self, name: str) -> Output:
        """Return the output whose text a field holds; an empty or overlong text is invalid."""
        text, reason = self.text(name), self.text("invalid")
        if not text.strip() and reason:
            return Output(text=None, invalid=reason)
        return read_text(ModelOutput.from_content(NO_MODEL, text))


@dataclass(frozen=True)
class OutputRow:
    """The output read from a row.

    Attributes:
        sample_ids: The units that it is an output for: one, or several that look the same.
        parts: The parts of the output, by name; the whole output under ``""``.
        item: The row from which ``TaskRun.load`` reads the item, if the file has it.
    """

    sample_ids: tuple[str, ...]
    parts: Mapping[str, Any]
    item: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class RecordedSystem:
    """A system whose outputs were made elsewhere.

    Attributes:
        model: The model that wrote them, as the file or the log names it; else the system's name.
        outputs: By sample and draw, the fields of the output in the form of a sample's store.
        verdicts: Verdicts that judges gave on them earlier, in the form of the table of verdicts.
        costs: By sample and draw, the cost of writing the output, in the form of `cost_columns`.
    """

    name: str
    model: str
    method: str
    shots: int = 0
    outputs: Mapping[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    verdicts: Sequence[Mapping[str, Any]] = ()
    costs: Mapping[tuple[str, int], Mapping[str, float]] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, Any]:
        """The system as columns, in the form of `TaskRun.system_of`."""
        named = {"system": self.name, "model": self.model}
        return {**named, "method": self.method, "shots": self.shots}

    @property
    def draws(self) -> int:
        """The largest number of outputs for an item."""
        return max((draw for _, draw in self.outputs), default=1)

    @property
    def judged_outputs(self) -> int:
        """The number of outputs that a judge would see: those not invalid as a whole."""
        return sum(not isinstance(output.get("invalid"), str) for output in self.outputs.values())


@dataclass(frozen=True)
class LeftOut:
    """A row of a file that is not scored."""

    line: int
    system: str
    reason: str


@dataclass(frozen=True)
class RecordedOutputs:
    """Everything that a run scores when its outputs were made elsewhere.

    Attributes:
        systems: The systems, by name.
        asked: The ids of the units that are scored; a missing output of a unit counts as invalid.
        items: The rows that the items are loaded from, if they came with the outputs.
        scored: The perplexities of these texts, if the same model scored them earlier.
        source: The command's options: ``score`` with ``system``, ``columns`` and ``partial``, or
            ``run`` with the other options given.
    """

    systems: Mapping[str, RecordedSystem]
    asked: frozenset[str]
    items: Sequence[Mapping[str, Any]] | None = None
    left_out: Sequence[LeftOut] = ()
    scored: Path | None = None
    source: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        for name, recorded in self.systems.items():
            for (sample, draw), output in recorded.outputs.items():
                row = {"system": name, "sample_id": sample, "draw": draw, "output": output}
                yield json_line(row)


class Recorded:
    """A method that answers with outputs made elsewhere, by sample and draw."""

    name = "given"
    shots = 0
    asked_model = NO_MODEL

    def __init__(
        self, outputs: Mapping[tuple[str, int], Mapping[str, Any]], output_type: Callable[..., Any]
    ):
        self._outputs, self._type = outputs, output_type

    async def __call__(self, item: Any, ask: Ask, *, draw: int = 1) -> Any:
        """Return the output; raise `Unanswered` if none was given."""
        kept = self._outputs.get((str(item.id), draw))
        if kept is None:
            raise Unanswered(NOT_RECORDED)
        return self._type(**kept)

    def plan(self, item: Any) -> tuple[()]:
        return ()


def recorded_spec(outputs: Path, system: str) -> str:
    """Return the method that answers with the outputs of one system in a file.

    The file is JSON Lines: ``system``, ``sample_id``, ``draw``, ``output``.
    """
    return f"{__name__}:outputs={quote(str(outputs), safe='/')},system={quote(system, safe='')}"


def method(context: MethodContext) -> Recorded:
    """Return the method; `InputError` if the file cannot be read or lacks the system."""
    path, system = (unquote(str(context.options[name])) for name in ("outputs", "system"))
    registered = _held.get(path)
    if registered is not None and system in registered.systems:
        outputs: Mapping[Any, Any] | None = registered.systems[system].outputs
    else:
        state = Path(path).stat() if Path(path).exists() else None
        outputs = _outputs(path, state.st_mtime_ns if state else 0).get(system)
    if outputs is None:
        raise InputError(f"the file has no outputs of the system '{system}'", file=path)
    return Recorded(outputs, task_named(context.settings.task).run.load().output_type)


def register_outputs(path: Path, recorded: RecordedOutputs) -> None:
    """Let methods answer with these outputs from memory instead of from their file."""
    _held[str(path)] = recorded


_held: WeakValueDictionary[str, RecordedOutputs] = WeakValueDictionary()


@lru_cache(maxsize=4)
def _outputs(path: str, _changed: int) -> dict[str, dict[tuple[str, int], dict[str, Any]]]:
    systems: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
    for line, row in json_lines(Path(path).open("rb"), path):  # noqa: SIM115 - with keys that are null
        try:
            key = (str(row["sample_id"]), int(row["draw"]))
            systems.setdefault(str(row["system"]), {})[key] = dict(row["output"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                "not an output that `contrafact score` wrote", file=path, line=line
            ) from error
    return systems
