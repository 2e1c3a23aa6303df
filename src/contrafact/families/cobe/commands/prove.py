"""``contrafact cobe prove`` and ``cobe leak``: checks of stories with known answers."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path

import typer

from contrafact.console import Progress, show_table
from contrafact.corpus.datasets import data_source
from contrafact.errors import InputError
from contrafact.families.cobe.data import load_known, opened_row
from contrafact.families.cobe.exam import leak_item
from contrafact.families.cobe.synth.prove import (
    STRUCTURE,
    TEXT,
    check_story,
    prove_rows,
    with_proofs,
)
from contrafact.files.atomic import guard_output
from contrafact.files.tables import read_rows, write_rows
from contrafact.options import Options, argument, command, option

_SHOWN = 20
_BASES = {
    TEXT: "hold in every causal model that agrees with their text",
    STRUCTURE: "follow from the structure in the file; that their text tells it was read by the "
    "readers named there",
}


class _ProveOptions(Options):
    file: Path = argument("FILE", "Stories with a proof: a file, or a set's name.")


@command
def prove(options: _ProveOptions) -> None:
    """Prove the known answers of every story in a file, by two independent algorithms.

    Only the file is used. Stories whose basis is the text: its wordings to read the texts, and its
    causal model to compute the consequences, which are compared with the claimed verdicts of every
    answer; they must also hold in every causal model that agrees with the text. Stories whose basis
    is a structure: the consequences follow from it, and the answers of the readers named in the
    file agree with it. Stories that fail are named by line; the exit code is 1 if there are any.

    Example: contrafact cobe prove stories.jsonl
    """
    from contrafact.families.cobe.write.answers import check_written  # imports Inspect

    file = data_source(options.file).path
    checks = {TEXT: check_story, STRUCTURE: check_written}
    failed, counts = 0, {basis: Counter[str]() for basis in checks}
    cases: dict[str, set[str]] = {basis: set() for basis in checks}
    rows = ((line, opened_row(row)) for line, row in read_rows(file))
    with Progress("stories", None) as steps:
        for line, result in prove_rows(with_proofs(rows, file), checks):
            if result.problems:
                failed += 1
                if failed <= _SHOWN:
                    typer.echo(f"{file}:{line}: {result.problems[0]}")
            else:
                counts[result.basis].update(stories=1, answers=result.answers)
            cases.setdefault(result.basis, set()).add(result.case)
            steps.step()
    for basis, count in counts.items():
        if count:
            typer.echo(
                f"{count['stories']:,} stories of {len(cases[basis]):,} distinct cases with "
                f"{count['answers']:,} answers proven by enumeration and by the twin network "
                f"(basis: {basis}): they {_BASES[basis]}"
            )
    typer.echo(f"{failed:,} not proven")
    if failed:
        raise typer.Exit(1)


class _LeakOptions(Options):
    file: Path = argument("FILE", "Stories with known answers: a file, or a set's name.")
    seed: int = option(0, "Seed of the folds.", ge=0, metavar="S")
    reader: list[str] | None = option(
        None,
        "Only these surface features: words, overlap, connectors, quotes or all; repeatable.",
        metavar="NAME",
    )
    out: Path | None = option(None, "Also write the table to this file.", metavar="FILE")


@command
def leak(options: _LeakOptions) -> None:
    """Measure how well surface features alone distinguish right answers from wrong ones.

    Classifiers that know nothing of cause and effect are trained on part of the file and scored on
    graphs or scenes that they have not seen. The exit code is 1 if one of them reaches an AUROC
    above 0.60 over all answers, or above 0.65 on one criterion.

    Example: contrafact cobe leak stories.jsonl
    """
    from contrafact.judges.surface import READERS, leak_rows

    file, reader, out = data_source(options.file).path, options.reader, options.out
    for name in reader or ():
        if name not in READERS:
            raise InputError(
                f"there is no surface reader '{name}'", hint=f"use {', '.join(READERS)}"
            )
    if out is not None:
        guard_output(out, file)
    items = [
        leak_item(known.story, answer.text, known.verdicts(answer))
        for known in load_known(file)
        for answer in (*known.right, *known.wrong)
    ]
    with Progress("readers", None) as steps:
        rows = list(leak_rows(items, seed=options.seed, readers=reader or READERS, step=steps.step))
    show_table(
        "AUROC of surface features alone (0.5 is chance)",
        ("target", "reader", "model", "folds by", "answers", "wrong", "AUROC", "limit", ""),
        [
            (
                *(row.target, row.reader, row.model, row.folds, f"{row.items:,}", f"{row.wrong:,}"),
                *(f"{row.auroc:.3f} [{row.low:.3f}, {row.high:.3f}]", f"{row.limit:.2f}"),
                "leaks" if row.leaks else "",
            )
            for row in rows
        ],
    )
    if out is not None:
        write_rows(out, [asdict(row) | {"leaks": row.leaks} for row in rows])
    leaks = [row for row in rows if row.leaks]
    if leaks:
        worst = max(leaks, key=lambda row: row.auroc - row.limit)
        typer.echo(
            f"{file} leaks: {len(leaks)} of {len(rows)} readers above the limit; the worst reads "
            f"{worst.reader} ({worst.model}, {worst.target}): {worst.auroc:.3f}"
        )
        raise typer.Exit(1)
    typer.echo(f"{file} does not leak: {len(rows)} readers, none above its limit")
