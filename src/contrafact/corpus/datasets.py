"""What ``--data`` names: a file, a dataset of the hub, or a published set, in the user's cache."""

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import quote

from contrafact.console import say_once
from contrafact.corpus.hub import choose_files, fetch_table, hub_address, join_files
from contrafact.errors import InputError
from contrafact.files.atomic import write_text
from contrafact.files.download import cache_dir
from contrafact.files.tables import table_file

__all__ = [
    "Dataset",
    "data_source",
    "dataset_named",
    "datasets",
    "fetch_dataset",
    "files_at_hand",
    "pinned",
]

BASE_VARIABLE = "CONTRAFACT_DATA_URL"
"""Names a mirror that stands in for the public hosts, with the same paths below it."""

FileProgress = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes at hand and the bytes in all, if they are known."""

_HOSTS = {"github": "https://raw.githubusercontent.com", "hub": "https://huggingface.co"}
_RECORD = "sources.json"


@dataclass(frozen=True)
class Dataset:
    """What ``datasets.toml`` says about one published dataset."""

    name: str
    title: str
    source: Literal["github", "hub", "file"]
    """A repository at a commit, a dataset of the hub, or a file that the user has."""
    page: str | None = None
    schema: str | None = None
    repository: str = ""
    revision: str = ""
    """The pinned commit; empty where the first fetch decides."""
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Its files, by their paths at the source, and the sum, in hex, that each must have; none
    before the first fetch of one without a known sum. Empty where the source lists them."""

    def folder(self) -> Path:
        """Return the folder of the cache that its files are in."""
        return cache_dir() / "data" / self.name


@cache
def datasets() -> dict[str, Dataset]:
    """Return the published datasets by name, in the order of ``datasets.toml``."""
    text = resources.files("contrafact.corpus").joinpath("datasets.toml").read_text("utf-8")
    return {
        name: Dataset(
            name=name,
            files={file["path"]: file["sha256"] for file in entry.pop("files", ())},
            **entry,
        )
        for name, entry in tomllib.loads(text).items()
    }


def dataset_named(name: str) -> Dataset:
    """Return one dataset, or raise an `InputError`."""
    found = datasets().get(name.strip().lower())
    if found is None:
        raise InputError(
            f"there is no dataset '{name}'", hint=f"choose one of: {', '.join(datasets())}"
        )
    return found


def files_at_hand(dataset: Dataset) -> tuple[list[Path], bool]:
    """Return the files of a dataset in the cache, by name alone, and whether they are all of it."""
    known = _recorded(dataset) or dataset
    paths = [_place(dataset, file) for file in known.files]
    present = [path for path in paths if path.is_file()]
    return present, bool(paths) and len(present) == len(paths)


def pinned(dataset: Dataset) -> str:
    """Return the commit that a fetched dataset is of; empty before the first fetch."""
    return (_recorded(dataset) or dataset).revision


def fetch_dataset(name: str, progress: FileProgress | None = None) -> list[Path]:
    """Download what is missing of a dataset into the cache, check it, and return its files.

    A dataset without known sums (RFC-BENCH) is taken as the hub has it on the first fetch: its
    commit and the sums of its files are recorded in ``sources.json`` next to the files, and held to
    from then on.
    """
    from contrafact.files.download import fetch, sha256_of

    dataset = dataset_named(name)
    if dataset.source == "file":
        raise InputError(
            f"'{dataset.name}' has no public download",
            hint="get the file from its authors and name it with --data FILE",
        )
    known = dataset
    if dataset.source == "hub":
        known = _recorded(dataset) or _listed(dataset)
    paths = []
    for file, known_sum in known.files.items():
        report = None if progress is None else partial(progress, file)
        path = _place(dataset, file)
        paths.append(fetch(_address(known, file), path, sha256=known_sum, progress=report))
        if known_sum is None:
            known = replace(known, files={**known.files, file: sha256_of(path)})
            _record(known)
    return paths


@dataclass(frozen=True, slots=True)
class DataSource:
    """A file, and where it is from, with the commit; empty for a file of the user's."""

    path: Path
    origin: str = ""


