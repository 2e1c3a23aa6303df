"""``contrafact FAMILY study``: sheets for people to fill in, and tables of their answers.

The group is made from a family's `StudySpec` objects, one for each kind of study.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from pydantic import create_model

from contrafact.console import show_frame
from contrafact.errors import InputError
from contrafact.files.fields import named_columns
from contrafact.files.sheets import find_key
from contrafact.files.tables import TABLE_SUFFIXES, require_tables, write_frame
from contrafact.options import (
    Options,
    argument,
    as_command,
    option,
    parameters_of,
    settings_command,
)

if TYPE_CHECKING:
    from contrafact.family import Family
    from contrafact.family.study import StudySpec, StudyTable

_WIDE = 10
"""The number of columns above which a table is shown row by row."""


group = typer.Typer(callback=lambda: None)
"""The group for a family without its own commands, which holds its studies."""


def study_group(family: "Family") -> Any:
    """Return the command group for a family's studies."""
    studies = {kind: spec.load() for kind, spec in family.study.items()}
    text = "Studies with people: a sheet for them to fill in, and what their answers say."
    app = typer.Typer(help=text, no_args_is_help=True)
    app.command("sample")(_sample_command(family.name, studies))
    app.command("score")(_score_command(family.name, studies))
    group = typer.main.get_group(app)
    group.name = "study"
    return group


def _sample_command(family: str, studies: "Mapping[str, StudySpec]") -> Callable[..., None]:
    first, spec = next(iter(studies.items()))
    example = "final.jsonl" if spec.load else "runs/a runs/b"
    sheet = f" --sheet {first}" if first else ""
    return settings_command(
        partial(_sample, studies),
        {"options": _sample_options(studies)},
        f"Draw {spec.noun}, and write a sheet for people to fill in.\n\n"
        "Beside the sheet are written its key (each item's origin and the known facts about it; do "
        "not show it to those who answer) and guidelines for them.\n\n"
        f"Example: contrafact {family} study sample {example}{sheet} --n {spec.n} "
        "--out study/sheet.csv",
    )


def _sample_options(studies: "Mapping[str, StudySpec]") -> type[Options]:
    """Return the options of ``sample``; some exist only for some studies."""
    loads = {bool(one.load) for one in studies.values()}
    metavar = "FILE|RUN…" if len(loads) > 1 else "FILE" if True in loads else "RUN…"
    source = " Or: ".join(dict.fromkeys(one.source for one in studies.values()))
    each = {True: " of each {}", False: ""}
    numbers = dict.fromkeys(
        f"{one.n} {one.noun}{each[one.each].format(' and '.join(one.strata))}"
        for one in studies.values()
    )
    fields: dict[str, Any] = {
        "sources": (list[Path], argument(metavar, source)),
        "out": (Path, option(..., "The sheet: .csv or .xlsx.", metavar="FILE")),
    }
    if len(studies) > 1:
        kinds: Any = Literal[tuple(studies)]
        text = "; ".join(f"{kind}: {one.summary}" for kind, one in studies.items())
        fields["kind"] = (kinds, option(next(iter(studies)), text, flags=("--kind", "--sheet")))
    if any(one.criterion for spec in studies.values() for one in spec.questions):
        text = (
            "calibration: --n outputs of each system, drawn by what the judge said of them, so "
            "that its rates can be corrected by people's labels."
        )
        fields["purpose"] = (Literal["calibration"] | None, option(None, text, name="for"))
    number = f"How many to draw. [{', or '.join(numbers)}]"
    fields["n"] = (int | None, option(None, number, ge=1, metavar="N"))
    fields["seed"] = (int, option(0, "Seed of the drawing.", ge=0, metavar="S"))
    return create_model("Sample", __base__=Options, **fields)


def _sample(studies: "Mapping[str, StudySpec]", options: Any) -> None:
    require_tables(*options.sources)
    import numpy as np

    from contrafact.study.sample import draw_study, for_calibration, read_source

    kind = getattr(options, "kind", next(iter(studies)))
    chosen = studies[kind]
    if getattr(options, "purpose", None):
        kind, chosen = for_calibration(studies)
    wanted = chosen.n if options.n is None else options.n
    source, rng = read_source(chosen, options.sources), np.random.default_rng(options.seed)
    drawn = draw_study(chosen, source, wanted, rng, kind=kind)
    key, guidelines = drawn.write(options.out)
    systems = drawn.key["system"].nunique() if "system" in drawn.key else 0
    of = f" of {systems} system{'s' if systems > 1 else ''}" if systems else ""
    typer.echo(f"{options.out}: {drawn.n:,} {chosen.noun}{of}")
    for sentence in drawn.shortage:
        typer.echo(f"  {sentence}")
    typer.echo(f"{key}: the key; do not show it to those who answer")
    typer.echo(f"{guidelines}: guidelines for them")


class _Score(Options):
    files: list[Path] = argument("FILE…", "Filled sheets: CSV, as Excel saves them, or .xlsx.")
    columns: list[str] | None = option(
        None, "The sheets' present names of renamed columns.", metavar="WANTED=FOUND,…"
    )
    key: Path | None = option(
        None, "The key; if not given, the one next to the first sheet.", metavar="FILE"
    )
    out: Path | None = option(None, "Folder to write the tables to, as CSV.", metavar="DIR")
    with_published: bool = option(False, "Show the paper's figures as well.")
    seed: int = option(0, "Seed of the intervals' resampling.", ge=0, metavar="S")


def _score_command(family: str, studies: "Mapping[str, StudySpec]") -> Callable[..., None]:
    def score(**values: Any) -> None:
        _score(family, studies, _Score(**values))

    published = any(spec.published for spec in studies.values())
    return as_command(
        score,
        [one for one in parameters_of(_Score) if one.name != "with_published" or published],
        "Measure how far people agree with each other and with the judge or reference.\n\n"
        "Every figure has a 95% interval or is marked as undefined. There is one filled sheet for "
        "each person, or a shared one.\n\n"
        f"Example: contrafact {family} study score study/ann.csv study/ben.csv --out study/figures",
    )


def _score(family: str, studies: "Mapping[str, StudySpec]", options: _Score) -> None:
    require_tables(*options.files)
    if options.out is not None and options.out.suffix in TABLE_SUFFIXES:
        raise InputError("there are several tables", file=options.out, hint="name a folder")
    import numpy as np

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
    for table in tables:
        if table.name and not table.frame.empty:
            frame = table.frame.copy()
            for name in table.undefined:
                # NaN is not equal to itself.
                frame[name] = ["undefined" if x != x else x for x in frame[name].tolist()]
            write_frame(frame, out / f"{table.name}.csv")
    typer.echo(f"Tables are in {out}")
