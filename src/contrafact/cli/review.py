"""``contrafact review``: human quality assurance, from importing items to exporting decisions."""

import re
from contextlib import ExitStack
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from contrafact.cli.review_plan import estimate, plan
from contrafact.errors import InputError
from contrafact.files.fields import named_columns
from contrafact.files.tables import require_tables
from contrafact.options import Options, argument, command, option
from contrafact.review.project import builtin_projects, load_project
from contrafact.review.store import check_installed, missing_file, open_store

if TYPE_CHECKING:
    from contrafact.review.web.studio import TrustedProxy

app = typer.Typer(
    help="Human quality assurance: from the first label to adjudication.", no_args_is_help=True
)
_COUNTED = {"history": "events", "sheet": "answered items"}


class StoreOptions(Options):
    """The option that names the database of reviews."""

    db: str = option("review.db", "A file for SQLite, or postgresql://…", metavar="URL")


class ReviewOptions(StoreOptions):
    """The options that name a review."""

    review: str = option("review", "The review's name.", metavar="NAME")


class _Serve(StoreOptions):
    port: int = option(8000, "The port; 0 for any.", metavar="N", ge=0, le=65535)
    host: str = option("127.0.0.1", "The address to listen on.", metavar="H")
    tls_cert: Path | None = option(None, "A certificate (PEM).", metavar="FILE")
    tls_key: Path | None = option(None, "Its key (PEM).", metavar="FILE")
    allow_remote: bool = option(False, "Let others reach it without TLS.")
    behind_proxy: bool = option(
        False, "A proxy on this machine ends TLS and names clients' addresses."
    )
    url: str | None = option(
        None,
        "The studio's public address: links use it, other host names are refused.",
        metavar="URL",
    )
    trust_header: str | None = option(
        None,
        "A proxy signs people in, and names them in this header, such as X-Remote-User.",
        metavar="NAME",
    )
    trusted: str = option(
        "127.0.0.1",
        "With --trust-header: where the proxy connects from.",
        name="from",
        metavar="ADDRESS",
    )

    def proxy(self) -> "TrustedProxy | None":
        """Return the proxy that signs people in, if there is one."""
        from contrafact.review.web.studio import TrustedProxy

        if self.trust_header is None:
            return None
        try:
            ip_address(self.trusted)
        except ValueError as error:
            raise InputError(
                f"'{self.trusted[:40]}' is not an address that a proxy can connect from",
                hint="give --from an IP address, such as 127.0.0.1",
            ) from error
        if not re.fullmatch(r"[A-Za-z0-9-]+", self.trust_header):
            raise InputError(
                f"'{self.trust_header[:40]}' is not a header's name",
                hint="write it as X-Remote-User",
            )
        return TrustedProxy(self.trust_header, self.trusted)


@app.command("serve")
@command
def serve(options: _Serve) -> None:
    """Serve the review studio, by default to this machine only.

    If it has no manager yet, a one-time link for the manager is printed.

    Example: contrafact review serve --db review.db --port 8000
    """
    check_installed()
    from contrafact.review.web import serve as server

    cert, key = options.tls_cert, options.tls_key
    if key is not None and cert is None:
        raise InputError("a TLS key needs its certificate", hint="give --tls-cert too")
    server.serve(
        options.db,
        host=options.host,
        port=options.port,
        tls=None if cert is None else (cert, key),
        allow_remote=options.allow_remote,
        behind_proxy=options.behind_proxy,
        url=options.url,
        proxy=options.proxy(),
    )


class _Invite(StoreOptions):
    name: str = argument("NAME", "The person, as reviews name them.")
    role: list[str] | None = option(
        None, "'manager', or a role in the review; repeatable.", metavar="ROLE"
    )
    review: str | None = option(None, "The review of the roles.", metavar="NAME")
    url: str | None = option(
        None, "The studio's address, for the link. [where it runs]", metavar="URL"
    )


