"""``contrafact review``: human quality assurance. Items in, decisions out, and the proof."""

import re
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

import typer

from contrafact.cli.review_plan import estimate, plan, residual
from contrafact.review.store import missing_file, open_store

__all__ = ["app"]

app = typer.Typer(
    help="Human quality assurance: from the first label to adjudication.", no_args_is_help=True
)
_Database = Annotated[
    str, typer.Option("--db", metavar="URL", help="A file for SQLite, or postgresql://…")
]
_COUNTED = {"history": "events", "sheet": "answered items"}
_Review = Annotated[str, typer.Option("--review", metavar="NAME", help="The review's name.")]


@app.callback()
def group() -> None:
    """Human quality assurance: from the first label to adjudication."""


@app.command("serve")
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
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="The address that people reach it by: links carry it, other names are refused.",
        ),
    ] = None,
    trust_header: Annotated[
        str | None,
        typer.Option(
            "--trust-header",
            metavar="NAME",
            help="A proxy signs people in, and names them in this header, such as X-Remote-User.",
        ),
    ] = None,
    trusted: Annotated[
        str,
        typer.Option(
            "--from", metavar="ADDRESS", help="With --trust-header: where the proxy connects from."
        ),
    ] = "127.0.0.1",
) -> None:
    """Serve the review studio, to this machine alone unless an option says otherwise.

    Where nobody manages it yet, a one-time link for its manager is printed.

    Example: contrafact review serve --db review.db --port 8000
    """
    _check_installed()
    from contrafact.errors import InputError
    from contrafact.review.web import serve as server
    from contrafact.review.web.studio import TrustedProxy

    proxy = None
    if trust_header is not None:
        try:
            ip_address(trusted)
        except ValueError as error:
            raise InputError(
                f"'{trusted[:40]}' is no address that a proxy connects from",
                hint="give --from an IP address, such as 127.0.0.1",
            ) from error
        if not re.fullmatch(r"[A-Za-z0-9-]+", trust_header):
            raise InputError(
                f"'{trust_header[:40]}' is no name of a header", hint="write it as X-Remote-User"
            )
        proxy = TrustedProxy(trust_header, trusted)
    server.serve(
        db,
        host=host,
        port=port,
        certificate=tls_cert,
        key=tls_key,
        allow_remote=allow_remote,
        behind_proxy=behind_proxy,
        url=url,
        proxy=proxy,
        say=typer.echo,
    )


@app.command("invite")
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
    from contrafact.review.assignment import role_warnings
    from contrafact.review.web.studio import open_studio

    roles = [one for one in role or [] if one != "manager"]
    if roles and review is None:
        raise InputError(f"'{roles[0]}' is a role in a review", hint="name it with --review")
    studio = open_studio(db)
    with studio.store as store:
        if review is not None:
            known = store.read(review, lambda state: state.people.get(name))
            if roles or known is None:
                trained = known is not None and known.trained
                store.set_roles(review, name, roles, "command line", trained=trained)
                for note in store.read(
                    review, lambda state: role_warnings(state.project, state.people[name])
                ):
                    typer.echo(f"Note: {note}", err=True)
        manager = len(roles) < len(role or [])
        link = studio.invite_link(name, url.rstrip("/"), by="command line", manager=manager)
        if manager:
            studio.accounts.set_manager(name, True, by="command line")
    typer.echo(link)


for _command in (plan, estimate, residual):
    app.command()(_command)


@app.command("project")
def project(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A built-in project, or a .toml file.")
    ] = None,
) -> None:
    """Check a project and show its stages and rules; without NAME, list those built in.

    Example: contrafact review project headline-screening
    """
    from contrafact.review.assignment import people_in_words, people_needed, roles_in_words
    from contrafact.review.project import builtin_projects, load_project

    if name is None:
        for known in builtin_projects():
            typer.echo(f"{known}: {load_project(known).title}")
        return
    found = load_project(name)
    typer.echo(f"{found.name}: {found.title}")
    roles, least = people_needed(found)
    typer.echo(f"People: {roles_in_words(roles)}; at least {people_in_words(least)}")
    for stage in found.stages:
        who = f", by {', '.join(stage.roles)}" if stage.roles else ""
        apart = f", none of them from {', '.join(stage.apart_from)}" if stage.apart_from else ""
        typer.echo(f"{stage.id} ({stage.kind}{who}{apart})")
        for rule in stage.rules:
            typer.echo(f"  to {rule.to}: {rule.why}")


