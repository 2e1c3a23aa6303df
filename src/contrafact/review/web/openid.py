"""Signing in through an OpenID provider: authorization code with PKCE (OpenID Connect Core 1.0).

The provider says who somebody is; which account that is, somebody has linked: at an invitation, or
on their own page. Nothing is taken from names or addresses of mail that a provider reports.
"""

import base64
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from time import time
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from contrafact.errors import InputError

__all__ = ["OpenIDProvider", "OpenIDSettings", "ProviderProblem"]

_ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
_FRESH = 3600.0  # seconds for which the provider's description and keys are kept
_AGAIN = 60.0  # seconds between two looks for a key that is not known
_LEEWAY = 60.0  # seconds by which clocks may differ
_LARGEST = 1_000_000  # bytes of an answer


class ProviderProblem(InputError):
    """The provider does not answer as it should; nobody is signed in."""


@dataclass(frozen=True)
class OpenIDSettings:
    """Which provider, and as whom the studio asks it.

    Attributes:
        issuer: The provider's address, as its tokens name it.
        client_id: The studio's name there.
        client_secret: Its secret there; empty for a public client, which PKCE protects.
        name: What people call the provider.
    """

    issuer: str
    client_id: str
    client_secret: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        _check_address(self.issuer, "the provider's address")

    @property
    def title(self) -> str:
        """What people call the provider; its host's name if nothing was given."""
        return self.name or urlsplit(self.issuer).hostname or self.issuer


