"""The database of reviews, as the commands open it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contrafact.review.store.store import Store

__all__ = ["open_store"]


def open_store(db: str) -> "Store":
    """Open a database of reviews.

    Raises:
        InputError: What the studio needs is not installed, or the database cannot be used.
    """
    from contrafact.errors import InputError

    try:
        from contrafact.review.store.store import Store
    except ModuleNotFoundError as error:
        raise InputError(
            f"the review studio needs the package {error.name}",
            mend="pip install 'contrafact[review]'",
        ) from error
    return Store(db)
