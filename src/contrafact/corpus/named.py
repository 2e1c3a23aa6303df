"""What ``--data`` names: a file, a published set, or a dataset of the hub."""

from dataclasses import dataclass
from pathlib import Path

from contrafact.console import say_once
from contrafact.corpus.datasets import datasets, fetch_dataset, files_at_hand, pinned
from contrafact.corpus.hub import choose_files, fetch_table, hub_address, join_files
from contrafact.files.tables import table_file

__all__ = ["DataSource", "data_source"]


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
