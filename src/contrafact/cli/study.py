"""``contrafact FAMILY study``: a sheet for people to fill in, and what their answers say.

The group is made from a family's `StudySpec`, one for each kind of study that it has.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from contrafact.options import Options, argument, as_command, option, parameter, parameters_of

if TYPE_CHECKING:
    from contrafact.family import Family
    from contrafact.family.study import StudySpec, StudyTable

_WIDE = 10
"""A table with more columns than this is shown row by row."""


def study_group(family: "Family") -> Any:
    """Return the group of commands of a family's studies."""
    studies = {kind: spec.load() for kind, spec in family.study.items()}
    text = "Studies with people: a sheet for them to fill in, and what their answers say."
    app = typer.Typer(help=text, no_args_is_help=True)
    app.command("sample")(_sample_command(family.name, studies))
    app.command("score")(_score_command(family.name, studies))
    group = typer.main.get_group(app)
    group.name = "study"
    return group


def _sample_command(family: str, studies: "Mapping[str, StudySpec]") -> Callable[..., None]:
    """Return the function behind ``sample``: it has ``--kind`` where there are several kinds."""

    first, spec = next(iter(studies.items()))

    def sample(
        sources: list[Path],
        out: Path,
        kind: str = first,
        purpose: str | None = None,
        n: int | None = None,
        seed: int = 0,
    ) -> None:
        from contrafact.files.tables import require_tables

        require_tables(*sources)
        import numpy as np

        from contrafact.study.sample import draw_study, for_calibration, read_source

        chosen = studies[kind]
        if purpose:
            kind, chosen = for_calibration(studies)
        wanted = chosen.n if n is None else n
        drawn = draw_study(
            chosen, read_source(chosen, sources), wanted, np.random.default_rng(seed), kind=kind
        )
        key, guidelines = drawn.write(out)
        systems = drawn.key["system"].nunique() if "system" in drawn.key else 0
        of = f" of {systems} system{'s' if systems > 1 else ''}" if systems else ""
        typer.echo(f"{out}: {drawn.n:,} {chosen.noun}{of}")
        for sentence in drawn.shortage:
            typer.echo(f"  {sentence}")
        typer.echo(f"{key}: the key; do not show it to those who answer")
        typer.echo(f"{guidelines}: guidelines for them")

    loads = {bool(one.load) for one in studies.values()}
    metavar = "FILE|RUN…" if len(loads) > 1 else "FILE" if True in loads else "RUN…"
    source = " Or: ".join(dict.fromkeys(one.source for one in studies.values()))
    of = {True: " of each {}", False: ""}
    numbers = dict.fromkeys(
        f"{one.n} {one.noun}{of[one.each].format(' and '.join(one.strata))}"
        for one in studies.values()
    )
    number = f"How many to draw. [{', or '.join(numbers)}]"
    kinds = cast(Any, Literal)[tuple(studies)]
    kind_help = "; ".join(f"{k}: {one.summary}" for k, one in studies.items())
    typed: list[tuple[str, Any, Any, Any]] = [
        ("sources", list[Path], typer.Argument(metavar=metavar, help=source), ...),
        ("out", Path, typer.Option(metavar="FILE", help="The sheet: .csv or .xlsx."), ...),
        ("kind", kinds, typer.Option("--kind", "--sheet", help=kind_help), first),
        (
            "purpose",
            Literal["calibration"] | None,
            typer.Option(
                "--for",
                help="calibration: --n outputs of each system, drawn by what the judge said of "
                "them, so that its rates can be corrected by people's labels.",
            ),
            None,
        ),
        ("n", int | None, typer.Option("--n", min=1, metavar="N", help=number), None),
        ("seed", int, typer.Option(min=0, metavar="S", help="Seed of the drawing."), 0),
    ]
    corrects = any(one.criterion for spec in studies.values() for one in spec.questions)
    example = "final.jsonl" if spec.load else "runs/a runs/b"
    chosen = f" --sheet {first}" if first else ""
    return as_command(
        sample,
        [
            parameter(name, (kind, typer_option), default)
            for name, kind, typer_option, default in typed
            if (name != "kind" or len(studies) > 1) and (name != "purpose" or corrects)
        ],
        f"Draw {spec.noun}, and write a sheet for people to fill in.\n\n"
        "Next to the sheet stand its key (where each item comes from, and what is known of it; "
        "keep it from those who answer) and guidelines for them.\n\n"
        f"Example: contrafact {family} study sample {example}{chosen} --n {spec.n} "
        "--out study/sheet.csv",
    )


