"""``contrafact review``: human quality assurance. Items in, decisions out, and the proof."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from contrafact.cli.review_plan import estimate, plan, residual
from contrafact.cli.review_serve import invite, serve
from contrafact.cli.review_store import open_store

if TYPE_CHECKING:
    from contrafact.review.store.store import Store

__all__ = ["app"]

app = typer.Typer(
    help="Human quality assurance: from the first label to adjudication.", no_args_is_help=True
)
_Database = Annotated[
    str, typer.Option("--db", metavar="URL", help="A file for SQLite, or postgresql://…")
]
_COUNTED = {"history": "events", "sheet": "answered items"}
_Review = Annotated[str, typer.Option("--review", metavar="NAME", help="The review's name.")]
app.command("serve")(serve)
app.command("invite")(invite)
app.command("plan")(plan)
app.command("estimate")(estimate)
app.command("residual")(residual)


@app.callback()
def group() -> None:
    """Human quality assurance: from the first label to adjudication."""


@app.command("project")
def project(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A built-in project, or a .toml file.")
    ] = None,
) -> None:
    """Check a project and show its stages and rules; without NAME, list those built in.

    Example: contrafact review project rfc-rewrite
    """
    from contrafact.review.loading import builtin_projects, load_project

    if name is None:
        for known in builtin_projects():
            typer.echo(f"{known}: {load_project(known).title}")
        return
    found = load_project(name)
    typer.echo(f"{found.name}: {found.title}")
    for stage in found.stages:
        who = f", by {', '.join(stage.roles)}" if stage.roles else ""
        typer.echo(f"{stage.id} ({stage.kind}{who})")
        for rule in stage.rules:
            typer.echo(f"  to {rule.to}: {rule.why}")


@app.command("import")
def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Items: CSV, JSONL, JSON, Parquet, or -.")
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
    """Bring items into a review, and open it if it is new. What is there already is left as it is.

    With --from, decisions made elsewhere are taken in, as far as they fit, and marked as such; what
    does not fit is told with its line. There --field is QUESTION=NAME.

    Example: contrafact review import pairs.jsonl --project rfc-rewrite --person Ada=expert-a
    """
    from contrafact.errors import InputError
    from contrafact.review.desk import staffing_problems
    from contrafact.review.importing import read_gold, read_items
    from contrafact.review.loading import load_project

    names = _pairs(field or [], "--field", "FIELD=NAME")
    people = _pairs(person or [], "--person", "NAME=ROLE,ROLE")
    if made_with is None and (stage is not None or annotator):
        raise InputError("--stage and --annotator go with --from", hint="name the tool with --from")
    if made_with is not None and training:
        raise InputError("decisions are not items to train on", hint="leave --training out")
    with open_store(db, new=True) as store:
        new = review not in store.reviews()
        if new and (project is None or made_with is not None):
            raise InputError(
                f"there is no review '{review}' in {db} yet",
                hint="import items first" if made_with else "say what is asked: --project NAME",
            )
        found = store.read(review, lambda b: b.project) if not new else load_project(str(project))
        # The file is read before anything is opened, so that a bad one leaves nothing behind.
        gold = read_gold(file, found, names) if training else {}
        items = {} if training or made_with else read_items(file, found, names)
        if project is not None:
            store.define(review, load_project(project), by)
        for name, roles in people.items():
            store.enlist(review, name, [role.strip() for role in roles.split(",")], by)
        if made_with is not None:
            _take_decisions(store, review, file, made_with, stage, annotator or [], names, by)
            return
        if training:
            added = store.import_gold(review, gold, by)
            typer.echo(f"{review}: {added:,} of {len(gold):,} training items are new")
        else:
            added = store.import_items(review, items, by)
            typer.echo(f"{review}: {added:,} of {len(items):,} items are new")
        for problem in store.read(review, staffing_problems):
            typer.echo(f"Not yet: {problem}", err=True)


def _take_decisions(
    store: "Store",
    review: str,
    file: str,
    tool: Literal["label-studio", "potato"],
    stage: str | None,
    annotators: list[str],
    names: dict[str, str],
    by: str,
) -> None:
    from contrafact.review.adopt import adopt
    from contrafact.review.elsewhere import read_foreign

    everybody = [one.strip() for one in annotators if "=" not in one]
    people = _pairs([one for one in annotators if "=" in one], "--annotator", "THEIRS=OURS")
    decisions = read_foreign(file, tool, annotator=everybody[-1] if everybody else None)
    found = store.change(
        review,
        lambda board, now, rng: adopt(
            board,
            decisions,
            by,
            tool=tool,
            file=file,
            stage=stage,
            names=names,
            people=people,
            now=now,
            rng=rng,
        ),
    )
    for problem in found.problems:
        typer.echo(problem, err=True)
    said = f"decisions taken in: {found.taken:,}, there already: {found.known:,}"
    typer.echo(f"{review}: {said}, left out: {len(found.problems):,}")


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

    Decisions feed `contrafact rfc finalize --decisions`, ratings `contrafact agree`.

    Example: contrafact review export --db review.db --what decisions --out decisions.jsonl
    """
    from contrafact.errors import InputError
    from contrafact.review.export import history_rows, rows_of
    from contrafact.review.rows_out import form_of, write_rows

    form_of(out)
    with open_store(db) as store:
        if what == "history":
            made = history_rows(store.history(review))
        else:
            made = store.read(review, lambda b: rows_of(b, what, stage or (), question))
    if not made:
        raise InputError(f"the review '{review}' has no {what} yet", hint="export it later")
    write_rows(made, out)
    typer.echo(f"{out}: {len(made):,} {_COUNTED.get(what, what)}")


@app.command("prove")
def prove(review: _Review = "review", db: _Database = "review.db") -> None:
    """Rebuild a review from its events, and compare. Exits with 1 where anything differs.

    Example: contrafact review prove --db review.db
    """
    from contrafact.review.store.verify import verify

    with open_store(db) as store:
        problems = verify(store, review)
        events = len(store.history(review))
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{review}: the state is what its {events:,} events say")


def _pairs(given: list[str], option: str, form: str) -> dict[str, str]:
    from contrafact.errors import InputError

    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"{option} {text[:40]} is not of the form {form}")
        pairs[name.strip()] = value.strip()
    return pairs
