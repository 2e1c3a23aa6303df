"""Output partitions: written whole, once, under a manifest.

The output is a folder. ``part-00012.parquet`` has the kept rows of partition 12; ``_rejects``,
``_failures`` and ``_ledger`` have files of the same name, and ``_manifest`` records how every
finished partition was made. Folders that do not hold kept rows begin with an underscore, so that
readers of Parquet folders skip them.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow  # type: ignore[import-untyped]
from pyarrow import parquet

from contrafact.errors import InputError
from contrafact.stages.stage import FAILURES, KEPT, StageOutput
from contrafact_ray.fragments import BadRow, Fragment, read_fragment
from contrafact_ray.places import Place
from contrafact_ray.tables import common_schema, part_bytes, recast

_JOB = "_manifest/job.json"


@dataclass(frozen=True)
class Partition:
    """A fragment of the input, with its place in the input.

    Attributes:
        number: The partition's number, from 0.
        offset: The index of its first row in the whole input.
    """

    number: int
    offset: int
    fragment: Fragment

    @property
    def rows(self) -> int:
        """How many rows it has; for JSON Lines, how many lines."""
        return self.fragment.rows

    @property
    def name(self) -> str:
        """The name of the partition's files, without their suffix."""
        return f"part-{self.number:05}"

    def read(self) -> Iterator[tuple[int, dict[str, Any] | BadRow]]:
        """Yield its rows with their index in the whole input; blank lines are skipped."""
        before = self.offset - self.fragment.first
        return ((before + place, row) for place, row in read_fragment(self.fragment))

    def facts(self) -> dict[str, Any]:
        return {
            "first row": self.offset,
            "rows": self.rows,
            "file": self.fragment.file.given,
            "contents": self.fragment.digest,
        }


@dataclass(frozen=True)
class OutputFolder:
    """The folder of an output; it is sent to workers by pickle."""

    place: Place

    def begin(self, facts: Mapping[str, Any], what: str) -> None:
        """Record the facts that determine this output, or check that they have not changed."""
        wanted = json.loads(json.dumps(facts, default=str))
        job = self.place.child(_JOB)
        made = job.read_json()
        if made is None:
            if any(not name.startswith(".") for name in self.place.names()):
                raise InputError(
                    f"holds files that no {what} has written",
                    file=self.place.given,
                    hint="name a new folder with --out",
                )
            job.write((json.dumps(wanted, indent=1) + "\n").encode())
            return
        differs = [n for n in sorted(wanted | made) if wanted.get(n) != made.get(n)]
        if differs:
            shown = "; ".join(
                f"{name} was {_short(made.get(name))}, is {_short(wanted.get(name))}"
                for name in differs[:3]
            )
            raise InputError(
                f"was begun by another {what} ({shown})",
                file=self.place.given,
                hint="repeat that command to go on, or name another folder with --out",
            )

    def finished(self) -> set[str]:
        """Return the names of the partitions that have a manifest."""
        names = self.place.child("_manifest").names()
        return {
            name.removesuffix(".json")
            for name in names
            if name.startswith("part-") and name.endswith(".json")
        }

    def manifest(self, name: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.place.child(f"_manifest/{name}.json").read_json()
        return found

    def write(
        self, partition: Partition, made: StageOutput, more: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Write the output of a partition, its manifest last, and return the manifest."""
        hashes: dict[str, str] = {}
        types: dict[str, str] = {}
        tables = made.rows()
        for table in sorted({*tables, KEPT, FAILURES}):
            file = self.file(table, partition.name)
            rows = tables.get(table, [])
            if not rows:
                file.remove()  # left by an earlier try that failed
                continue
            data = part_bytes(rows)
            file.write(data)
            hashes[table] = hashlib.sha256(data).hexdigest()
            types[table] = _as_text(parquet.read_schema(pyarrow.BufferReader(data)))
        manifest = {
            "partition": partition.number,
            "input": partition.facts(),
            "rows": {table: len(rows) for table, rows in tables.items()},
            "sha256": hashes,
            "types": types,
            "retry": made.retry,
            "counts": [[key, count] for key, count in made.counts.items()],
            **more,
        }
        self._keep(partition.name, manifest)
        if not made.retry:
            self.place.child(f"_manifest/{partition.name}.retry").remove()
        return manifest

    def _keep(self, name: str, manifest: Mapping[str, Any]) -> None:
        # A partition with failed calls is not finished: a rerun makes it again from its journal.
        ending = "retry" if manifest["retry"] else "json"
        text = json.dumps(manifest, indent=1) + "\n"
        self.place.child(f"_manifest/{name}.{ending}").write(text.encode())

    def unify(self, manifests: Mapping[str, dict[str, Any]]) -> None:
        """Give the parts of each table the same columns and types, from all manifests."""
        for table in sorted(
            {table for made in manifests.values() for table in made.get("types", ())}
        ):
            types = {n: made["types"][table] for n, made in manifests.items()
                     if table in made.get("types", ())}  # fmt: skip
            schemas = {text: _from_text(text) for text in dict.fromkeys(types.values())}
            whole = common_schema(schemas.values())
            for name, own in types.items():
                if schemas[own].equals(whole):
                    continue
                file, manifest = self.file(table, name), manifests[name]
                data = recast(file.read() or b"", whole)
                file.write(data)
                manifest["sha256"][table] = hashlib.sha256(data).hexdigest()
                manifest["types"][table] = _as_text(whole)
                self._keep(name, manifest)

    def file(self, table: str, name: str) -> Place:
        return self.place.child(f"{'' if table == KEPT else f'_{table}/'}{name}.parquet")

    def notes(self, partition: Partition) -> Place:
        """Return the file of notes on a partition's rows that come from the whole input."""
        return self.place.child(f"_work/notes/{partition.name}.parquet")

    def journal(self, name: str) -> Path | None:
        """Return the path of a partition's journal of calls; None for a remote output."""
        if not self.place.is_local:
            return None
        return Path(self.place.path) / "_journal" / f"{name}.jsonl"


def _as_text(schema: Any) -> str:
    return base64.b64encode(schema.remove_metadata().serialize().to_pybytes()).decode()


def _from_text(text: str) -> Any:
    return pyarrow.ipc.read_schema(pyarrow.BufferReader(base64.b64decode(text)))


def _short(value: Any) -> str:
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
