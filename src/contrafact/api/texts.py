"""Verbs that make and check texts: each is one family's, and does what its command does."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from contrafact.api.results import Result
from contrafact.api.tables import rows_file
from contrafact.api.verb import Verb
from contrafact.errors import InputError, ModelError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check", "generate", "rewrite", "synth"]

_Path = str | PathLike[str] | None


@Verb
def generate(
    data: Any,
    *,
    model: str,
    method: str = "zero-shot",
    judge: str | Sequence[str] = (),
    shots: int | None = None,
    shots_from: _Path = None,
    verifier: str | None = None,
    news: _Path = None,
    cards: bool = False,
    seed: int = 0,
    prompts: _Path = None,
    out: _Path = None,
    **options: Any,
) -> Result:
    """Write a risk and an opportunity scenario for every headline, as ``contrafact generate`` does.

    Args:
        data: Headlines: a list of texts, a data frame, a list of dicts, or a file.
        model: The model that writes, an Inspect name.
        method: Generation method, or ``NAME:OPTION=VALUE``.
        judge: Scores the scenarios; several form a panel.
        shots: Examples per few-shot prompt. [3]
        shots_from: Pool of examples; our own if none.
        verifier: Ranks drafts of methods that write several; never a judge.
        news: News that the method ``grounded`` searches for what came before a headline.
        cards: Ask for a card of each scenario: channel, horizon, severity, likelihood, …
        seed: Seed of the draw of examples.
        prompts: Another prompt pack.
        out: A file to write (CSV, JSONL, Parquet): killed and called again, it goes on.
        options: ``limit``, ``temperature``, ``top_p``, ``max_tokens``, ``structured``,
            ``max_connections``, ``max_retries``, ``timeout``, ``attempt_timeout``.

    Returns:
        ``items``: the columns given, then ``risk_counterfactual``, ``opportunity_counterfactual``,
        ``valid``, ``error`` and, with a judge, the verdicts. ``scores``: the share that is valid,
        and of valid ones the share that passed each criterion.

    Raises:
        InputError: Something is wrong with what was asked; no model was called.
        ModelError: Every call failed. Rows some of whose calls failed say so under ``error``.
    """
    import typer

    from contrafact.families.finforce.commands.generate import generate as command

    known = ("limit", "temperature", "top_p", "max_tokens", "structured", "max_connections")
    _known(options, (*known, "max_retries", "timeout", "attempt_timeout"))
    judges = [judge] if isinstance(judge, str) else list(judge)
    with rows_file(data, text="headline") as file, _output(out, "scenarios.jsonl") as made:
        failed = False
        try:
            command(
                str(file),
                model,
                str(made),
                method=method,
                judge=judges or None,
                shots=shots,
                shots_from=_path(shots_from),
                verifier=verifier,
                news=None if news is None else Path(news),
                cards=cards,
                seed=seed,
                prompts=_path(prompts),
                yes=True,
                **options,
            )
        except typer.Exit:
            failed = True
        items = _read(made)
    causes = items["error"].dropna().astype(str)
    causes = causes[causes.str.startswith("call failed: ")]
    if failed and len(causes) == len(items):
        raise ModelError(f"{len(items)} of {len(items)} rows failed:", causes)
    valid = items["valid"].fillna(False).astype(bool)
    shares = {"valid": (valid.mean(), len(items))}
    columns = list(items.columns)
    for name in columns[columns.index("error") + 1 :] if judges else ():
        given = items.loc[valid, name].dropna().astype(float)
        shares[str(name)] = (given.mean(), len(given))
    notes = [f"{len(causes)} rows failed; the column error says why"] if len(causes) else []
    return Result(
        f"{len(items)} headlines, {model} · {method}", items, _figures(shares), tuple(notes)
    )


@Verb
def check(data: Any, *, rule: str | Sequence[str] = (), polarity_model: _Path = None) -> Result:
    """Check pairs against the contract of their manipulation, as ``contrafact rfc check`` does.

    Args:
        data: Pairs with ``id``, ``manipulation``, ``original`` and ``rewritten``: a data frame, a
            list of dicts, or a file. Without an ``id``, rows that are handed in are numbered.
        rule: Rules of your own, by import path.
        polarity_model: A FinBERT folder that says where a sentiment rewrite reversed the tone.

    Returns:
        ``items``: ``id``, ``manipulation``, ``passed``, ``violations``, and what is for ``review``
        by a person. ``scores``: by manipulation, how many pass and fail. A bad row has the
        violation ``bad-row``.

    Raises:
        InputError: The pairs cannot be read, or a rule fails.
    """
    import pandas as pd

    from contrafact.api.tables import frame_of, is_path
    from contrafact.families.rfc.contracts import Options, load_rules
    from contrafact.families.rfc.contracts.check import check_object, check_rows, read_pairs
    from contrafact.families.rfc.contracts.polarity import load_polarity_model

    paths = [rule] if isinstance(rule, str) else rule
    options = Options(
        polarity=None if polarity_model is None else load_polarity_model(Path(polarity_model)),
        rules=tuple(found for path in paths for found in load_rules(path)),
    )
    if not is_path(data):
        data = frame_of(data)
        if "id" not in data.columns:
            data = data.assign(id=[str(number) for number in range(1, len(data) + 1)])
    with rows_file(data) as file:
        checked = list(check_rows(read_pairs(file), str(file), options=options))
    items = pd.DataFrame([check_object(row, found) for row, found in checked])
    passed = [row["passed"] for row in items.to_dict("records")]
    counts = items.assign(
        **{"pass": [one is True for one in passed], "fail": [one is False for one in passed]},
        to_review=items["review"].map(bool),
    )
    scores = counts.groupby("manipulation", sort=False)[["pass", "fail", "to_review"]].sum()
    bad = [row.problem for row, _ in checked if row.problem is not None]
    notes = tuple(f"row {p.line}: {p.problem}" for p in bad)
    title = f"{len(items)} pairs, {sum(one is True for one in passed)} keep their contract"
    return Result(title, items, scores.reset_index(), notes)


@Verb
def rewrite(
    data: Any,
    *,
    rewriter: Literal["rules", "model"] = "rules",
    seed: int = 0,
    attempts: int | None = None,
    model: str | None = None,
    out: _Path = None,
    **options: Any,
) -> Result:
    """Rewrite articles by their manipulation; keep what passes, as ``contrafact rfc rewrite`` does.

    Args:
        data: Labelled articles (title, text, ``manipulation``): a data frame, a list of dicts, or a
            file.
        rewriter: By rule, without a model, or by ``model``.
        seed: Seed of every choice.
        attempts: Proposals for a row at most. [8 by rule, 3 by model]
        model: The model that writes.
        out: A file to write (JSON Lines): killed and called again, it goes on. What is dropped and
            every decision stand next to it.
        options: ``workers``, processes by rule (1; with more, a script keeps its own work under
            ``if __name__ == "__main__"``); with a model ``feedback``, ``decoding``, ``prompts``,
            ``max_connections``, ``max_retries``, ``timeout``.

    Returns:
        ``items``: the pairs. ``scores``: by manipulation, how many are kept and dropped, and the
        most frequent reason.

    Raises:
        InputError: Something is wrong with what was asked, or with a row.
        ModelError: Calls failed, and nothing is written.
    """
    import pandas as pd

    from contrafact.families.rfc.commands.rewrite import rewrite as command
    from contrafact.files.journal import sidecar_path

    by_model = ("feedback", "decoding", "prompts", "max_connections", "max_retries", "timeout")
    _known(options, ("workers", *by_model))
    options.setdefault("workers", 1)
    for name in ("decoding", "prompts"):
        options[name] = _path(options.get(name))
    with rows_file(data) as file, _output(out, "pairs.jsonl") as made:
        command(
            str(file),
            str(made),
            rewriter=rewriter,
            seed=seed,
            attempts=attempts,
            model=model,
            **options,
        )
        items, lost = _read(made), sidecar_path(made, "dropped")
        dropped = _read(lost) if lost.exists() else pd.DataFrame()
    both = pd.concat(
        [
            items.reindex(columns=["manipulation"]).assign(reason=None),
            dropped.reindex(columns=["manipulation", "reason"]),
        ]
    )
    rows = [
        {
            "manipulation": name,
            "kept": int(own["reason"].isna().sum()),
            "dropped": int(own["reason"].notna().sum()),
            "frequent_reason": next(iter(own["reason"].value_counts().index), ""),
        }
        for name, own in both.groupby("manipulation", sort=False)
    ]
    title = f"{len(both)} rows, {len(items)} rewritten and {len(dropped)} dropped"
    return Result(title, items, pd.DataFrame(rows))


@Verb
def synth(
    n: int,
    *,
    seed: int = 0,
    graph: str | None = None,
    domain: str | None = None,
    templates: _Path = None,
    private_lexicon: _Path = None,
    out: _Path = None,
) -> Result:
    """Draw stories whose right and wrong answers are proven, as ``contrafact cobe synth`` does.

    Args:
        n: How many.
        seed: Seed of the drawing.
        graph: Only this type: chain, collider, correlated, diamond, fork or hybrid.
        domain: Only this domain.
        templates: Hand-written plots instead: a folder, or "bundled".
        private_lexicon: A folder with scenes and wordings of your own.
        out: A JSON file to write besides.

    Returns:
        ``items``: the stories in the paper's schema, one a row, with right and wrong answers.
        ``scores``: by type of graph, how many stories and answers.

    Raises:
        InputError: There is no such graph or domain, or the templates cannot be used.
    """
    import json

    import pandas as pd

    from contrafact.families.cobe.synth.draw import story_lines
    from contrafact.files.atomic import guard_output, write_text

    if n < 1:
        raise InputError(f"n is {n}", hint="draw at least one story")
    if out is not None:
        guard_output(Path(out), _path(private_lexicon))
    lines = list(
        story_lines(
            n,
            seed,
            graph=graph,
            domain=domain,
            templates=None if templates is None else str(templates),
            private_lexicon=_path(private_lexicon),
        )
    )
    if out is not None:
        write_text(Path(out), "[\n" + ",\n".join(lines) + "\n]\n")
    rows = [json.loads(line) for line in lines]
    items = pd.DataFrame(rows)
    counts = pd.DataFrame(
        [
            {
                "graph": row["Graph type"],
                "stories": 1,
                "right": len(row["Right answers"]),
                "wrong": len(row["Wrong answers"]),
            }
            for row in rows
        ]
    )
    scores = counts.groupby("graph").sum().reset_index()
    sources = len({row["Proof"]["template"] for row in rows})
    return Result(f"{n} stories of {sources} templates, seed {seed}", items, scores)


def _path(given: _Path) -> Path | None:
    return None if given is None else Path(given)


def _known(options: Any, known: Sequence[str]) -> None:
    from contrafact.files.config import nearest

    for name in options:
        if name not in known:
            raise InputError(f"there is no option '{name}'", hint=nearest(name, known))


@contextmanager
def _output(out: _Path, name: str) -> Iterator[Path]:
    """Yield the file to write: the one named, or one that is gone afterwards."""
    if out is not None:
        yield Path(out)
        return
    with TemporaryDirectory(prefix="contrafact-") as folder:
        yield Path(folder) / name


def _read(path: Path) -> "pd.DataFrame":
    import pandas as pd

    from contrafact.files.tables import read_rows

    if path.suffix == ".csv":
        return pd.read_csv(path)
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if not path.stat().st_size:  # JSON Lines without a row
        return pd.DataFrame()
    return pd.DataFrame([row for _, row in read_rows(path)])


def _figures(shares: dict[str, tuple[float, int]]) -> "pd.DataFrame":
    import pandas as pd

    rows = [{"measure": name, "share": share, "n": n} for name, (share, n) in shares.items()]
    return pd.DataFrame(rows)
