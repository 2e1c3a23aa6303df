"""What every release of a dataset has: a name, a version and checksums.

A release is a folder that is written whole (`contrafact.files.atomic.write_folder`), the same bytes
from the same rows.
"""

import hashlib
import re
from collections.abc import Mapping

from contrafact.errors import InputError

__all__ = ["check_name", "sha256_text", "with_checksums"]

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-+][\w.+-]+)?", re.ASCII)


def check_name(name: str, version: str) -> None:
    """Refuse a name and a version that no metadata can hold.

    Raises:
        InputError: The name is not fit for a file name, or the version is not three numbers.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name[:40]}' is no name for a dataset",
            hint="use letters, digits, dots, hyphens and underscores",
        )
    if not _VERSION.fullmatch(version):
        raise InputError(f"'{version[:40]}' is no version", hint="write it as in 1.0.0")


def sha256_text(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def with_checksums(files: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a release, and ``SHA256SUMS`` with the sums of all, in their order."""
    sums = "".join(f"{sha256_text(text)}  {name}\n" for name, text in files.items())
    return {**files, "SHA256SUMS": sums}
