"""The data that ``--data`` names: a file, a published set, or a dataset of the Hugging Face hub.

Downloads stay in the user's cache. An address of the hub is
``hf://OWNER/NAME[@REVISION][/CONFIG][:SPLIT]``. Without a revision, the commit of the first
download is recorded and used again; ``@main`` asks for the newest. The dataset's card says which
files make up a configuration and a split; if it has no configurations, the files' names tell the
splits.

Requests go through the hub's own client (`contrafact.files.hub`).
"""

import fnmatch
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from contrafact.console import say_once
from contrafact.errors import InputError
from contrafact.files.atomic import atomic_path, write_text
from contrafact.files.download import cache_dir, fetch
from contrafact.files.hub import asked_of_hub, hub_api, hub_client
from contrafact.files.tables import json_line, read_rows, table_file

__all__ = ["data_source", "dataset_named", "datasets", "fetch_dataset", "is_fetched"]

BASE_VARIABLE = "CONTRAFACT_DATA_URL"
"""The environment variable with the URL of a mirror of GitHub, which has the same paths."""

FileProgress = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes downloaded so far and the total, if it is known."""

_HOST = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class Dataset:
    """A published dataset, as ``datasets.toml`` describes it."""

    name: str
    title: str
    source: Literal["github", "hub", "file", "package"]
    """A repository at a commit, a dataset of the hub, a file that the user has, or this package."""
    page: str | None = None
    schema: str | None = None
    repository: str = ""
    revision: str = ""
    """The pinned commit; empty if the first fetch decides it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256, in hex, that each file must have, by its path at the source. Empty if the source
    lists the files."""

    def place(self, file: str = "") -> Path:
        """Return the path of one of its files, or of its folder without a file."""
        if self.source == "package":
            return Path(str(resources.files("contrafact"))) / self.repository / file
        return cache_dir() / "data" / self.name / PurePosixPath(file).name


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
    """Return the dataset of a name; raise an `InputError` if there is none."""
    found = datasets().get(name.strip().lower())
    if found is None:
        raise InputError(
            f"there is no dataset '{name}'", hint=f"choose one of: {', '.join(datasets())}"
        )
    return found


def is_fetched(dataset: Dataset) -> bool:
    """Return whether a dataset is on this machine."""
    if dataset.source == "hub":
        return _holds_tables(HubAddress(dataset.repository))
    return bool(dataset.files) and all(dataset.place(file).is_file() for file in dataset.files)


def fetch_dataset(name: str, progress: FileProgress | None = None) -> list[Path]:
    """Download the missing files of a dataset into the cache, check them, and return all files.

    A dataset of the hub stays at the commit of its first fetch (`fetch_table`).
    """
    dataset = dataset_named(name)
    if dataset.source == "file":
        raise InputError(
            f"'{dataset.name}' has no public download",
            hint="get the file from its authors and name it with --data FILE",
        )
    if dataset.source == "hub":
        if not is_fetched(dataset):
            say_once(f"{dataset.name}: downloading it from the hub, once")
        return fetch_tables(HubAddress(dataset.repository))
    if dataset.source == "package":
        return [*map(dataset.place, dataset.files)]
    paths = []
    for file, known_sum in dataset.files.items():
        report = None if progress is None else partial(progress, file)
        base = (os.environ.get(BASE_VARIABLE) or _HOST).rstrip("/")
        url = f"{base}/{dataset.repository}/{quote(dataset.revision)}/{quote(file)}"
        paths.append(fetch(url, dataset.place(file), sha256=known_sum, progress=report))
    return paths


@dataclass(frozen=True, slots=True)
class DataSource:
    """A file, and its origin with the commit; the origin is empty for a user's own file."""

    path: Path
    origin: str = ""


def data_source(given: str | Path) -> DataSource:
    """Return the file that ``--data`` names, downloaded if necessary.

    The path of an existing file is used as it is. Otherwise ``hf://…`` is a dataset of the hub
    (`fetch_table`), and others are published sets (`datasets`), as in ``fin-force/supplement``;
    ``:SPLIT`` chooses one of several files.
    """
    text = str(given)
    if text == "hf:" or text.startswith("hf:/"):  # as a path, hf:// is hf:
        return fetch_table(hub_address(text))
    name, _, split = text.partition(":")
    known = datasets().get(name.strip().lower().replace("/", "-"))
    if known is None and re.fullmatch(r"[\w/:-]*\w", text) and not Path(text).exists():
        hint = f"name a file, or a dataset: {', '.join(datasets())}"
        raise InputError("no such file or dataset", file=text, hint=hint)
    if known is None or table_file(text).is_file():
        return DataSource(Path(given))
    if known.source == "hub":
        return fetch_table(HubAddress(known.repository, split=split))
    if not is_fetched(known) and known.source != "file":
        say_once(f"{known.name}: downloading it into {known.place()}, once")
    fetched = {path.name: path for path in fetch_dataset(known.name)}
    (chosen,) = choose_files(fetched, known.name, split=split)
    origin = f"{known.name}@{known.revision}" + (f":{split}" if split else "")
    return DataSource(fetched[chosen], origin)