@app.command("import")
def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Items: CSV, Excel, JSONL, JSON, Parquet, or -.")
    ],
    review: _Review = "review",
    db: _Database = "review.db",
    project: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A built-in project or a .toml file; for a new review."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=NAME", help="The file's name for a field; repeatable."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="WANTED=FOUND,…", help="The same for several fields at once."),
    ] = None,
    person: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=ROLE,…", help="Somebody and their roles; repeatable."),
    ] = None,
    training: Annotated[
        bool, typer.Option("--training", help="FILE holds items with known answers, to train on.")
    ] = False,
    made_with: Annotated[
        Literal["label-studio", "potato"] | None,
        typer.Option("--from", help="FILE holds decisions that were made with this tool."),
    ] = None,
    stage: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --from: of which stage. [the first blind one]"),
    ] = None,
    annotator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="THEIRS=OURS",
            help="With --from: who somebody there is here; repeatable. Just OURS where the file "
            "names nobody.",
        ),
    ] = None,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who imports.")] = "manager",
) -> None:
    """Import items into a review, and open it if it is new. What is there already stays as it is.

    With --from, decisions made elsewhere are imported, as far as they fit, and marked as such; what
    does not fit is listed with its line. There --field is QUESTION=NAME.

    Example: contrafact review import news.jsonl --project headline-screening --person Ada=verifier
    """
    from contrafact.errors import InputError
    from contrafact.files.fields import named_columns
    from contrafact.review.assignment import role_warnings, staffing_problems
    from contrafact.review.external_formats import read_annotations
    from contrafact.review.field_mapping import name_pairs, read_gold, read_items
    from contrafact.review.import_annotations import ImportSource, import_annotations
    from contrafact.review.project import load_project

    names = name_pairs(field or (), "FIELD=NAME", "--field") | named_columns(columns)
    people = name_pairs(person or (), "NAME=ROLE,ROLE", "--person")
    known = name_pairs((a for a in annotator or () if "=" in a), "THEIRS=OURS", "--annotator")
    everybody = [one.strip() for one in annotator or () if "=" not in one]
    if made_with is None and (stage is not None or annotator):
        raise InputError("--stage and --annotator go with --from", hint="name the tool with --from")
    if made_with is not None and training:
        raise InputError("decisions are not items to train on", hint="leave --training out")
    with ExitStack() as opened:
        # What is wrong with a file or a project is said before anything is opened or made.
        there = None if missing_file(db) else opened.enter_context(open_store(db))
        new = there is None or review not in there.reviews()
        if new and (project is None or made_with is not None):
            raise InputError(
                f"there is no review '{review}' in {db} yet",
                hint="import items first" if made_with else "say what is asked: --project NAME",
            )
        given = None if project is None else load_project(project)
        found = given if there is None or new else there.read(review, lambda b: b.project)
        assert found is not None
        gold = read_gold(file, found, names) if training else {}
        items = {} if training or made_with else read_items(file, found, names)
        annotations = (
            read_annotations(file, made_with, annotator=everybody[-1] if everybody else None)
            if made_with
            else []
        )
        store = there or opened.enter_context(open_store(db, new=True))
        if given is not None:
            store.define(review, given, by)
        for name, roles in people.items():
            store.set_roles(review, name, [role.strip() for role in roles.split(",")], by)
        if made_with is not None:
            source = ImportSource(made_with, file, stage, names, known)
            result = store.change(
                review,
                lambda state, now, rng: import_annotations(
                    state, annotations, source, by, now=now, rng=rng
                ),
            )
            for problem in result.problems:
                typer.echo(problem, err=True)
            typer.echo(
                f"{review}: decisions imported: {result.imported:,}, already there: "
                f"{result.duplicates:,}, left out: {len(result.problems):,}"
            )
            return
        if training:
            added = store.import_gold(review, gold, by)
            typer.echo(f"{review}: {added:,} of {len(gold):,} training items are new")
        else:
            added = store.import_items(review, items, by)
            typer.echo(f"{review}: {added:,} of {len(items):,} items are new")
        for note in store.read(
            review, lambda b: [n for who in people for n in role_warnings(b.project, b.people[who])]
        ):
            typer.echo(f"Note: {note}", err=True)
        for problem in store.read(review, staffing_problems):
            typer.echo(f"Not yet: {problem}", err=True)


