"""Accounts: who may sign in, their passwords, one-time invitations, and the audit log.

An account bears the name that its owner has in reviews; its owner chooses a password at a one-time
link. Of links and sessions the database keeps hashes only, of passwords Argon2id hashes.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from time import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from contrafact.review.events import NotAllowed
from contrafact.review.setup import is_valid_name
from contrafact.review.store.database import accounts, audit, invites, reading, sessions

if TYPE_CHECKING:
    from argon2 import PasswordHasher

INVITE_LIFE = timedelta(days=7)
"""How long an invitation can be used."""
SHORTEST = 12
"""Characters of a password, at least. Length is what makes one strong; no signs are demanded."""
LONGEST = 200
"""Characters of a password, at most: hashing a longer one would cost whoever serves."""

GUESSABLE = 3
"""The least score of zxcvbn, of 0 to 4: a password takes more than 10^8 guesses."""


@dataclass(frozen=True)
class Account:
    """Somebody who may sign in."""

    name: str
    manager: bool = False
    active: bool = True
    ready: bool = False


def secret_hash(secret: str) -> str:
    """Return what the database keeps of a random secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def check_password(password: str, name: str) -> None:
    """Refuse a password that is short, long, common, or made of a name, by `NotAllowed`."""
    if len(password) < SHORTEST:
        raise NotAllowed(
            f"the password is shorter than {SHORTEST} characters", hint="use a longer one"
        )
    if len(password) > LONGEST:
        raise NotAllowed(
            f"the password is longer than {LONGEST} characters", hint="use a shorter one"
        )
    from zxcvbn import zxcvbn

    # More characters make no password weaker, and would only take time.
    guess = zxcvbn(password[:72], user_inputs=[name, *name.split(), "contrafact", "review"])
    if guess["score"] < GUESSABLE:
        why = guess["feedback"]["warning"].rstrip(".")
        raise NotAllowed(
            f"the password is easy to guess{f' ({why[:1].lower()}{why[1:]})' if why else ''}",
            hint="use several words that do not belong together",
        )


def hash_password(password: str) -> str:
    """Return a password's Argon2id hash, with its parameters and salt."""
    return password_hasher().hash(password)


def password_matches(hashed: str | None, password: str) -> bool:
    """Return whether a password is the one that was hashed; as slow where there is no hash."""
    from argon2.exceptions import VerifyMismatchError

    try:
        right = password_hasher().verify(hashed or unknown_password_hash(), password)
    except VerifyMismatchError:
        return False
    return right and hashed is not None


def password_outdated(hashed: str) -> bool:
    """Return whether a hash was made with other parameters than are used now."""
    return password_hasher().check_needs_rehash(hashed)


@lru_cache(maxsize=1)
def password_hasher() -> "PasswordHasher":
    """Return Argon2id, at the cost that its package recommends."""
    from argon2 import PasswordHasher

    return PasswordHasher()


@lru_cache(maxsize=1)
def unknown_password_hash() -> str:
    """Return a hash that no password has, to compare with where there is no account."""
    return password_hasher().hash(secrets.token_urlsafe())


