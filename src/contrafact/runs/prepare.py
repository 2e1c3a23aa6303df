"""Everything that can be wrong is found here, before the first call of a model."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, Model, get_model

from contrafact.errors import InputError
from contrafact.finforce.bundled import bundled_headlines, bundled_shots
from contrafact.finforce.data import LoadNotes, load_headlines
from contrafact.finforce.generation import Method
from contrafact.finforce.judging import Judging
from contrafact.finforce.methods import MethodContext, make_method
from contrafact.finforce.task import TASK_VERSION
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Headline
from contrafact.runs.manifest import DataRecord, PackRecord
from contrafact.runs.settings import RunSettings, identity

__all__ = ["Prepared", "open_model", "prepare"]

BUNDLED = "bundled samples"
# Providers word their errors for a terminal: colours, and Rich's tags.
_MARKUP = re.compile(r"\x1b\[[0-9;]*m|\[/?(?:bold|italic|blue|red|dim)\]")


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to start.

    Attributes:
        settings: What was asked for.
        identity: Equal for runs that are meant to give equal results.
        headlines: The items, limited.
        methods: The methods, by name, their templates checked.
        judging: The rubrics, checked; none where no judge was named.
        pack: The prompt pack.
        data: What the manifest says of the data.
        pool: What it says of the pool of examples, where a file was named.
    """

    settings: RunSettings
    identity: str
    headlines: list[Headline]
    methods: dict[str, Method]
    judging: Judging | None
    pack: PromptPack
    data: DataRecord
    pool: DataRecord | None

    @property
    def pack_record(self) -> PackRecord:
        """What the manifest says of the prompt pack."""
        return PackRecord(name=self.pack.name, hash=self.pack.hash)


def prepare(settings: RunSettings) -> Prepared:
    """Load and check all that a run names: data, examples, prompts, methods.

    Raises:
        InputError: for the first thing that is wrong.
    """
    notes = LoadNotes()
    headlines = load_headlines(settings.data, notes) if settings.data else bundled_headlines()
    headlines = headlines[: settings.limit]
    data = _record(settings.data, len(headlines), notes, "headlines")
    pool_notes = LoadNotes()
    pool = bundled_shots()
    pool_record = None
    if settings.shots_from:
        pool = load_headlines(settings.shots_from, pool_notes)
        pool_record = _record(settings.shots_from, len(pool), pool_notes, "shots")
    pack = open_pack(settings.prompts)
    context = MethodContext(pack=pack, shots=settings.shots, pool=pool, seed=settings.seed)
    methods = {name: make_method(name, context) for name in settings.methods}
    if settings.draws > 1 and not any(method.shots for method in methods.values()):
        raise InputError(
            f"--draws {settings.draws} draws few-shot examples, and no method here shows any",
            mend="add --method few-shot, or leave --draws out",
        )
    judging = Judging(pack, settings.judge_faults) if settings.judges else None
    contents = {"data": data.sha256, "pack": pack.hash, "task": TASK_VERSION.split("-")[0]}
    if any(method.shots for method in methods.values()):
        contents["shots"] = pool_record.sha256 if pool_record else _hash(_bundled("shots"))
    return Prepared(
        settings=settings,
        identity=identity(settings, contents),
        headlines=headlines,
        methods=methods,
        judging=judging,
        pack=pack,
        data=data,
        pool=pool_record,
    )


def open_model(name: str, *, config: GenerateConfig, **model_args: Any) -> Model:
    """Return an Inspect model, or say in one line why it cannot be used.

    Raises:
        InputError: if there is no such provider, its package or key is missing, or a local
            model's file is not there.
    """
    try:
        return get_model(name, config=config, **model_args)
    except InputError:
        raise
    except Exception as error:
        told = " ".join(_MARKUP.sub("", str(error)).split()).removeprefix("ERROR: ") or repr(error)
        raise InputError(
            f"cannot use the model '{name}': {told[:400].rstrip('.')}",
            mend="check the name (provider/model), its package and its key",
        ) from error


def _record(path: Path | None, items: int, notes: LoadNotes, what: str) -> DataRecord:
    if path is None:
        return DataRecord(name=BUNDLED, sha256=_hash(_bundled(what)), items=items)
    return DataRecord(name=path.name, sha256=_hash(path), items=items, notes=notes.lines())


def _bundled(what: str) -> Path:
    from contrafact.finforce import bundled

    return Path(bundled.__file__).parent / "samples" / f"{what}.jsonl"


def _hash(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