@app.command("export")
def export(
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="A file: .jsonl, .csv or .parquet.")
    ],
    review: _Review = "review",
    db: _Database = "review.db",
    what: Annotated[
        Literal["decisions", "items", "ratings", "labels", "sheet", "history"],
        typer.Option(
            help="What stands, where items ended, ratings for `agree`, labels for `report "
            "--labels`, a filled sheet for `study score`, or every event."
        ),
    ] = "decisions",
    question: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of ratings: a question. [the verdict]")
    ] = None,
    stage: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of ratings: the stages. [those that are blind]"),
    ] = None,
) -> None:
    """Write what came out of a review, at any time.

    Decisions feed a family's own stages (`finalize --decisions`), ratings `contrafact agree`.

    Example: contrafact review export --db review.db --what decisions --out decisions.jsonl
    """
    from contrafact.errors import InputError
    from contrafact.review.export import export_rows, history_rows, table_format, write_rows

    table_format(out)
    with open_store(db) as store:
        if what == "history":
            made = history_rows(store.history(review))
        else:
            made = store.read(review, lambda b: export_rows(b, what, stage or (), question))
    if not made:
        raise InputError(f"the review '{review}' has no {what} yet", hint="export it later")
    write_rows(made, out)
    typer.echo(f"{out}: {len(made):,} {_COUNTED.get(what, what)}")


_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is recorded.")]
_Item = Annotated[str, typer.Argument(metavar="ITEM", help="The item's id.")]


@app.command("reopen")
def reopen(
    item: _Item,
    reason: _Reason,
    stage: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A stage that the item has been at. [the first]"),
    ] = None,
    review: _Review = "review",
    db: _Database = "review.db",
    by: Annotated[str, typer.Option(metavar="NAME", help="Who says so.")] = "manager",
) -> None:
    """Send an item back to a stage, wherever it is now or however it ended.

    Decisions made there and later are set aside: they stay in the history, and no longer count.

    Example: contrafact review reopen i7 --stage annotation --reason "the source was corrected"
    """
    from contrafact.review.corrections import Correction

    with open_store(db) as store:
        store.reopen(review, Correction(by, item, reason), stage)
        found = store.read(review, lambda state: state.items[item].stage)
    typer.echo(f"{item}: reopened at '{found}'")


@app.command("withdraw")
def withdraw(
    item: _Item,
    reason: _Reason,
    review: _Review = "review",
    db: _Database = "review.db",
    by: Annotated[str, typer.Option(metavar="NAME", help="Who says so.")] = "manager",
) -> None:
    """Take an item out of a review. It counts as removed, and its decisions are exported no more.

    Example: contrafact review withdraw i7 --reason "the publisher took the article back"
    """
    from contrafact.review.corrections import Correction

    with open_store(db) as store:
        store.withdraw(review, Correction(by, item, reason))
    typer.echo(f"{item}: withdrawn")


@app.command("assign")
def assign(
    items: Annotated[list[str], typer.Argument(metavar="ITEM...", help="The items' ids.")],
    to: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who gets them first. [nobody in particular]"),
    ] = None,
    review: _Review = "review",
    db: _Database = "review.db",
    by: Annotated[str, typer.Option(metavar="NAME", help="Who says so.")] = "manager",
) -> None:
    """Set items aside for somebody at the stage where they are.

    They come to them before all others, and to others when they have nothing else.

    Example: contrafact review assign i7 i9 --to Cem
    """
    with open_store(db) as store:
        for item in items:
            store.reserve(review, item, by, to)
    typer.echo(f"{len(items):,} items: for {to or 'nobody in particular'}")


@app.command("retract")
def retract(
    item: _Item,
    decision: Annotated[
        int, typer.Argument(metavar="EVENT", help="The decision's number in the history.")
    ],
    reason: _Reason,
    review: _Review = "review",
    db: _Database = "review.db",
    by: Annotated[str, typer.Option(metavar="NAME", help="Who says so.")] = "manager",
) -> None:
    """Take one decision back. The item waits for another in its place, where it was made.

    Decisions that others made in the same round stand; those that came after are set aside.

    Example: contrafact review retract i7 112 --reason "the wrong item was open"
    """
    from contrafact.review.corrections import Correction

    with open_store(db) as store:
        store.retract(review, Correction(by, item, reason), decision)
        found = store.read(review, lambda state: state.items[item].stage)
    typer.echo(f"{item}: decision {decision} is taken back; it waits at '{found}'")


