"""The server: on this machine alone unless it is told otherwise, and never open without TLS."""

import ipaddress
import logging
import signal
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from contrafact.errors import InputError
from contrafact.review.web.app import create_app
from contrafact.review.web.studio import Studio, open_studio

__all__ = ["FIRST_MANAGER", "bind", "serve"]

FIRST_MANAGER = "manager"
"""The account that is made where nobody manages yet."""
_PATIENCE = 10  # seconds that running requests get when the server is stopped
_KEEP_ALIVE = 75  # seconds that a browser's line stays open without a request


def serve(
    database: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    certificate: Path | None = None,
    key: Path | None = None,
    allow_remote: bool = False,
    behind_proxy: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serve a studio until it is told to stop; what runs then is finished first.

    Args:
        database: A file for SQLite, or a URL.
        host: The address to listen on.
        port: The port; 0 for any that is free.
        certificate: A TLS certificate, with its chain (PEM).
        key: Its key, where that is another file.
        allow_remote: Whether others may reach it without TLS.
        behind_proxy: Whether a proxy on this machine ends TLS and says where requests come from.
        say: Prints where the studio is, and the first manager's link.

    Raises:
        InputError: The address cannot be used, others could listen in, or the certificate or the
            database cannot be used.
    """
    if key is not None and certificate is None:
        raise InputError("a TLS key needs its certificate", hint="give --tls-cert too")
    if certificate is not None:
        _check_certificate(certificate, key)
    listening = bind(host, port, tls=certificate is not None, allow_remote=allow_remote)
    with listening:
        studio = open_studio(database, secure=certificate is not None or behind_proxy)
        scheme = "http" if certificate is None else "https"
        name = f"[{host}]" if ":" in host else host
        base = f"{scheme}://{name}:{listening.getsockname()[1]}"
        say(f"The studio is at {base} (stop it with Ctrl+C)")
        if not studio.accounts.has_manager():
            link = studio.invite_link(FIRST_MANAGER, base, by="command line", manager=True)
            say(f"Nobody manages it yet. This link, good once, makes you its manager: {link}")
        # uvicorn shuts down cleanly and then raises the signal again: by now it is dealt with.
        signal.signal(signal.SIGTERM, lambda *_: None)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(_config(studio, certificate, key, behind_proxy)).run(sockets=[listening])
        say("The studio is closed; every decision that was acknowledged is kept")


def bind(host: str, port: int, *, tls: bool, allow_remote: bool) -> socket.socket:
    """Return a socket that listens, on this machine alone unless others were asked for.

    Raises:
        InputError: Others could reach it over a line that anybody can read, or the address cannot
            be used.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise InputError(f"'{host}' is no address of this machine", hint="try 127.0.0.1") from error
    if not (tls or allow_remote or ipaddress.ip_address(address[0]).is_loopback):
        raise InputError(
            f"others could reach {host}, and read passwords on their way",
            hint="give --tls-cert and --tls-key, or --allow-remote if something else encrypts",
        )
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(128)  # whoever comes while the app starts waits, and is not refused
    except OSError as error:
        listening.close()
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot listen on {host}:{port}: {reason}", hint="try --port 0"
        ) from error
    listening.set_inheritable(True)
    return listening


def _config(
    studio: Studio, certificate: Path | None, key: Path | None, behind_proxy: bool
) -> uvicorn.Config:
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("contrafact.review").setLevel(logging.INFO)
    return uvicorn.Config(
        create_app(studio),
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
        # The app logs requests itself, without the secrets that are in some addresses.
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        # Otherwise anybody could claim to come from elsewhere, and avoid what slows attempts.
        proxy_headers=behind_proxy,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_graceful_shutdown=_PATIENCE,
        # Longer than people look at an item: a line that the server closes just as a browser uses
        # it again costs an answer.
        timeout_keep_alive=_KEEP_ALIVE,
    )


def _check_certificate(certificate: Path, key: Path | None) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except FileNotFoundError as error:
        missing = certificate if not certificate.exists() else key
        raise InputError("no such file", file=missing, hint="check the path") from error
    except (ssl.SSLError, OSError) as error:
        raise InputError(
            "is no certificate with its key", file=certificate, hint="give PEM files that match"
        ) from error
