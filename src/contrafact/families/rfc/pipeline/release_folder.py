"""A release on the disk: the whole folder or none, its Croissant metadata checked first."""

import secrets
import shutil
from pathlib import Path

from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.croissant import can_check, check_croissant
from contrafact.families.rfc.pipeline.release import Release
from contrafact.files.atomic import os_problem, write_text

__all__ = ["write_release"]


def write_release(release: Release, folder: Path) -> list[str] | None:
    """Write a release's files into a new folder, whole or not at all.

    A folder that holds this very release is left as it is.

    Returns:
        What mlcroissant would like besides, if the metadata are valid; none where it is not
        installed.

    Raises:
        InputError: The folder holds something else, cannot be written, or the metadata are not
            valid Croissant.
    """
    if folder.exists() and not _holds(folder, release) and any(folder.iterdir()):
        raise InputError("holds something else", file=folder, hint="name a new folder with --out")
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        for name, text in release.files.items():
            write_text(draft / name, text)
        advice = _checked(draft / "croissant.json")
        if _holds(folder, release):
            return advice
        if folder.exists():
            folder.rmdir()  # it is empty
        draft.rename(folder)
    except OSError as error:
        raise os_problem(error, folder, doing="cannot be written") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return advice


def _checked(metadata: Path) -> list[str] | None:
    if not can_check():
        return None
    errors, advice = check_croissant(metadata)
    if errors:
        raise InputError(
            f"the release's Croissant metadata are not valid: {'; '.join(errors)}",
            hint="check --name, --version, --license, --url and --date",
        )
    return advice


def _holds(folder: Path, release: Release) -> bool:
    if not folder.is_dir() or {p.name for p in folder.iterdir()} != set(release.files):
        return False
    return all(
        (folder / name).is_file() and (folder / name).read_bytes() == text.encode()
        for name, text in release.files.items()
    )