_ADDRESS = re.compile(
    r"hf:/+(?:datasets/)?(?P<repository>\w[\w.-]*/\w[\w.-]*)(?:@(?P<revision>\w[\w.-]*))?"
    r"(?:/(?P<config>\w[\w.-]*))?(?::(?P<split>\w[\w.-]*))?",
    re.ASCII,
)
_SHAPE = "hf://OWNER/NAME, optionally followed by @REVISION, /CONFIG and :SPLIT"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TABLES = (".parquet", ".jsonl", ".ndjson", ".csv", ".tsv", ".json", ".xlsx")
_SPLITS = ("train", "test", "validation", "valid", "val", "dev", "eval")
_HELD = "held.json"

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class HubAddress:
    """The parts of a Hub address; ``split`` may be the name of a file."""

    repository: str
    revision: str = ""
    config: str = ""
    split: str = ""

    def __str__(self) -> str:
        parts = (("@", self.revision), ("/", self.config), (":", self.split))
        return f"hf://{self.repository}" + "".join(mark + text for mark, text in parts if text)


def hub_address(text: str) -> HubAddress:
    """Return the parts of a Hub address; raise an `InputError` if the text is not one."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        raise InputError(f"'{text[:80]}' is not a dataset's address", hint=f"write {_SHAPE}")
    return HubAddress(**{name: part or "" for name, part in found.groupdict().items()})


def fetch_table(address: HubAddress) -> DataSource:
    """Return a dataset's file in the cache, downloaded if necessary.

    A split of several files becomes one file of JSON Lines. If a download fails, the part that
    arrived is kept, and a later call continues from there.
    """
    hub_client()
    home = cache_dir() / "hub" / address.repository
    commit, names = _listed(address, home)
    folder = home / commit
    card: Mapping[str, Any] = {}
    if "README.md" in names:
        from huggingface_hub.repocard import metadata_load

        card = metadata_load(_file(address, commit, "README.md", folder)) or {}
    chosen = choose_files(names, str(address), address.config, address.split, card)
    files = [_file(address, commit, name, folder) for name in chosen]
    pinned = HubAddress(address.repository, commit, address.config, address.split)
    return DataSource(_joined(files, folder / "joined"), str(pinned))


def fetch_tables(address: HubAddress) -> list[Path]:
    """Return all tables of a dataset in the cache, downloaded if necessary."""
    hub_client()
    home = cache_dir() / "hub" / address.repository
    commit, names = _listed(address, home)
    found = _tables_of(names, str(address))
    return [_file(address, commit, name, home / commit) for name in found]


def _holds_tables(address: HubAddress) -> bool:
    """Return whether all tables of a dataset's recorded commit are in the cache."""
    home = cache_dir() / "hub" / address.repository
    if not (recorded := _recorded(home / _HELD)):
        return False
    commit, names = recorded
    return all((home / commit / "files" / one).is_file() for one in _tables_of(names, str(address)))


def _joined(files: Sequence[Path], folder: Path) -> Path:
    """Return one file with the rows of all files, made in a folder unless it exists already."""
    if len(files) == 1:
        return files[0]
    joined = folder / f"{files[0].stem}-and-{len(files) - 1}-more.jsonl"
    if not joined.exists():
        joined.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(joined) as draft, draft.open("w", encoding="utf-8") as sink:
            for file in files:
                sink.writelines(json_line(row) for _, row in read_rows(file))
    return joined