@app.command("invite")
@command
def invite(options: _Invite) -> None:
    """Print a one-time link at which a person chooses a password; earlier links become invalid.

    Example: contrafact review invite Ada --review review --role expert-a
    """
    check_installed()
    from contrafact.review.assignment import role_warnings
    from contrafact.review.setup import set_roles
    from contrafact.review.web.serve import public_name, running_address
    from contrafact.review.web.studio import open_studio

    if options.url is not None:
        public_name(options.url)
    name, review, role = options.name, options.review, options.role or []
    roles = [one for one in role if one != "manager"]
    if roles and review is None:
        raise InputError(
            f"'{roles[0]}' is a role in a review", hint="name the review: --review NAME"
        )
    studio = open_studio(options.db)
    with studio.store as store:
        base = running_address(studio) if options.url is None else options.url.rstrip("/")
        if review is not None:
            known = store.read(review, lambda state: state.people.get(name))
            if roles or known is None:
                trained = known is not None and known.trained
                store.act(review, set_roles, "command line", name, roles, trained=trained)
                for note in store.read(
                    review, lambda state: role_warnings(state.project, state.people[name])
                ):
                    typer.echo(f"Note: {note}", err=True)
        manager = len(roles) < len(role)
        link = studio.invite_link(name, base, by="command line", manager=manager)
        if manager:
            studio.accounts.set_manager(name, True, by="command line")
    typer.echo(link)


for _name, _command in (("plan", plan), ("estimate", estimate)):
    app.command(_name)(_command)


class _Project(Options):
    name: str | None = argument("[NAME]", "A built-in project, or a .toml file.", None)


@app.command("project")
@command
def project(options: _Project) -> None:
    """Check a project and show its stages and rules; without NAME, list the built-in projects.

    Example: contrafact review project headline-screening
    """
    from contrafact.review.assignment import people_in_words, people_needed, roles_in_words

    if options.name is None:
        for known in builtin_projects():
            typer.echo(f"{known}: {load_project(known).title}")
        return
    found = load_project(options.name)
    typer.echo(f"{found.name}: {found.title}")
    roles, least = people_needed(found)
    typer.echo(f"People: {roles_in_words(roles)}; at least {people_in_words(least)}")
    for stage in found.stages:
        who = f", by {', '.join(stage.roles)}" if stage.roles else ""
        apart = f", none of them from {', '.join(stage.apart_from)}" if stage.apart_from else ""
        typer.echo(f"{stage.id} ({stage.kind}{who}{apart})")
        for rule in stage.rules:
            typer.echo(f"  to {rule.to}: {rule.why}")


class _Import(ReviewOptions):
    file: str = argument("FILE", "Items: CSV, Excel, JSONL, JSON, Parquet, or -.")
    project: str | None = option(
        None, "A built-in project or a .toml file; for a new review.", metavar="NAME"
    )
    columns: list[str] | None = option(
        None, "Names of fields in the file; repeatable.", metavar="WANTED=FOUND,…"
    )
    person: list[str] | None = option(
        None, "A person and their roles; repeatable.", metavar="NAME=ROLE,…"
    )
    training: bool = option(False, "FILE holds training items, with known answers.")
    by: str = option("manager", "Who imports.", metavar="NAME")


