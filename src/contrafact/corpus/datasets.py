"""What ``--data`` names: a file, a dataset of the hub, or a published set, in the user's cache."""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import quote

from contrafact.console import say_once
from contrafact.corpus.hub import (
    HubAddress,
    choose_files,
    fetch_table,
    fetch_tables,
    hub_address,
    tables_at_hand,
)
from contrafact.errors import InputError
from contrafact.files.download import cache_dir
from contrafact.files.tables import table_file

__all__ = [
    "Dataset",
    "data_source",
    "dataset_named",
    "datasets",
    "fetch_dataset",
    "is_fetched",
]

BASE_VARIABLE = "CONTRAFACT_DATA_URL"
"""Names a mirror that stands in for GitHub, with the same paths below it."""

FileProgress = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes at hand and the bytes in all, if they are known."""

_HOST = "https://raw.githubusercontent.com"


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
    files: Mapping[str, str] = field(default_factory=dict)
    """Its files, by their paths at the source, and the sum, in hex, that each must have. Empty
    where the source lists them."""

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


def is_fetched(dataset: Dataset) -> bool:
    """Return whether a dataset is in the cache."""
    if dataset.source == "hub":
        return bool(tables_at_hand(HubAddress(dataset.repository)))
    return bool(dataset.files) and all(_place(dataset, file).is_file() for file in dataset.files)


def fetch_dataset(name: str, progress: FileProgress | None = None) -> list[Path]:
    """Download what is missing of a dataset into the cache, check it, and return its files.

    One of the hub is held to the commit of its first fetch (`contrafact.corpus.hub`).
    """
    from contrafact.files.download import fetch

    dataset = dataset_named(name)
    if dataset.source == "file":
        raise InputError(
            f"'{dataset.name}' has no public download",
            hint="get the file from its authors and name it with --data FILE",
        )
    if dataset.source == "hub":
        return fetch_tables(HubAddress(dataset.repository))
    paths = []
    for file, known_sum in dataset.files.items():
        report = None if progress is None else partial(progress, file)
        base = (os.environ.get(BASE_VARIABLE) or _HOST).rstrip("/")
        url = f"{base}/{dataset.repository}/{quote(dataset.revision)}/{quote(file)}"
        paths.append(fetch(url, _place(dataset, file), sha256=known_sum, progress=report))
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
        return DataSource(*fetch_table(hub_address(text)))
    name, _, split = text.partition(":")
    known = datasets().get(name.strip().lower().replace("/", "-"))
    if known is None or table_file(text).is_file():
        return DataSource(Path(given))
    if known.source == "hub":
        return DataSource(*fetch_table(HubAddress(known.repository, split=split)))
    if not is_fetched(known) and known.source != "file":
        say_once(f"{known.name}: downloading it into {known.folder()}, once")
    fetched = {path.name: path for path in fetch_dataset(known.name)}
    (chosen,) = choose_files(fetched, known.name, split=split)
    origin = f"{known.name}@{known.revision}" + (f":{split}" if split else "")
    return DataSource(fetched[chosen], origin)


def _place(dataset: Dataset, file: str) -> Path:
    """Return where a file of a dataset goes: by its name alone."""
    return dataset.folder() / PurePosixPath(file).name
