"""Signing in and out: server-side sessions, and slowing down of failed attempts.

After a few failures, the next attempt has to wait, twice as long after each further failure.
Failures are counted by account and address, by address, and by account. Every failure is logged.
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
IDLE = 2 * 3600.0  # an unused session ends after this time
LIFE = 12 * 3600.0  # any session ends this long after signing in
_WINDOW = 15 * 60.0  # failures count for this time
_KEPT = 24 * 3600.0  # attempts are deleted after this time
# Failures without a wait: on one account from one address, on one account from anywhere, and from
# one address; and the longest waits between two attempts on an account, and from an address.
FREE = 5
FREE_ACCOUNT = 20
_FREE_ADDRESS = 20
_LONGEST, _LONGEST_ADDRESS = 120.0, 60.0


class TooManyAttempts(NotAllowed):
    """Too many attempts to sign in have failed; the next may follow in ``seconds``."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        super().__init__("too many attempts to sign in have failed", hint=f"wait {seconds} seconds")


class Sessions:
    """The sessions in a database; ``clock`` gives seconds since 1970."""

    def __init__(self, known: Accounts, *, clock: Callable[[], float] = time) -> None:
        self.engine: Engine = known.engine
        self._accounts = known
        self._reading = reading(self.engine)
        self._clock = clock

    def prove(self, name: str, password: str, *, address: str = "") -> None:
        """Check a name and a password, before a session begins.

        The attempt is counted before the password is checked, so that simultaneous attempts count.

        Raises:
            TooManyAttempts: Too many attempts have failed lately; the password was not checked.
            NotAllowed: The name or the password is wrong; the message does not say which.
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
            raise NotAllowed("the name or the password is wrong", hint="try again")
        fresh = hash_password(password) if password_outdated(row["password"]) else None
        with self.engine.begin() as connection:
            _close(connection, number, succeeded=True)
            if fresh is not None:
                matching = update(accounts).where(accounts.c.name == known)
                connection.execute(matching.values(password=fresh))

    def begin(self, name: str, *, address: str = "") -> str:
        """Begin a session for a person whose password was checked, and return its secret."""
        with self.engine.begin() as connection:
            secret, now = secrets.token_urlsafe(32), self._clock()
            ended = (sessions.c.began < now - LIFE) | (sessions.c.seen < now - IDLE)
            connection.execute(delete(sessions).where(ended))
            row = {"token": secret_hash(secret), "account": name, "began": now, "seen": now}
            connection.execute(insert(sessions).values(**row))
            self._accounts.note(connection, "signed in", name, "", address[:100])
            return secret

    def account(self, secret: str) -> Account | None:
        """Return a session's account and keep the session alive; None if it has ended."""
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
                # Attempts on one account take turns, so that each counts the others.
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(name))))
            wait = self._wait(connection, name, address, now)
            if wait > 0:
                _LOG.warning("an attempt to sign in as %r from %s was refused", name, address)
                raise TooManyAttempts(int(wait) + 1)
            old = attempts.c.at < now - _KEPT
            connection.execute(delete(attempts).where(old))
            row = insert(attempts).values(name=name, address=address, at=now)
            return int(connection.scalars(row.returning(attempts.c.id)).one())

    def _wait(self, connection: Connection, name: str, address: str, now: float) -> float:
        """Return the seconds to wait before an attempt.

        On an account, attempts count while their password is still being checked, or many at once
        would not have to wait. From one address, only failures count, as a whole team may sign in
        at once.
        """
        since = now - _WINDOW
        account, unsettled = attempts.c.name == name, attempts.c.succeeded.is_not(True)
        here = account & (attempts.c.address == address)
        failures = (attempts.c.address == address) & attempts.c.succeeded.is_(False)

        def after_success(matching: ColumnElement[bool]) -> float:
            # Only failures since the last success count.
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
