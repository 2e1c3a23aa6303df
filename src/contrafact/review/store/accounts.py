"""Accounts: who may sign in, with their passwords, one-time invitations, and the audit log.

An account has its owner's name in reviews; the owner chooses a password at a one-time link. The
database keeps only hashes of links and sessions, and Argon2id hashes of passwords.
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
from contrafact.review.setup import check_person_name, is_valid_name
from contrafact.review.store.database import accounts, audit, invites, reading, sessions

if TYPE_CHECKING:
    from argon2 import PasswordHasher

INVITE_LIFE = timedelta(days=7)
"""How long an invitation is valid."""
SHORTEST = 12
"""The fewest characters of a password. Length makes it strong; special characters are not needed.
"""
LONGEST = 200
"""The most characters of a password, so that nobody can make the server hash huge texts."""
GUESSABLE = 3
"""The lowest zxcvbn score allowed, of 0 to 4: guessing takes more than 10^8 attempts."""

SERVED = "served"
"""The action that the audit log has where a studio begins to serve; its detail is the address."""


@dataclass(frozen=True)
class Account:
    """A person's account; it is ``ready`` once it has a password."""

    name: str
    manager: bool = False
    active: bool = True
    ready: bool = False


def secret_hash(secret: str) -> str:
    """Return the hash of a random secret, which the database keeps in its place."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def check_password(password: str, name: str) -> None:
    """Raise `NotAllowed` if a password is too short, too long, common, or made of a name."""
    if len(password) < SHORTEST:
        raise NotAllowed(
            f"the password is shorter than {SHORTEST} characters", hint="use a longer one"
        )
    if len(password) > LONGEST:
        raise NotAllowed(
            f"the password is longer than {LONGEST} characters", hint="use a shorter one"
        )
    from zxcvbn import zxcvbn

    # Further characters cannot make a password weaker, and would take time to check.
    guess = zxcvbn(password[:72], user_inputs=[name, *name.split(), "contrafact", "review"])
    if guess["score"] < GUESSABLE:
        why = guess["feedback"]["warning"].rstrip(".")
        raise NotAllowed(
            f"the password is easy to guess{f' ({why[:1].lower()}{why[1:]})' if why else ''}",
            hint="use several words that do not belong together",
        )


def hash_password(password: str) -> str:
    return password_hasher().hash(password)


def password_matches(hashed: str | None, password: str) -> bool:
    """Return whether a password matches a hash; this takes as long if there is no hash."""
    from argon2.exceptions import VerifyMismatchError

    try:
        right = password_hasher().verify(hashed or unknown_password_hash(), password)
    except VerifyMismatchError:
        return False
    return right and hashed is not None


def password_outdated(hashed: str) -> bool:
    return password_hasher().check_needs_rehash(hashed)


@lru_cache(maxsize=1)
def password_hasher() -> "PasswordHasher":
    """Return an Argon2id hasher with its package's recommended parameters."""
    from argon2 import PasswordHasher

    return PasswordHasher()


@lru_cache(maxsize=1)
def unknown_password_hash() -> str:
    """Return the hash of a random password, for comparison if there is no account."""
    return password_hasher().hash(secrets.token_urlsafe())