def data_source(given: str | Path) -> DataSource:
    """Return the file that somebody names, downloaded if it has to be.

    A file that is there is itself. Else ``hf://…`` is a dataset of the hub
    (`contrafact.corpus.hub`), and ``fin-force``, ``fin-force/supplement``, ``rfc-bench`` are the
    published sets (`contrafact.corpus.datasets`), of which ``:SPLIT`` takes one file of several.
    """
    text = str(given)
    if text == "hf:" or text.startswith("hf:/"):  # as a path, hf:// is hf:
        path, origin = fetch_table(hub_address(text))
        return DataSource(path, origin)
    name, _, split = text.partition(":")
    known = datasets().get(name.strip().lower().replace("/", "-"))
    if known is None or table_file(text).is_file():
        return DataSource(Path(given))
    if not files_at_hand(known)[1] and known.source != "file":
        say_once(f"{known.name}: downloading it into {known.folder()}, once")
    fetched = {str(path.relative_to(known.folder())): path for path in fetch_dataset(known.name)}
    chosen = choose_files(fetched, known.name, split=split)
    joined = join_files([fetched[one] for one in chosen], known.folder() / "joined")
    revision = pinned(known)
    return DataSource(joined, f"{known.name}@{revision}" + (f":{split}" if split else ""))


def _base(dataset: Dataset) -> str:
    return (os.environ.get(BASE_VARIABLE) or _HOSTS[dataset.source]).rstrip("/")


def _address(dataset: Dataset, file: str) -> str:
    tail = f"{quote(dataset.revision)}/{quote(file)}"
    if dataset.source == "github":
        return f"{_base(dataset)}/{dataset.repository}/{tail}"
    return f"{_base(dataset)}/datasets/{dataset.repository}/resolve/{tail}"


def _place(dataset: Dataset, file: str) -> Path:
    """Return where a file of a dataset goes: by its name alone where the source is pinned."""
    path = PurePosixPath(file)
    return dataset.folder() / (path.name if dataset.source == "github" else path)


def _recorded(dataset: Dataset) -> Dataset | None:
    if dataset.source != "hub":
        return None
    file = dataset.folder() / _RECORD
    try:
        return _with_files(dataset, json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            "the record of the first fetch is damaged",
            file=file,
            hint="remove it and fetch the dataset again",
        ) from error


def _record(dataset: Dataset) -> None:
    files = [{"path": path, "sha256": known} for path, known in dataset.files.items()]
    record = {"repository": dataset.repository, "revision": dataset.revision, "files": files}
    write_text(dataset.folder() / _RECORD, json.dumps(record, indent=2) + "\n")


def _listed(dataset: Dataset) -> Dataset:
    """Ask the hub for the commit and the files of a dataset, and record both."""
    from contrafact.files.download import fetch_text

    url = f"{_base(dataset)}/api/datasets/{dataset.repository}?blobs=true"
    text = fetch_text(url)
    try:
        answer = json.loads(text)
        if not isinstance(answer, dict):
            raise TypeError("the answer is not an object")
        files = [
            {"path": entry["rfilename"], "sha256": (entry.get("lfs") or {}).get("sha256")}
            for entry in answer["siblings"]
            if not entry["rfilename"].startswith(".")
        ]
        listed = _with_files(dataset, {"revision": answer["sha"], "files": files})
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            "the hub's list of files cannot be read",
            file=url,
            hint=f"get the files by hand from {dataset.page}",
        ) from error
    if not listed.files:
        raise InputError("the hub lists no files", file=url, hint=f"look at {dataset.page}")
    _record(listed)
    return listed


def _with_files(dataset: Dataset, record: dict[str, Any]) -> Dataset:
    """Return the dataset with a record's revision and files, none of them outside its folder."""
    files: dict[str, str | None] = {}
    for entry in record["files"]:
        path = PurePosixPath(entry["path"])
        if path.is_absolute() or ".." in path.parts or path.name in ("", _RECORD):
            raise ValueError(f"a file is called '{path}'")
        files[str(path)] = entry["sha256"]
    return replace(dataset, revision=str(record["revision"]), files=files)
