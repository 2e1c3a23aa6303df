"""A second factor: codes of an authenticator app (TOTP, RFC 6238), and codes for when it is lost.

Codes have six digits and change every 30 seconds; one interval before and after is taken too, since
clocks differ. Each code is taken once.
"""

import hmac
import secrets
from collections.abc import Callable, Mapping
from time import time
from typing import Any

from sqlalchemy import delete, insert, select, update

from contrafact.review.state import NotAllowed
from contrafact.review.store.accounts import Accounts, secret_hash
from contrafact.review.store.database import (
    reading,
    recovery_codes,
    second_factors,
    sessions,
)

__all__ = ["INTERVAL", "RECOVERY_CODES", "SecondFactors"]

INTERVAL = 30
"""Seconds for which a code is shown."""
RECOVERY_CODES = 10
"""Codes that an account is given for when its app is lost."""
_ISSUER = "contrafact review"


class SecondFactors:
    """The second factors of accounts.

    Args:
        accounts: The accounts.
        clock: Tells the time in seconds since 1970.
    """

    def __init__(self, accounts: Accounts, *, clock: Callable[[], float] = time) -> None:
        self.engine = accounts.engine
        self._accounts = accounts
        self._reading = reading(self.engine)
        self._clock = clock

    def enabled(self, name: str) -> bool:
        """Return whether an account is asked for a code."""
        own = (second_factors.c.account == name) & second_factors.c.since.is_not(None)
        with self._reading.begin() as connection:
            return connection.scalar(select(second_factors.c.account).where(own)) is not None

    def names(self) -> frozenset[str]:
        """Return the accounts that are asked for a code."""
        chosen = select(second_factors.c.account).where(second_factors.c.since.is_not(None))
        with self._reading.begin() as connection:
            return frozenset(connection.scalars(chosen))

    def prepare(self, name: str) -> tuple[str, str]:
        """Return an account's new secret, and its ``otpauth:`` address for an app.

        Nothing is asked for before `enable`; the same secret is returned until then.

        Raises:
            NotAllowed: A second factor is asked for already.
        """
        import pyotp

        own = second_factors.c.account == name
        with self.engine.begin() as connection:
            row = connection.execute(select(second_factors).where(own)).mappings().first()
            if row is not None and row["since"] is not None:
                raise NotAllowed("a second factor is asked for already", hint="turn it off first")
            secret = pyotp.random_base32() if row is None else str(row["secret"])
            if row is None:
                values = {"account": name, "secret": secret, "since": None, "step": 0}
                connection.execute(insert(second_factors).values(**values))
        return secret, pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name=_ISSUER)

    def enable(self, name: str, code: str, *, address: str = "") -> list[str]:
        """Ask an account for a code from now on; return its recovery codes, which are shown once.

        Its sessions end.

        Raises:
            NotAllowed: The code is not that of the secret that was prepared.
        """
        own = second_factors.c.account == name
        with self.engine.begin() as connection:
            row = connection.execute(select(second_factors).where(own)).mappings().first()
            step = None if row is None or row["since"] is not None else self._step(row, code)
            if step is None:
                raise NotAllowed("this code is not right", hint="wait for the next one")
            now = self._clock()
            connection.execute(update(second_factors).where(own).values(since=now, step=step))
            codes = [
                "-".join(secrets.token_hex(3) for _ in range(3)) for _ in range(RECOVERY_CODES)
            ]
            connection.execute(delete(recovery_codes).where(recovery_codes.c.account == name))
            rows = [{"token": _token(name, one), "account": name} for one in codes]
            connection.execute(insert(recovery_codes), rows)
            connection.execute(delete(sessions).where(sessions.c.account == name))
            self._accounts.note(connection, "second factor on", name, "", address)
        return codes

    def take(self, name: str, code: str, *, address: str = "") -> bool:
        """Use a code up: one of the app, or one for when it is lost; return whether it was good."""
        code = "".join(code.split())
        own = second_factors.c.account == name
        with self.engine.begin() as connection:
            chosen = select(second_factors).where(own, second_factors.c.since.is_not(None))
            row = connection.execute(chosen.with_for_update()).mappings().first()
            if row is None:
                return False
            step = self._step(row, code)
            if step is not None:
                connection.execute(update(second_factors).where(own).values(step=step))
                return True
            token = recovery_codes.c.token == _token(name, code.casefold())
            if not connection.execute(delete(recovery_codes).where(token)).rowcount:
                return False
            self._accounts.note(connection, "recovery code used", name, "", address)
            return True

    def left(self, name: str) -> int:
        """Return how many recovery codes an account has left."""
        chosen = select(recovery_codes.c.token).where(recovery_codes.c.account == name)
        with self._reading.begin() as connection:
            return len(connection.scalars(chosen).all())

    def remove(self, name: str, *, by: str, address: str = "") -> None:
        """Ask an account for no code any more; nothing happens where none is asked for."""
        with self.engine.begin() as connection:
            connection.execute(delete(recovery_codes).where(recovery_codes.c.account == name))
            own = second_factors.c.account == name
            if connection.execute(delete(second_factors).where(own)).rowcount:
                self._accounts.note(connection, "second factor off", by, name, address)

    def _step(self, row: Mapping[Any, Any], code: str) -> int | None:
        """Return the interval whose code this is, if none of it or after it was taken before."""
        import pyotp

        totp, now = pyotp.TOTP(row["secret"], interval=INTERVAL), int(self._clock())
        for step in range(now // INTERVAL - 1, now // INTERVAL + 2):
            same = hmac.compare_digest(totp.at(step * INTERVAL).encode(), code.encode())
            if same and step > row["step"]:
                return step
        return None


def _token(name: str, code: str) -> str:
    return secret_hash(f"{name} {code}")