class OpenIDProvider:
    """One provider, asked as one client.

    Args:
        settings: Which.
        clock: Tells the time in seconds since 1970.
        transport: Carries requests; the network if none.
    """

    def __init__(
        self,
        settings: OpenIDSettings,
        *,
        clock: Callable[[], float] = time,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._client = httpx.Client(timeout=10.0, follow_redirects=False, transport=transport)
        self._guard = Lock()
        self._kept: dict[str, tuple[float, Mapping[str, Any]]] = {}

    def start(self, redirect_uri: str) -> tuple[str, dict[str, str]]:
        """Return where a browser is sent, and what `finish` needs of it.

        Raises:
            ProviderProblem: The provider does not say how it is asked.
        """
        verifier, state, nonce = (secrets.token_urlsafe(48) for _ in range(3))
        challenge = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": "openid",
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        place = self._endpoint("authorization_endpoint")
        joined = "&" if urlsplit(place).query else "?"
        kept = {"verifier": verifier, "state": state, "nonce": nonce, "redirect_uri": redirect_uri}
        return f"{place}{joined}{urlencode(asked)}", kept

    def finish(self, sent: Mapping[str, str], kept: Mapping[str, str]) -> str:
        """Return the provider's name (``sub``) of who came back from it.

        Args:
            sent: What the browser brought: ``code`` and ``state``, or ``error``.
            kept: What `start` returned for this browser.

        Raises:
            ProviderProblem: They did not come back from where this browser was sent, the provider
                refused them, or its token is not good.
        """
        if not hmac.compare_digest(sent.get("state", "").encode(), kept["state"].encode()):
            raise ProviderProblem("this sign-in was not begun in this browser", hint="begin again")
        if "iss" in sent and sent["iss"] != self.settings.issuer:  # RFC 9207
            raise ProviderProblem("another provider has answered", hint="begin again")
        if "code" not in sent:
            why = "".join(c for c in sent.get("error", "no code")[:60] if c.isprintable())
            raise ProviderProblem(f"the provider refused the sign-in ({why})", hint="begin again")
        asked = {
            "grant_type": "authorization_code",
            "code": sent["code"],
            "redirect_uri": kept["redirect_uri"],
            "code_verifier": kept["verifier"],
            "client_id": self.settings.client_id,
        }
        secret = self.settings.client_secret
        given = httpx.BasicAuth(self.settings.client_id, secret) if secret else None
        answer = self._ask("POST", self._endpoint("token_endpoint"), data=asked, auth=given)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise ProviderProblem("the provider's answer has no token of who signed in")
        return self._subject(token, kept["nonce"])

    def _subject(self, token: str, nonce: str) -> str:
        import jwt

        try:
            head = jwt.get_unverified_header(token)
            if head.get("alg") not in _ALGORITHMS:
                raise ProviderProblem("the provider's token is not signed in a way that is taken")
            claims = jwt.decode(
                token,
                self._key(str(head.get("kid", "")), str(head["alg"])),
                algorithms=[str(head["alg"])],
                audience=self.settings.client_id,
                issuer=self.settings.issuer,
                options={
                    "require": ["iss", "sub", "aud", "exp", "iat"],
                    # By our clock, below.
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
        except jwt.PyJWTError as error:
            what = type(error).__name__
            raise ProviderProblem(f"the provider's token is not good ({what})") from error
        now, subject = self._clock(), claims["sub"]
        try:
            good = float(claims["exp"]) > now - _LEEWAY and float(claims["iat"]) < now + _LEEWAY
        except (TypeError, ValueError):
            good = False
        if not good:
            raise ProviderProblem("the provider's token has expired", hint="look at the clocks")
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise ProviderProblem("the provider's token was made for another sign-in")
        others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if (others or "azp" in claims) and claims.get("azp") != self.settings.client_id:
            raise ProviderProblem("the provider's token was made for somebody else")
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise ProviderProblem("the provider's token names nobody")
        return subject

    def _key(self, name: str, algorithm: str) -> Any:
        """Return the provider's key of a name; one that is new is looked for again."""
        import jwt

        for oldest in (_FRESH, _AGAIN):
            found = self._document("jwks_uri", oldest).get("keys")
            keys = found if isinstance(found, list) else []
            usable = [
                key
                for key in keys
                if isinstance(key, dict)
                and key.get("use", "sig") == "sig"
                and (key.get("kid") == name or (not name and len(keys) == 1))
            ]
            if usable:
                return jwt.PyJWK.from_dict(usable[0], algorithm=algorithm).key
        raise ProviderProblem("the provider's token is signed with a key that it does not show")

    def _endpoint(self, name: str) -> str:
        found = self._document("", _FRESH).get(name)
        if not isinstance(found, str):
            raise ProviderProblem(f"the provider does not name its {name}")
        return found

    def _document(self, name: str, oldest: float) -> Mapping[str, Any]:
        """Return the provider's description, or what it names; kept for some time."""
        with self._guard:
            at, found = self._kept.get(name, (0.0, {}))
            now = self._clock()
            if found and now - at < oldest:
                return found
            if name:
                place = self._kept[""][1].get(name) if "" in self._kept else None
            else:
                place = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        if place is None:
            place = self._endpoint(name)
        made = self._ask("GET", str(place))
        if not name and made.get("issuer") != self.settings.issuer:
            raise ProviderProblem("the provider calls itself by another address")
        with self._guard:
            self._kept[name] = (now, made)
        return made

    def _ask(self, method: str, place: str, **more: Any) -> Mapping[str, Any]:
        try:
            _check_address(place, "an address that the provider names")
            with self._client.stream(method, place, **more) as answer:
                body = b""
                for part in answer.iter_bytes():
                    body += part
                    if len(body) > _LARGEST:
                        raise ProviderProblem("the provider's answer is too large")
                status = answer.status_code
            made = httpx.Response(status, content=body).json() if status == 200 else None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            what = type(error).__name__
            raise ProviderProblem(f"the provider does not answer ({what})") from error
        if not isinstance(made, dict):
            raise ProviderProblem(f"the provider does not answer as it should ({status})")
        return made


def _check_address(address: str, what: str) -> None:
    """Refuse an address that others could read along, but on this machine.

    Raises:
        InputError: It is none, or not of TLS.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = False
    if not host or parts.scheme not in ("https", "http") or (parts.scheme == "http" and not here):
        raise ProviderProblem(f"{what} is not of the form https://…", hint="give it with https")