class Accounts:
    """The accounts in a database; the clock is in seconds since 1970."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time) -> None:
        self.engine = engine
        self._reading = reading(engine)
        self._clock = clock

    def all(self) -> list[Account]:
        """Return every account, in order of names."""
        with self._reading.begin() as connection:
            rows = connection.execute(select(accounts).order_by(accounts.c.name)).mappings()
            return [account_of(row) for row in rows]

    def find(self, name: str) -> Account | None:
        """Return somebody's account, or None."""
        if not is_valid_name(name):
            return None
        with self._reading.begin() as connection:
            return _find(connection, name)

    def invite(self, name: str, *, by: str, manager: bool = False, address: str = "") -> str:
        """Return the secret of a one-time link at which somebody chooses their password.

        Makes the account where there is none, a manager's or not. A new link for an account that is
        there voids its earlier links, and its password holds until the link is used.

        Raises:
            NotAllowed: The name is no name, or the account was closed.
        """
        if not is_valid_name(name) or name.startswith("rule:"):
            raise NotAllowed(
                f"{name[:40]!a} is no name for a person", hint="use a short plain text"
            )
        secret, now = secrets.token_urlsafe(32), self._clock()
        with self.engine.begin() as connection:
            account = _find(connection, name, lock=True)
            if account is None:
                new = {"name": name, "manager": manager, "active": True, "made": now}
                connection.execute(insert(accounts).values(**new))
            elif not account.active:
                raise NotAllowed(f"the account of {name} is closed", hint="open it again first")
            matching = (invites.c.account == name) & invites.c.used.is_(None)
            connection.execute(update(invites).where(matching).values(used=now))
            row = {"token": secret_hash(secret), "account": name}
            connection.execute(
                insert(invites).values(**row, until=now + INVITE_LIFE.total_seconds())
            )
            self.note(connection, "invited", by, f"{name}{' as manager' * manager}", address)
        return secret

    def invited(self, secret: str) -> str | None:
        """Return whom a link invites; None if it was used, is too old, or never was."""
        with self._reading.begin() as connection:
            return _invited(connection, secret, self._clock())

    def accept(self, secret: str, password: str, *, address: str = "") -> Account:
        """Use a link: set the password, end all sessions; `NotAllowed` if either is no good."""
        name = self.invited(secret)
        if name is None:
            raise NotAllowed("this link is not good any more", hint="ask a manager for a new one")
        check_password(password, name)
        hashed = hash_password(password)  # slow on purpose, so before the transaction
        now = self._clock()
        with self.engine.begin() as connection:
            account = _find(connection, name, lock=True)
            if account is None or _invited(connection, secret, now) is None:
                raise NotAllowed(
                    "this link is not good any more", hint="ask a manager for a new one"
                )
            used = update(invites).where(invites.c.token == secret_hash(secret))
            connection.execute(used.values(used=now))
            _keep_password(connection, name, hashed)
            self.note(connection, "password set", name, "", address)
        return Account(name, account.manager, active=True, ready=True)

    def set_password(self, name: str, password: str, *, address: str = "") -> None:
        """Give an account another password, end its sessions; `NotAllowed` if none, or weak."""
        check_password(password, name)
        hashed = hash_password(password)  # slow on purpose, so before the transaction
        with self.engine.begin() as connection:
            self._locked(connection, name)
            _keep_password(connection, name, hashed)
            self.note(connection, "password changed", name, "", address)

    def set_active(self, name: str, active: bool, *, by: str, address: str = "") -> None:
        """Close an account, or open it; `NotAllowed` if there is none, or no other manager."""
        with self.engine.begin() as connection:
            account = self._locked(connection, name)
            if account.active == active:
                return
            if not active:
                self._keep_a_manager(connection, account)
                connection.execute(delete(sessions).where(sessions.c.account == name))
                connection.execute(
                    update(invites).where(invites.c.account == name).values(used=self._clock())
                )
            matching = update(accounts).where(accounts.c.name == name)
            connection.execute(matching.values(active=active))
            self.note(connection, "opened" if active else "closed", by, name, address)

    def set_manager(self, name: str, manager: bool, *, by: str, address: str = "") -> None:
        """Let somebody manage, or not any more; `NotAllowed` if unknown, or the last manager."""
        with self.engine.begin() as connection:
            account = self._locked(connection, name)
            if account.manager == manager:
                return
            if not manager:
                self._keep_a_manager(connection, account)
            matching = update(accounts).where(accounts.c.name == name)
            connection.execute(matching.values(manager=manager))
            action = "made manager" if manager else "manager no more"
            self.note(connection, action, by, name, address)

    def has_manager(self) -> bool:
        """Return whether some manager can sign in."""
        return any(a.manager and a.active and a.ready for a in self.all())

    def log(self, action: str, who: str, detail: str = "", address: str = "") -> None:
        """Add a line to the audit log: who did what, to what, from where."""
        with self.engine.begin() as connection:
            self.note(connection, action, who, detail, address)

    def note(
        self, connection: Connection, action: str, who: str, detail: str, address: str
    ) -> None:
        """Add a line to the audit log within a transaction."""
        row = {"who": who, "address": address[:100], "action": action, "detail": detail}
        connection.execute(insert(audit).values(at=self._clock(), **row))

    def audit_log(self, limit: int = 200) -> list[Any]:
        """Return the latest rows of the audit log, the last one first."""
        with self._reading.begin() as connection:
            chosen = select(audit).order_by(audit.c.id.desc()).limit(limit)
            return list(connection.execute(chosen))

    def _locked(self, connection: Connection, name: str) -> Account:
        account = _find(connection, name, lock=True) if is_valid_name(name) else None
        if account is None:
            raise NotAllowed(f"there is no account {name[:40]!a}")
        return account

    def _keep_a_manager(self, connection: Connection, account: Account) -> None:
        if not (account.manager and account.ready):
            return
        ready = accounts.c.manager & accounts.c.active & accounts.c.password.is_not(None)
        others = select(func.count()).where(ready, accounts.c.name != account.name)
        if connection.scalar(others) == 0:
            raise NotAllowed(f"{account.name} is the only manager", hint="make another one first")


def account_of(row: Any) -> Account:
    """Return the account that a row keeps."""
    return Account(row["name"], row["manager"], row["active"], row["password"] is not None)


def _keep_password(connection: Connection, name: str, hashed: str) -> None:
    matching = accounts.c.name == name
    connection.execute(update(accounts).where(matching).values(password=hashed))
    connection.execute(delete(sessions).where(sessions.c.account == name))


def _find(connection: Connection, name: str, *, lock: bool = False) -> Account | None:
    chosen = select(accounts).where(accounts.c.name == name)
    row = connection.execute(chosen.with_for_update() if lock else chosen).mappings().first()
    return None if row is None else account_of(row)


def _invited(connection: Connection, secret: str, now: float) -> str | None:
    chosen = (
        select(invites.c.account)
        .join(accounts, accounts.c.name == invites.c.account)
        .where(invites.c.token == secret_hash(secret), invites.c.used.is_(None))
        .where(invites.c.until > now, accounts.c.active)
    )
    return connection.scalar(chosen)