class _Score(Options):
    files: list[Path] = argument("FILE…", "Filled sheets: CSV, as Excel saves them, or .xlsx.")
    columns: list[str] | None = option(
        "What the sheets call their columns now.", None, metavar="WANTED=FOUND,…"
    )
    key: Path | None = option(
        "The key; if not given, the one next to the first sheet.", None, metavar="FILE"
    )
    out: Path | None = option("Folder to write the tables to, as CSV.", None, metavar="DIR")
    with_published: bool = option("Show the paper's figures as well.", False, "--with-published")
    seed: int = option("Seed of the intervals' resampling.", 0, min=0, metavar="S")


def _score_command(family: str, studies: "Mapping[str, StudySpec]") -> Callable[..., None]:
    def score(**values: Any) -> None:
        _score(family, studies, _Score(**values))

    published = any(spec.published for spec in studies.values())
    return as_command(
        score,
        [one for one in parameters_of(_Score) if one.name != "with_published" or published],
        "Say how far people agree with each other, and with what they are held against.\n\n"
        "Every figure has a 95% interval, or is called undefined. There is one filled sheet for "
        "each person, or a shared one.\n\n"
        f"Example: contrafact {family} study score study/ann.csv study/ben.csv --out study/figures",
    )


def _score(family: str, studies: "Mapping[str, StudySpec]", options: _Score) -> None:
    from contrafact.errors import InputError
    from contrafact.files.tables import TABLE_SUFFIXES, require_tables

    require_tables(*options.files)
    if options.out is not None and options.out.suffix in TABLE_SUFFIXES:
        raise InputError("there are several tables", file=options.out, hint="name a folder")
    import numpy as np

    from contrafact.files.fields import named_columns
    from contrafact.files.sheets import find_key
    from contrafact.study.score import read_answers, read_key, score_study

    command = f"{family} study sample"
    kind, items = read_key(options.key or find_key(options.files), studies, command=command)
    spec = studies[kind]
    names = named_columns(options.columns)
    answers, problems = read_answers(options.files, spec, items, command=command, columns=names)
    for problem in problems:
        typer.echo(problem, err=True)
    tables = score_study(spec, items, answers, np.random.default_rng(options.seed))
    for table in tables:
        _show(table)
    for found in spec.published() if options.with_published and spec.published else ():
        if isinstance(found, str):
            typer.echo(found)
        else:
            _show(found)
    if options.out is not None:
        _write(tables, options.out)


def _show(table: "StudyTable") -> None:
    from contrafact.console import show_frame

    if table.title and not table.frame.empty:
        figures = [name for name in table.frame if not str(name).endswith(("_low", "_high"))]
        show_frame(
            table.title,
            table.frame,
            shares=table.shares,
            coefficients=table.coefficients,
            upright=len(figures) > _WIDE,
        )


def _write(tables: "Sequence[StudyTable]", out: Path) -> None:
    from contrafact.files.tables import write_frame

    for table in tables:
        if table.name and not table.frame.empty:
            frame = table.frame.copy()
            for name in table.undefined:
                # Not a number is not itself.
                frame[name] = ["undefined" if x != x else x for x in frame[name].tolist()]
            write_frame(frame, out / f"{table.name}.csv")
    typer.echo(f"Tables are in {out}")