@app.command("import")
@command
def import_(options: _Import) -> None:
    """Import items into a review, and create the review if it is new. Existing items are kept.

    Example: contrafact review import news.jsonl --project headline-screening --person Ada=verifier
    """
    require_tables(options.file)
    from contrafact.review.assignment import role_warnings, staffing_problems
    from contrafact.review.field_mapping import name_pairs, read_gold, read_items
    from contrafact.review.setup import import_gold, import_items, set_roles

    file, review, db, by = options.file, options.review, options.db, options.by
    names = named_columns(options.columns)
    people = name_pairs(options.person or (), "NAME=ROLE,ROLE", "--person")
    with ExitStack() as opened:
        # Errors in a file or a project are reported before anything is opened or created.
        there = None if missing_file(db) else opened.enter_context(open_store(db))
        new = there is None or review not in there.reviews()
        if new and options.project is None:
            raise InputError(
                f"there is no review '{review}' in {db} yet",
                hint="name its project: --project NAME",
            )
        named = None if options.project is None else load_project(options.project)
        found = named if there is None or new else there.read(review, lambda b: b.project)
        assert found is not None
        gold = read_gold(file, found, names) if options.training else {}
        items = {} if options.training else read_items(file, found, names)
        store = there or opened.enter_context(open_store(db, new=True))
        if named is not None:
            store.define(review, named, by)
        for name, roles in people.items():
            store.act(review, set_roles, by, name, [role.strip() for role in roles.split(",")])
        if options.training:
            added = store.act(review, import_gold, by, gold)
            typer.echo(f"{review}: {added:,} of {len(gold):,} training items are new")
        else:
            added = store.act(review, import_items, by, items)
            typer.echo(f"{review}: {added:,} of {len(items):,} items are new")
        for note in store.read(
            review, lambda b: [n for who in people for n in role_warnings(b.project, b.people[who])]
        ):
            typer.echo(f"Note: {note}", err=True)
        for problem in store.read(review, staffing_problems):
            typer.echo(f"Not yet: {problem}", err=True)


class _Export(ReviewOptions):
    out: Path = option(..., "A file: .jsonl, .csv or .parquet.", metavar="FILE")
    what: Literal["decisions", "items", "ratings", "labels", "sheet", "history"] = option(
        "decisions",
        "Decisions, items with outcomes, ratings for `agree`, labels for `report --labels`, a "
        "filled sheet for `study score`, or every event.",
    )
    question: str | None = option(None, "Of ratings: a question. [the verdict]", metavar="NAME")
    stage: list[str] | None = option(
        None, "Of ratings: the stages. [those that are blind]", metavar="NAME"
    )


@app.command("export")
@command
def export(options: _Export) -> None:
    """Write the results of a review, at any time.

    Decisions feed a family's own stages (`finalize --decisions`), ratings `contrafact agree`.

    Example: contrafact review export --db review.db --what decisions --out decisions.jsonl
    """
    from contrafact.review.export import export_rows, history_rows, table_format, write_rows

    review, what, out = options.review, options.what, options.out
    table_format(out)
    with open_store(options.db) as store:
        if what == "history":
            rows = history_rows(store.history(review))
        else:
            stages, question = options.stage or (), options.question
            rows = store.read(review, lambda state: export_rows(state, what, stages, question))
    if not rows:
        raise InputError(f"the review '{review}' has no {what} yet", hint="export it later")
    write_rows(rows, out)
    typer.echo(f"{out}: {len(rows):,} {_COUNTED.get(what, what)}")


class _Figures(ReviewOptions):
    out: Path = option(..., "A folder for the tables.", metavar="DIR")


@app.command("figures")
@command
def figures(options: _Figures) -> None:
    """Write all figures of a review as tables (CSV).

    They are progress, agreement, pass rates of audits by stratum, and rounds of training, as far as
    the review has them.

    Example: contrafact review figures --db review.db --out figures
    """
    from contrafact.review.figures import figure_tables, write_tables

    with open_store(options.db) as store:
        state = store.read(options.review, lambda state: state)
    for file in write_tables(figure_tables(state, datetime.now(UTC)), options.out):
        typer.echo(str(file))


@app.command("prove")
@command
def prove(options: ReviewOptions) -> None:
    """Rebuild a review from its events and compare. Exits with 1 if anything differs.

    Example: contrafact review prove --db review.db
    """
    from contrafact.review.store.store import verify

    review = options.review
    with open_store(options.db) as store:
        problems, events = verify(store, review), len(store.history(review))
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{review}: the state matches its {events:,} events")
