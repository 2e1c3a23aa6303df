"""Passwords: which are good enough, and their Argon2 hashes."""

from functools import lru_cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from contrafact.review.recorder import Refused

if TYPE_CHECKING:
    from argon2 import PasswordHasher

__all__ = ["LONGEST", "SHORTEST", "check_password", "hash_password", "matches", "outdated"]

SHORTEST = 12
"""Characters of a password, at least. Length is what makes one strong; no signs are demanded."""
LONGEST = 200
"""Characters of a password, at most: hashing a longer one would cost whoever serves."""

# Each hash takes 64 MiB and a core: many at once would starve everything else.
_AT_ONCE = BoundedSemaphore(2)


def check_password(password: str, name: str) -> None:
    """Say what is wrong with a password that somebody chose.

    Raises:
        Refused: It is too short or too long, nearly all one character, or made of their name.
    """
    if len(password) < SHORTEST:
        raise Refused(
            f"the password is shorter than {SHORTEST} characters", hint="use a longer one"
        )
    if len(password) > LONGEST:
        raise Refused(f"the password is longer than {LONGEST} characters", hint="use a shorter one")
    rest = password.casefold().replace(name.casefold(), "")
    if len(set(rest)) < 5:
        raise Refused(
            "the password is easy to guess", hint="use several words that do not belong together"
        )


def hash_password(password: str) -> str:
    """Return a password's Argon2id hash, with its parameters and salt."""
    with _AT_ONCE:
        return _hasher().hash(password)


def matches(hashed: str | None, password: str) -> bool:
    """Return whether a password is the one that was hashed; as slow where there is no hash."""
    from argon2.exceptions import VerifyMismatchError

    with _AT_ONCE:
        try:
            return _hasher().verify(hashed or _nobodys(), password) and hashed is not None
        except VerifyMismatchError:
            return False


def outdated(hashed: str) -> bool:
    """Return whether a hash was made with other parameters than are used now."""
    return _hasher().check_needs_rehash(hashed)


@lru_cache(maxsize=1)
def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher

    return PasswordHasher()


@lru_cache(maxsize=1)
def _nobodys() -> str:
    import secrets

    return _hasher().hash(secrets.token_urlsafe())