@app.command("edit")
def edit(
    item: _Item,
    reason: _Reason,
    field: Annotated[
        list[str], typer.Option(metavar="NAME=TEXT", help="A field as it is to be; repeatable.")
    ],
    review: _Review = "review",
    db: _Database = "review.db",
    by: Annotated[str, typer.Option(metavar="NAME", help="Who says so.")] = "manager",
) -> None:
    """Change what an item shows. It begins anew: decisions on another text are set aside.

    Example: contrafact review edit i7 --field headline="Alder Works opens" --reason "a typing slip"
    """
    from contrafact.review.corrections import Correction
    from contrafact.review.field_mapping import name_pairs

    fields = name_pairs(field, "NAME=TEXT", "--field")
    with open_store(db) as store:
        changed = store.edit(review, Correction(by, item, reason), fields)
        found = store.read(review, lambda state: state.items[item].stage)
    typer.echo(f"{item}: edited; it begins anew at '{found}'" if changed else f"{item}: as it was")


@app.command("figures")
def figures(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder for the tables.")],
    review: _Review = "review",
    db: _Database = "review.db",
) -> None:
    """Write every figure of a review as tables (CSV).

    Progress, throughput, agreement and who says what, pass rates of audits by stratum, what share
    of the final items is wrong, and rounds of training, as far as the review has them.

    Example: contrafact review figures --db review.db --out figures
    """
    from datetime import UTC, datetime

    from contrafact.review.figures.tables import figure_tables, write_tables

    with open_store(db) as store:
        state, history = store.read(review, lambda found: found), store.history(review)
    for file in write_tables(figure_tables(state, history, datetime.now(UTC)), out):
        typer.echo(str(file))


@app.command("prove")
def prove(review: _Review = "review", db: _Database = "review.db") -> None:
    """Rebuild a review from its events, and compare. Exits with 1 where anything differs.

    Example: contrafact review prove --db review.db
    """
    from contrafact.review.store.store import verify

    with open_store(db) as store:
        problems, events = verify(store, review), len(store.history(review))
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{review}: the state is what its {events:,} events say")


@app.command("backup")
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes.")],
    db: _Database = "review.db",
) -> None:
    """Copy a studio's database (SQLite) while it is served. The copy is whole or not there.

    Of PostgreSQL use pg_dump.

    Example: contrafact review backup monday.db --db review.db
    """
    from contrafact.review.store.backup import backup as copy

    _check_installed()
    count = copy(db, file)
    typer.echo(f"{file}: {count:,} {'review' if count == 1 else 'reviews'}")


@app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that `backup` made.")],
    db: _Database = "review.db",
) -> None:
    """Put a copy back as a new database (SQLite), once its histories are proven.

    Example: contrafact review restore monday.db --db restored.db
    """
    from contrafact.review.store.backup import restore as put_back

    _check_installed()
    names = put_back(file, db)
    typer.echo(f"{db}: {', '.join(names) or 'no reviews'}; each is what its events say")


@app.command("delete")
def delete(
    out: Annotated[
        Path, typer.Option("--export", metavar="FILE", help="Where its history is written first.")
    ],
    review: Annotated[str, typer.Option("--review", metavar="NAME", help="The review's name.")],
    db: _Database = "review.db",
    by: Annotated[str, typer.Option(metavar="NAME", help="Who says so.")] = "manager",
) -> None:
    """Delete a review for good, once its history is written into a file.

    Example: contrafact review delete --review spring --export spring.jsonl
    """
    from contrafact.review.store.backup import delete_review

    with open_store(db) as store:
        count = delete_review(store, review, out, by)
    typer.echo(f"{review}: deleted; its {count:,} events are in {out}")


def _check_installed() -> None:
    from importlib.util import find_spec

    from contrafact.errors import InputError

    for package in (
        "fastapi",
        "uvicorn",
        "sqlalchemy",
        "alembic",
        "argon2",
        "multipart",
        "zxcvbn",
    ):
        if find_spec(package) is None:
            raise InputError(
                f"the review studio needs the package {package}",
                hint="pip install 'contrafact[review]'",
            )
