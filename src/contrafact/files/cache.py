"""Where downloads and converted weights are kept between runs."""

import os
from pathlib import Path

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem

__all__ = ["CACHE_VARIABLE", "cache_dir"]

CACHE_VARIABLE = "CONTRAFACT_CACHE"


def cache_dir() -> Path:
    """Return the user's cache folder for contrafact, made if it is missing.

    It is ``$CONTRAFACT_CACHE`` if that is set, else ``$XDG_CACHE_HOME/contrafact``, else
    ``~/.cache/contrafact``. A relative ``XDG_CACHE_HOME`` is ignored, as its specification asks.

    Raises:
        InputError: There is no home folder to put it in, or it cannot be made.
    """
    own = os.environ.get(CACHE_VARIABLE)
    shared = os.environ.get("XDG_CACHE_HOME", "")
    try:
        if own:
            folder = Path(own).expanduser().absolute()
        elif Path(shared).is_absolute():
            folder = Path(shared) / "contrafact"
        else:
            folder = Path.home() / ".cache" / "contrafact"
    except RuntimeError as error:
        raise InputError(
            "there is no home folder for the cache", hint=f"set {CACHE_VARIABLE} to a folder"
        ) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise os_problem(error, folder, doing="the cache folder cannot be made") from error
    return folder