def choose_files(
    names: Iterable[str],
    source: str,
    config: str = "",
    split: str = "",
    card: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return the sorted names of the files of a configuration and a split.

    Args:
        config: The configuration; if empty, the only or the default configuration.
        split: The split, or a file's name without its suffix; if empty, the only split.
    """
    tables = _tables_of(names, source)
    splits: dict[str, list[str]] = {}
    configs = (card or {}).get("configs")
    if isinstance(configs, list) and configs:
        for name, pattern in _patterns_of(configs, source, config):
            splits.setdefault(name, []).extend(fnmatch.filter(tables, pattern))
    elif config:
        raise _lacks("configuration", config, source, ())
    else:
        for name in tables:
            splits.setdefault(_split_of(name), []).append(name)
        if split not in splits and (
            stems := [name for name in tables if PurePosixPath(name).stem == split]
        ):
            return stems
    if not split and len(splits) > 1:
        raise InputError(
            f"the dataset has several splits: {', '.join(list(splits)[:8])}",
            file=source,
            hint=f"name one of them: {source}:{next(iter(splits))}",
        )
    wanted = split or next(iter(splits), "")
    if not splits.get(wanted):
        raise _lacks("split", wanted, source, splits)
    return sorted(splits[wanted])


def _lacks(what: str, wanted: str, source: str, known: Iterable[str]) -> InputError:
    shown = ", ".join(list(known)[:8]) or "none"
    return InputError(f"there is no {what} '{wanted}'", file=source, hint=f"it has: {shown}")


def _patterns_of(configs: Sequence[Any], source: str, config: str) -> Iterator[tuple[str, str]]:
    """Yield the splits of a card's configuration, each with a pattern of file names."""
    known = {str(one.get("config_name", "default")): one for one in configs}
    default = next((name for name, one in known.items() if one.get("default")), "default")
    if not config and default not in known and len(known) > 1:
        hint = f"name one after a slash: {', '.join(list(known)[:8])}"
        raise InputError("it has several configurations", file=source, hint=hint)
    chosen = config or (default if default in known else next(iter(known)))
    if chosen not in known:
        raise _lacks("configuration", chosen, source, known)
    parts = known[chosen].get("data_files") or []
    for part in parts if isinstance(parts, list) else [parts]:
        entry = part if isinstance(part, dict) else {"path": part}
        paths = entry.get("path") or []
        for pattern in paths if isinstance(paths, list) else [paths]:
            yield str(entry.get("split", "train")), str(pattern).removeprefix("./")


def _tables_of(names: Iterable[str], source: str) -> list[str]:
    tables = sorted(
        name
        for name in names
        if name.lower().endswith(_TABLES)
        and not any(part.startswith(".") for part in PurePosixPath(name).parts)
        and PurePosixPath(name).name not in ("croissant.json", "schema.json", "dataset_infos.json")
    )
    if not tables:
        raise InputError("there is no table in the dataset", file=source, hint="name another")
    return tables


def _split_of(name: str) -> str:
    """Return the split in a file's name or folder, or else its name without a shard number."""
    words = re.split(r"[/._-]+", name.lower())
    split_name = next((split for split in _SPLITS if split in words), None)
    stem = PurePosixPath(name).stem
    return split_name or re.sub(r"-\d{5}-of-\d{5}$", "", stem)


def _listed(address: HubAddress, home: Path) -> tuple[str, list[str]]:
    """Return a dataset's commit and its files' names, recorded so that the hub is asked once."""
    pinned = bool(_COMMIT.fullmatch(address.revision))
    if (pinned or not address.revision) and (
        recorded := _recorded(home / (f"{address.revision}.json" if pinned else _HELD))
    ):
        return recorded
    info = _asked(
        lambda: hub_api().dataset_info(
            address.repository, revision=address.revision or None, timeout=30
        ),
        address,
    )
    commit = str(info.sha)
    names = [str(one.rfilename) for one in info.siblings or ()]
    if not _COMMIT.fullmatch(commit) or any(".." in name.split("/") for name in names):
        raise InputError("the hub's answer cannot be read", file=str(address), hint="try later")
    record = json.dumps({"revision": commit, "files": names}, indent=1) + "\n"
    write_text(home / f"{commit}.json", record)
    if not address.revision:
        write_text(home / _HELD, record)
        say_once(
            f"{address}: taken at commit {commit[:12]} and kept; "
            f"hf://{address.repository}@main is the newest"
        )
    return commit, names


def _recorded(file: Path) -> tuple[str, list[str]] | None:
    if not file.exists():
        return None
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        return record["revision"], record["files"]
    except (ValueError, LookupError) as error:
        raise InputError("is damaged", file=file, hint="remove it and try again") from error


def _file(address: HubAddress, commit: str, name: str, folder: Path) -> Path:
    download = partial(hub_api().hf_hub_download, address.repository, name, repo_type="dataset")
    return Path(_asked(lambda: download(revision=commit, local_dir=folder / "files"), address))


def _asked(call: Callable[[], Result], address: HubAddress) -> Result:
    return asked_of_hub(call, "dataset", address.repository, address.revision, source=str(address))
