"""Where reviews are kept: a database of events, and the present state that follows from them."""

from pathlib import Path
from typing import TYPE_CHECKING

from contrafact.errors import InputError

if TYPE_CHECKING:
    from contrafact.review.store.store import Store

__all__ = ["open_store"]


def open_store(db: str, *, new: bool = False) -> "Store":
    """Open a database of reviews.

    Args:
        db: A file, or a URL.
        new: Whether to make a file that is not there. Commands that only read make none.

    Raises:
        InputError: What the studio needs is not installed, or the database cannot be used.
    """
    try:
        from contrafact.review.store.database import database_url
        from contrafact.review.store.store import Store
    except ModuleNotFoundError as error:
        raise InputError(
            f"the review studio needs the package {error.name}",
            hint="pip install 'contrafact[review]'",
        ) from error
    url = database_url(db)
    file = Path(str(url.database))
    lite = url.get_backend_name() == "sqlite"
    if lite and not new and file.parent.is_dir() and not file.exists():
        raise InputError(
            "there is no review in this place",
            file=file if "://" in db else db,
            hint="import items first: contrafact review import",
        )
    return Store(db)
