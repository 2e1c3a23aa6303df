"""Places where bulk work reads and writes: folders, globs or URIs, by pyarrow's file systems."""

import fnmatch
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyarrow import fs  # type: ignore[import-untyped]

from contrafact.errors import InputError
from contrafact.files.atomic import write_bytes

_WILD = "*?["
_SUFFIXES = (".parquet", ".jsonl", ".ndjson")
_SIDECAR = re.compile(r"\.(?:csv|tsv|xlsx|json|jsonl|ndjson|parquet)(\.[a-z-]+\.jsonl)\Z")
"""What stages write beside an output (`sidecar_path`): dropped rows, decisions, replies."""
_HIDDEN = (".", "_")


@dataclass(frozen=True)
class Place:
    """A path in some file system; it is sent to workers by pickle.

    Attributes:
        given: The path or URI (``s3://bucket/folder``, ``gs://…``, ``file:///…``), as users write
            it. The part after ``?`` is for the file system: ``s3://b/f?endpoint_override=…``.
    """

    given: str

    @property
    def remote(self) -> bool:
        return "://" in self.given

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        scheme, _, rest = self.given.partition("://")
        user, mark, _ = rest.partition("/")[0].rpartition("@")
        keyless = user == "anonymous" and scheme in ("gs", "gcs")
        if self.remote and mark and not keyless:
            raise InputError(
                "keys in a URI would appear in manifests and messages",
                file=self.given.partition("://")[0] + "://…@" + self.given.rpartition("@")[2],
                hint="leave them out, and set them in the environment of every node",
            )
        try:
            if self.remote:
                system, path = fs.FileSystem.from_uri(self.given)
                return system, path
            return fs.LocalFileSystem(), str(Path(self.given).absolute())
        except (ValueError, OSError, NotImplementedError) as error:
            raise InputError(
                f"cannot be opened: {' '.join(str(error).split())[:300]}",
                file=self.given,
                hint="use a path, or a URI such as s3://bucket/folder",
            ) from error

    @property
    def system(self) -> Any:
        return self._opened[0]

    @property
    def path(self) -> str:
        return self._opened[1]

    @property
    def is_local(self) -> bool:
        """Whether it is a folder or file on this machine, mounted ones included."""
        return isinstance(self.system, fs.LocalFileSystem)

    def whole(self) -> "Place":
        """Return the same place with a path that does not depend on the current folder."""
        return self if self.remote else Place(self.path)

    def child(self, name: str) -> "Place":
        """Return the place of a name below this one."""
        base, mark, query = self.given.partition("?") if self.remote else (self.given, "", "")
        return Place(f"{base.rstrip('/')}/{name}{mark}{query}")

    def problem(self, error: OSError, doing: str) -> InputError:
        reason = " ".join(str(error).split())[:300]
        return InputError(f"{doing}: {reason}", file=self.given, hint="check path and permissions")

    def info(self) -> Any:
        try:
            return self.system.get_file_info(self.path)
        except OSError as error:
            raise self.problem(error, "cannot be read") from error

    def names(self) -> list[str]:
        """Return the names of the files directly in a folder; none if it is not there."""
        selector = fs.FileSelector(self.path, allow_not_found=True)
        try:
            return sorted(
                info.base_name
                for info in self.system.get_file_info(selector)
                if info.type == fs.FileType.File
            )
        except OSError as error:
            raise self.problem(error, "cannot be read") from error

    def read(self) -> bytes | None:
        """Return a file's bytes; None if it is not there."""
        try:
            with self.system.open_input_stream(self.path) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.problem(error, "cannot be read") from error

    def read_json(self) -> Any:
        """Return the contents of a JSON file; None if it is not there."""
        data = self.read()
        if data is None:
            return None
        try:
            return json.loads(data)
        except ValueError as error:
            raise InputError(
                "is damaged", file=self.given, hint="remove it; its work is then done again"
            ) from error

    def write(self, data: bytes) -> None:
        """Write a file whole or not at all, by one upload or by renaming a new file."""
        try:
            if not self.is_local:
                with self.system.open_output_stream(self.path) as stream:
                    stream.write(data)
                return
            write_bytes(self.path, data)
        except OSError as error:
            raise self.problem(error, "cannot be written") from error

    def remove(self) -> None:
        try:
            self.system.delete_file(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise self.problem(error, "cannot be removed") from error


def input_files(given: str) -> list[Place]:
    """Return the files that a path, folder, glob or URI names, in the order of their paths.

    For a folder these are all Parquet and JSON Lines files below it, except hidden ones (their
    name, or that of a folder on the way, begins with a dot or an underscore) and those that stages
    write beside an output (``out.jsonl.dropped.jsonl``), unless a glob ends as they do: so the
    folder that one stage wrote can be the input of the next.
    """
    base, mark, query = given.partition("?") if "://" in given else (given, "", "")
    wild = min((at for sign in _WILD if (at := base.find(sign)) >= 0), default=-1)
    if wild >= 0:
        root = base[:wild].rpartition("/")[0] or ("/" if base.startswith("/") else ".")
        pattern = base[len(root) :].lstrip("/") if root != "." else base
    else:
        root, pattern = base, ""
    place = Place(f"{root}{mark}{query}").whole()
    info = place.info()
    if info.type == fs.FileType.NotFound:
        raise InputError("no such file or folder", file=given, hint="check the path")
    if info.type == fs.FileType.File:
        if not info.base_name.endswith(_SUFFIXES):
            raise InputError(
                "is neither Parquet nor JSON Lines",
                file=given,
                hint="give .parquet or .jsonl, or leave --engine out",
            )
        return [place]
    try:
        below = place.system.get_file_info(fs.FileSelector(place.path, recursive=True))
    except OSError as error:
        raise place.problem(error, "cannot be read") from error
    found = sorted(_chosen(below, place.path, pattern))
    if not found:
        raise InputError(
            "holds neither Parquet nor JSON Lines files", file=given, hint="check the path"
        )
    return [place.child(name) for name in found]


def _chosen(infos: list[Any], root: str, pattern: str) -> Iterator[str]:
    for info in infos:
        name = info.path[len(root) :].lstrip("/")
        parts = name.split("/")
        if info.type != fs.FileType.File or any(part.startswith(_HIDDEN) for part in parts):
            continue
        if not name.endswith(_SUFFIXES) or (pattern and not fnmatch.fnmatch(name, pattern)):
            continue
        if (beside := _SIDECAR.search(name)) and not pattern.endswith(beside[1]):
            continue
        yield name
