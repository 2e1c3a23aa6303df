"""Files that the user has: tables and lists of articles in any layout that the loader reads."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contrafact.corpus.news_items import item_of
from contrafact.corpus.sources.base import Get, NewsPage, RejectedItem, Request
from contrafact.errors import InputError
from contrafact.files.tables import read_rows

__all__ = ["Files"]


class Files:
    """Files of news, in any layout that `contrafact.corpus.news_items.load_news` reads."""

    name = "file"
    headers: Mapping[str, str] = {}
    one_host = False

    def __init__(self, paths: Sequence[str]) -> None:
        if not paths:
            raise InputError("no file is named", hint="give its path: news fetch file FILE")
        for path in paths:
            if not Path(path).is_file():
                raise InputError("no such file", file=path, hint="check the path")
        self._paths = paths

    def first(self) -> list[Request]:
        """Return one request a file."""
        return [Request(path, path, {}, {"found_by": Path(path).name}) for path in self._paths]

    def read(self, request: Request, get: Get) -> NewsPage:
        """Read a file; a row without a title, or with one that is not text, is kept apart."""
        rows: list[dict[str, Any]] = []
        rejected = []
        for line, row in read_rows(request.url):
            try:
                item_of(row)
            except InputError as error:
                rejected.append(RejectedItem(f"{request.label}:{line}", error.problem, row))
            else:
                rows.append({**row, **request.fields})
        if not rows and not rejected:
            raise InputError("the file holds no rows", file=request.url, hint="give at least one")
        return NewsPage(tuple(rows), tuple(rejected))
