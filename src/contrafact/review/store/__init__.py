"""Storage of reviews: a database of events, and the present state computed from them."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from contrafact.errors import InputError

if TYPE_CHECKING:
    from contrafact.review.store.store import Store

__all__ = ["check_installed", "missing_file", "open_store"]


def check_installed() -> None:
    """Raise `InputError` if a package that the studio needs is not installed."""
    needed = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "argon2", "multipart", "zxcvbn")
    for package in needed:
        if find_spec(package) is None:
            raise InputError(
                f"the review studio needs the package {package}",
                hint="pip install 'contrafact[review]'",
            )


def open_store(db: str, *, new: bool = False) -> "Store":
    """Open a database of reviews; with ``new``, a missing one is created.

    Raises:
        InputError: The database does not exist or cannot be used.
    """
    file = missing_file(db)
    if file is not None and not new and file.parent.is_dir():
        raise InputError(
            "there is no database of reviews here",
            file=file if "://" in db else db,
            hint="import items first: contrafact review import",
        )
    from contrafact.review.store.store import Store

    return Store(db)


def missing_file(db: str) -> Path | None:
    """Return the SQLite file that opening a database would create; None if it would create none."""
    check_installed()
    from contrafact.review.store.database import database_url

    url = database_url(db)
    file = Path(str(url.database))
    return file if url.get_backend_name() == "sqlite" and not file.exists() else None
