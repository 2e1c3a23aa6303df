"""``contrafact review serve`` and ``invite``: the studio in the browser, and who gets in."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["invite", "serve"]

_Database = Annotated[
    str, typer.Option("--db", metavar="URL", help="A file for SQLite, or postgresql://…")
]


def serve(
    db: _Database = "review.db",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 for any.")
    ] = 8000,
    host: Annotated[str, typer.Option(metavar="H", help="The address to listen on.")] = "127.0.0.1",
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="A certificate (PEM).")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key (PEM).")
    ] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let others reach it without TLS.")
    ] = False,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy", help="A proxy on this machine ends TLS and says who comes from where."
        ),
    ] = False,
) -> None:
    """Serve the review studio, to this machine alone unless told otherwise.

    Where nobody manages it yet, a one-time link for its manager is printed.

    Example: contrafact review serve --db review.db --port 8000
    """
    _check_installed()
    from contrafact.review.web import serve as server

    server.serve(
        db,
        host=host,
        port=port,
        certificate=tls_cert,
        key=tls_key,
        allow_remote=allow_remote,
        behind_proxy=behind_proxy,
        say=typer.echo,
    )


def invite(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The person, as reviews name them.")],
    db: _Database = "review.db",
    role: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE", help="'manager', or a role in the review; repeatable."),
    ] = None,
    review: Annotated[
        str | None, typer.Option("--review", metavar="NAME", help="The review of the roles.")
    ] = None,
    url: Annotated[
        str, typer.Option(metavar="URL", help="The studio's address, for the link.")
    ] = "http://127.0.0.1:8000",
) -> None:
    """Print a one-time link at which somebody chooses a password; it voids earlier ones.

    Example: contrafact review invite Ada --review review --role expert-a
    """
    from contrafact.errors import InputError

    _check_installed()
    from contrafact.review.web.serve import invite_link
    from contrafact.review.web.studio import open_studio

    roles = [one for one in role or [] if one != "manager"]
    if roles and review is None:
        raise InputError(f"'{roles[0]}' is a role in a review", hint="name it with --review")
    studio = open_studio(db)
    with studio.store as store:
        if review is not None:
            known = store.read(review, lambda board: board.people.get(name))
            if roles or known is None:
                trained = known is not None and known.trained
                store.enlist(review, name, roles, "command line", trained=trained)
        manager = len(roles) < len(role or [])
        link = invite_link(studio, name, url.rstrip("/"), by="command line", manager=manager)
        if manager:
            studio.accounts.set_manager(name, True, by="command line")
    typer.echo(link)


def _check_installed() -> None:
    from importlib.util import find_spec

    from contrafact.errors import InputError

    for package in ("fastapi", "uvicorn", "sqlalchemy", "alembic", "argon2", "multipart"):
        if find_spec(package) is None:
            raise InputError(
                f"the review studio needs the package {package}",
                hint="pip install 'contrafact[review]'",
            )
