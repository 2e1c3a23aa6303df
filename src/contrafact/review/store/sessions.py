"""Signing in and out: sessions on the server, and attempts that get slower.

Whoever guesses has to wait after a few failures, twice as long after each further one. Failures are
counted for an account and an address together, for an address, and for an account from everywhere.
Every failure is logged.
"""

import logging
import secrets
from collections.abc import Callable
from time import time

from sqlalchemy import ColumnElement, Connection, Engine, delete, func, insert, select, update

from contrafact.review.events import NotAllowed
from contrafact.review.setup import is_valid_name
from contrafact.review.store.accounts import (
    LONGEST,
    Account,
    Accounts,
    account_of,
    hash_password,
    password_matches,
    password_outdated,
    secret_hash,
)
from contrafact.review.store.database import accounts, attempts, reading, sessions

_LOG = logging.getLogger(__name__)
# All in seconds.
IDLE = 2 * 3600.0  # a session that is not used for so long ends
LIFE = 12 * 3600.0  # a session ends so long after signing in, used or not
_WINDOW = 15 * 60.0  # failures count for so long
_KEPT = 24 * 3600.0
# Failures that cost no time: on one account from one address, on one account from everywhere, and
# from one address; and the longest waits between two attempts on an account, and from an address.
FREE = 5
FREE_ACCOUNT = 20
_FREE_ADDRESS = 20
_LONGEST, _LONGEST_ADDRESS = 120.0, 60.0


class TooManyAttempts(NotAllowed):
    """Too many attempts have failed; ``seconds`` says how long to wait."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        super().__init__("too many attempts have failed", hint=f"wait {seconds} seconds")


class Sessions:
    """Who is signed in; the clock is in seconds since 1970."""

    def __init__(self, known: Accounts, *, clock: Callable[[], float] = time) -> None:
        self.engine: Engine = known.engine
        self._accounts = known
        self._reading = reading(self.engine)
        self._clock = clock

    def prove(self, name: str, password: str, *, address: str = "") -> None:
        """Look whether a name and a password go together, before a session begins.

        An attempt is counted before the password is looked at, so that many at once count too.

        Raises:
            TooManyAttempts: Too many attempts have failed lately; the password was not looked at.
            NotAllowed: The name and the password do not go together; which is wrong is not said.
        """
        known = name if is_valid_name(name) else "(no name)"
        address = address[:100]
        number = self._attempt(known, address)
        with self._reading.begin() as connection:
            chosen = select(accounts).where(accounts.c.name == known)
            row = connection.execute(chosen).mappings().first()
        hashed = None if row is None else row["password"]
        good = len(password) <= LONGEST and password_matches(hashed, password)
        if not good or row is None or not row["active"]:
            self._failed(known, address, number)
            raise NotAllowed("the name and the password do not go together", hint="try again")
        fresh = hash_password(password) if password_outdated(row["password"]) else None
        with self.engine.begin() as connection:
            _close(connection, number, succeeded=True)
            if fresh is not None:
                matching = update(accounts).where(accounts.c.name == known)
                connection.execute(matching.values(password=fresh))

    def begin(self, name: str, *, address: str = "") -> str:
        """Return the secret of a new session of somebody who has proven who they are."""
        with self.engine.begin() as connection:
            secret, now = secrets.token_urlsafe(32), self._clock()
            ended = (sessions.c.began < now - LIFE) | (sessions.c.seen < now - IDLE)
            connection.execute(delete(sessions).where(ended))
            row = {"token": secret_hash(secret), "account": name, "began": now, "seen": now}
            connection.execute(insert(sessions).values(**row))
            self._accounts.note(connection, "signed in", name, "", address[:100])
            return secret

    def account(self, secret: str) -> Account | None:
        """Return who a session belongs to, and keep it alive; None if it has ended."""
        now, token = self._clock(), secret_hash(secret)
        with self._reading.begin() as connection:
            chosen = (
                select(accounts, sessions.c.began, sessions.c.seen)
                .join(sessions, sessions.c.account == accounts.c.name)
                .where(sessions.c.token == token)
            )
            row = connection.execute(chosen).mappings().first()
        over = row is None or now - row["began"] > LIFE or now - row["seen"] > IDLE
        if row is None or over or not row["active"]:
            return None
        if now - row["seen"] > 60.0:
            with self.engine.begin() as connection:
                matching = update(sessions).where(sessions.c.token == token)
                connection.execute(matching.values(seen=now))
        return account_of(row)

    def sign_out(self, secret: str, *, address: str = "") -> None:
        """End a session; nothing happens where there is none."""
        token = secret_hash(secret)
        with self.engine.begin() as connection:
            chosen = select(sessions.c.account).where(sessions.c.token == token)
            name = connection.scalar(chosen)
            if name is not None:
                connection.execute(delete(sessions).where(sessions.c.token == token))
                self._accounts.note(connection, "signed out", name, "", address)

    def _attempt(self, name: str, address: str) -> int:
        now = self._clock()
        with self.engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                # Attempts on one account take turns, so that many at once see each other.
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(name))))
            wait = self._wait(connection, name, address, now)
            if wait > 0:
                _LOG.warning("an attempt to sign in as %r from %s was refused", name, address)
                raise TooManyAttempts(int(wait) + 1)
            old = attempts.c.at < now - _KEPT
            connection.execute(delete(attempts).where(old))
            made = insert(attempts).values(name=name, address=address, at=now)
            return int(connection.scalars(made.returning(attempts.c.id)).one())

    def _wait(self, connection: Connection, name: str, address: str, now: float) -> float:
        """Return the seconds to wait before an attempt.

        On an account an attempt counts while it is still looked at, or many at once would be free.
        From one address a whole team may sign in at once, so there only failures count.
        """
        since = now - _WINDOW
        account, unsettled = attempts.c.name == name, attempts.c.succeeded.is_not(True)
        here = account & (attempts.c.address == address)
        failures = (attempts.c.address == address) & attempts.c.succeeded.is_(False)

        def after_success(matching: ColumnElement[bool]) -> float:
            """Failures count since the last success from there."""
            last = select(func.max(attempts.c.at)).where(matching, attempts.c.succeeded)
            return max(since, connection.scalar(last) or 0.0)

        def delay(matching: ColumnElement[bool], since: float, free: int, longest: float) -> float:
            counted = select(func.count(), func.max(attempts.c.at)).where(
                matching, attempts.c.at > since
            )
            count, latest = connection.execute(counted).one()
            if count < free:
                return 0.0
            wait = min(2.0 ** min(count - free, 30), longest)
            return float(latest + wait - now)

        return max(
            delay(here & unsettled, after_success(here), FREE, _LONGEST),
            delay(account & unsettled, after_success(account), FREE_ACCOUNT, _LONGEST),
            delay(failures, since, _FREE_ADDRESS, _LONGEST_ADDRESS),
        )

    def _failed(self, name: str, address: str, number: int) -> None:
        with self.engine.begin() as connection:
            _close(connection, number, succeeded=False)
            wait = self._wait(connection, name, address, self._clock())
            detail = f"next attempt in {int(wait) + 1} s" if wait > 0 else ""
            self._accounts.note(connection, "sign-in failed", name, detail, address)
        _LOG.warning("a sign-in as %r from %s failed", name, address)


def _close(connection: Connection, number: int, *, succeeded: bool) -> None:
    matching = update(attempts).where(attempts.c.id == number)
    connection.execute(matching.values(succeeded=succeeded))