class Accounts:
    """The accounts in a database; ``clock`` gives seconds since 1970."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time) -> None:
        self.engine = engine
        self._reading = reading(engine)
        self._clock = clock

    def all(self) -> list[Account]:
        with self._reading.begin() as connection:
            rows = connection.execute(select(accounts).order_by(accounts.c.name)).mappings()
            return [account_of(row) for row in rows]

    def find(self, name: str) -> Account | None:
        """Return a person's account; None if there is none."""
        if not is_valid_name(name):
            return None
        with self._reading.begin() as connection:
            return _find(connection, name)

    def invite(self, name: str, *, by: str, manager: bool = False, address: str = "") -> str:
        """Return the secret of a one-time link at which a person chooses their password.

        The account is created if there is none. A new link invalidates earlier ones; an existing
        password stays valid until the link is used.

        Raises:
            NotAllowed: The name is invalid, or the account was closed.
        """
        check_person_name(name)
        secret, now = secrets.token_urlsafe(32), self._clock()
        with self.engine.begin() as connection:
            account = _find(connection, name, lock=True)
            if account is None:
                new = {"name": name, "manager": manager, "active": True, "made": now}
                connection.execute(insert(accounts).values(**new))
            elif not account.active:
                raise NotAllowed(f"the account of '{name}' is closed", hint="open it again first")
            matching = (invites.c.account == name) & invites.c.used.is_(None)
            connection.execute(update(invites).where(matching).values(used=now))
            row = {"token": secret_hash(secret), "account": name}
            connection.execute(
                insert(invites).values(**row, until=now + INVITE_LIFE.total_seconds())
            )
            self.note(connection, "invited", by, f"{name}{' as manager' * manager}", address)
        return secret

    def invited(self, secret: str) -> str | None:
        """Return the name that a link invites; None if it was used, has expired, or is unknown."""
        with self._reading.begin() as connection:
            return _invited(connection, secret, self._clock())

    def accept(self, secret: str, password: str, *, address: str = "") -> Account:
        """Use a link: set the account's password and end its sessions.

        Raises:
            NotAllowed: The link is no longer valid, or the password is too weak.
        """
        expired = NotAllowed("this link is no longer valid", hint="ask a manager for a new one")
        name = self.invited(secret)
        if name is None:
            raise expired
        check_password(password, name)
        hashed = hash_password(password)  # slow on purpose, so before the transaction
        now = self._clock()
        with self.engine.begin() as connection:
            account = _find(connection, name, lock=True)
            if account is None or _invited(connection, secret, now) is None:
                raise expired
            used = update(invites).where(invites.c.token == secret_hash(secret))
            connection.execute(used.values(used=now))
            _keep_password(connection, name, hashed)
            self.note(connection, "password set", name, "", address)
        return Account(name, account.manager, active=True, ready=True)

    def set_password(self, name: str, password: str, *, address: str = "") -> None:
        """Set an account's password and end its sessions; `NotAllowed` if it is too weak."""
        check_password(password, name)
        hashed = hash_password(password)  # slow on purpose, so before the transaction
        with self.engine.begin() as connection:
            self._locked(connection, name)
            _keep_password(connection, name, hashed)
            self.note(connection, "password changed", name, "", address)

    def set_active(self, name: str, active: bool, *, by: str, address: str = "") -> None:
        """Close or open an account; `NotAllowed` if it is unknown or the last manager's."""
        with self.engine.begin() as connection:
            account = self._locked(connection, name)
            if account.active == active:
                return
            if not active:
                self._keep_a_manager(connection, account)
                connection.execute(delete(sessions).where(sessions.c.account == name))
                links = update(invites).where(invites.c.account == name)
                connection.execute(links.values(used=self._clock()))
            _change(connection, name, active=active)
            self.note(connection, "opened" if active else "closed", by, name, address)

    def set_manager(self, name: str, manager: bool, *, by: str, address: str = "") -> None:
        """Make a person a manager or not; `NotAllowed` if they are unknown or the last manager."""
        with self.engine.begin() as connection:
            account = self._locked(connection, name)
            if account.manager == manager:
                return
            if not manager:
                self._keep_a_manager(connection, account)
            _change(connection, name, manager=manager)
            action = "made manager" if manager else "no longer manager"
            self.note(connection, action, by, name, address)

    def has_manager(self) -> bool:
        return any(a.manager and a.active and a.ready for a in self.all())

    def log(self, action: str, who: str, detail: str = "", address: str = "") -> None:
        """Add a line to the audit log: who did what, to what, from which address."""
        with self.engine.begin() as connection:
            self.note(connection, action, who, detail, address)

    def note(
        self, connection: Connection, action: str, who: str, detail: str, address: str
    ) -> None:
        row = {"who": who, "address": address[:100], "action": action, "detail": detail}
        connection.execute(insert(audit).values(at=self._clock(), **row))

    def last_address(self) -> str | None:
        """Return where a studio last began to serve this database; None if none has."""
        with self._reading.begin() as connection:
            served = select(audit.c.detail).where(audit.c.action == SERVED)
            found: str | None = connection.scalar(served.order_by(audit.c.id.desc()).limit(1))
            return found

    def audit_log(self, limit: int = 200) -> list[Any]:
        """Return the latest rows of the audit log, newest first."""
        with self._reading.begin() as connection:
            chosen = select(audit).order_by(audit.c.id.desc()).limit(limit)
            return list(connection.execute(chosen))

    def _locked(self, connection: Connection, name: str) -> Account:
        account = _find(connection, name, lock=True) if is_valid_name(name) else None
        if account is None:
            raise NotAllowed(f"there is no account {name[:40]!a}", hint="check the name")
        return account

    def _keep_a_manager(self, connection: Connection, account: Account) -> None:
        if not (account.manager and account.ready):
            return
        ready = accounts.c.manager & accounts.c.active & accounts.c.password.is_not(None)
        others = select(func.count()).where(ready, accounts.c.name != account.name)
        if connection.scalar(others) == 0:
            raise NotAllowed(
                f"'{account.name}' is the only manager", hint="make another manager first"
            )


def account_of(row: Any) -> Account:
    return Account(row["name"], row["manager"], row["active"], row["password"] is not None)


def _change(connection: Connection, name: str, **values: Any) -> None:
    connection.execute(update(accounts).where(accounts.c.name == name).values(**values))


def _keep_password(connection: Connection, name: str, hashed: str) -> None:
    _change(connection, name, password=hashed)
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
