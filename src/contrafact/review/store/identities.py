"""Accounts at an OpenID provider, and sign-ins that wait for their second half."""

import json
import secrets
from collections.abc import Callable, Mapping
from time import time
from typing import Any, Literal

from sqlalchemy import delete, insert, select

from contrafact.review.state import NotAllowed
from contrafact.review.store.accounts import Accounts, secret_hash
from contrafact.review.store.database import accounts, identities, pending, reading

__all__ = ["PENDING_LIFE", "Identities", "PendingKind"]

PENDING_LIFE = 600.0
"""Seconds within which the second half of a sign-in has to come."""
PendingKind = Literal["code", "provider"]


class Identities:
    """Who an OpenID provider's users are here.

    Args:
        accounts_: The accounts.
        clock: Tells the time in seconds since 1970.
    """

    def __init__(self, accounts_: Accounts, *, clock: Callable[[], float] = time) -> None:
        self.engine = accounts_.engine
        self._accounts = accounts_
        self._reading = reading(self.engine)
        self._clock = clock

    def account(self, issuer: str, subject: str) -> str | None:
        """Return the open account of a provider's user; None if there is none."""
        chosen = (
            select(identities.c.account)
            .join(accounts, accounts.c.name == identities.c.account)
            .where(identities.c.issuer == issuer, identities.c.subject == subject)
            .where(accounts.c.active)
        )
        with self._reading.begin() as connection:
            return connection.scalar(chosen)

    def linked(self, name: str, issuer: str) -> bool:
        """Return whether an account can be signed in to through a provider."""
        own = (identities.c.account == name) & (identities.c.issuer == issuer)
        with self._reading.begin() as connection:
            return connection.scalar(select(identities.c.subject).where(own)) is not None

    def link(self, name: str, issuer: str, subject: str, *, address: str = "") -> None:
        """Let a provider's user sign in to an account, in place of whoever could before.

        Raises:
            NotAllowed: They sign in to another account.
        """
        with self.engine.begin() as connection:
            taken = select(identities.c.account).where(
                identities.c.issuer == issuer, identities.c.subject == subject
            )
            present = connection.scalar(taken)
            if present == name:
                return
            if present is not None:
                raise NotAllowed("you sign in to another account with this identity already")
            own = (identities.c.account == name) & (identities.c.issuer == issuer)
            connection.execute(delete(identities).where(own))
            row = {"issuer": issuer, "subject": subject, "account": name}
            connection.execute(insert(identities).values(**row))
            self._accounts.note(connection, "provider linked", name, issuer[:200], address)

    def unlink(self, name: str, *, by: str, address: str = "") -> None:
        """Let nobody sign in to an account through a provider any more."""
        with self.engine.begin() as connection:
            own = identities.c.account == name
            if connection.execute(delete(identities).where(own)).rowcount:
                self._accounts.note(connection, "provider unlinked", by, name, address)

    def keep(self, kind: PendingKind, body: Mapping[str, Any]) -> str:
        """Keep what the second half of a sign-in needs; return the secret that brings it back."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        with self.engine.begin() as connection:
            connection.execute(delete(pending).where(pending.c.until < now))
            row = {"token": secret_hash(secret), "kind": kind, "until": now + PENDING_LIFE}
            connection.execute(insert(pending).values(**row, body=json.dumps(body)))
        return secret

    def kept(self, kind: PendingKind, secret: str | None) -> dict[str, Any] | None:
        """Return what is kept under a secret; None if there is nothing, or it is too old."""
        if not secret:
            return None
        own = (pending.c.token == secret_hash(secret)) & (pending.c.kind == kind)
        with self._reading.begin() as connection:
            body = connection.scalar(
                select(pending.c.body).where(own, pending.c.until >= self._clock())
            )
        return None if body is None else dict(json.loads(body))

    def done(self, kind: PendingKind, secret: str) -> bool:
        """Forget what is kept under a secret; return whether it was there: it serves once."""
        own = (pending.c.token == secret_hash(secret)) & (pending.c.kind == kind)
        with self.engine.begin() as connection:
            return bool(connection.execute(delete(pending).where(own)).rowcount)
