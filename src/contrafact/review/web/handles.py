"""Reviews' names in addresses: any name is one part of a path, and reads as itself where it can."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from starlette.convertors import Convertor, register_url_convertor

__all__ = ["ReviewHandle", "register"]

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


class ReviewHandle(Convertor[str]):
    """Turns a review's name into a part of a path, and back.

    Names of letters, digits, ``.``, ``_`` and ``-`` stand for themselves; others are ``~`` and
    base64, since a server takes ``%2F`` for the end of a part.
    """

    regex = "[A-Za-z0-9._~=-]+"

    def convert(self, value: str) -> str:
        """Return the name of a handle; of what is no handle, itself: no review has that name."""
        if not value.startswith("~"):
            return value
        try:
            return urlsafe_b64decode(value[1:].encode()).decode()
        except ValueError:
            return value

    def to_string(self, value: str) -> str:
        """Return the handle of a name."""
        if _PLAIN.fullmatch(value):
            return value
        return "~" + urlsafe_b64encode(value.encode()).decode()


def register() -> None:
    """Make ``{review:review}`` known in paths of routes."""
    register_url_convertor("review", ReviewHandle())
