"""Functions that make and check texts; each does the same as a family's command."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

import pandas as pd

from contrafact.api.operation import EstimatedOperation, Operation
from contrafact.api.results import SHOWN, Estimate, Result, make_estimate, refuse_many
from contrafact.api.tables import (
    Count,
    PathLikeOrNone,
    Seed,
    TableData,
    as_given,
    as_path,
    columns_of,
    command_options,
    frame_of,
    is_path,
    names_of,
    read_frame,
    rows_of,
)
from contrafact.errors import InputError, ModelError
from contrafact.families.finforce.commands.generate import GenerateOptions
from contrafact.families.rfc.commands.check import CheckOptions
from contrafact.families.rfc.commands.rewrite import RewriteOptions
from contrafact.families.rfc.contracts.pair_check import NO_VERDICT
from contrafact.families.rfc.pipeline.check import undecided_reasons
from contrafact.families.rfc.pipeline.rewrite import assignment_of
from contrafact.families.rfc.records import Rewrite
from contrafact.files.atomic import guard_output, write_text
from contrafact.files.fields import checked_columns, fold, present
from contrafact.files.journal import sidecar_path
from contrafact.files.tables import json_line, open_table, read_rows, render_jsonl
from contrafact.options import checked_value
from contrafact.stages.run import Source, estimate_stage, run_stage
from contrafact.stages.stage import KEPT, REJECTS, Stage, StageResult

if TYPE_CHECKING:
    from contrafact.families.cobe.stories import Stories

_PAIR = ("manipulation", "original", "rewritten")

_StageOptions = GenerateOptions | CheckOptions | RewriteOptions


def _worked(
    what: str, chosen: _StageOptions, stage: Stage, rows: Source, out: Path | None
) -> StageResult | Estimate | None:
    """Run a stage over rows, or return the estimate titled ``what`` if the options ask for it.

    None if the output was already finished; the results are in its file.
    """
    if chosen.estimate:
        return make_estimate(what, estimate_stage(stage, rows, out))
    return run_stage(stage, rows, out, yes=chosen.yes, confirm=refuse_many, keep=True)


def _as_read(lines: str) -> pd.DataFrame:
    """Return rows of JSON Lines, without keys that have no value."""
    return pd.DataFrame([present(json.loads(line), top=True) for line in lines.split("\n")[:-1]])


@EstimatedOperation
def generate(
    data: TableData,
    *,
    model: str,
    method: str = "zero-shot",
    judge: str | Sequence[str] = (),
    out: PathLikeOrNone = None,
    estimate: bool = False,
    **options: Any,
) -> Result[Any] | Estimate:
    """Write a risk and an opportunity scenario for every headline, as ``contrafact generate`` does.

    Args:
        data: Headlines: a list of texts, a data frame, a list of dicts, or a file.
        model: The model that writes, an Inspect name.
        method: Generation method, or ``NAME:OPTION=VALUE``.
        judge: Scores the scenarios; several form a panel.
        out: A file to write (CSV, JSONL, Parquet); repeating an interrupted call resumes it.
        estimate: Return calls, tokens and dollars without calling a model.
        options: Further options of the command, with underscores in their names: ``yes``, which
            allows more than 1,000 paid calls, ``shots``, ``temperature``, …

    Returns:
        ``items``: the columns given, then ``risk_counterfactual``, ``opportunity_counterfactual``,
        ``valid``, ``error`` and, with a judge, the verdicts. ``scores``: the share of valid
        results, and the share of these that passed each criterion.

    Raises:
        InputError: An argument is wrong; no model was called.
        ModelError: Every call failed. If only some failed, the column ``error`` says so.
    """
    from contrafact.corpus.datasets import data_source
    from contrafact.families.finforce.scenarios import result_frame

    judges, known = names_of(judge), command_options(GenerateOptions, options)
    known |= {"method": method, "judge": judges or None, "estimate": estimate}
    chosen, path = GenerateOptions(file="", model=model, out="", **known), as_path(out)
    rows: Source = rows_of(data, text="headline")
    stage = chosen.stage()
    stage.checked()
    if isinstance(rows, str):
        rows = str(data_source(rows).path)
    result = _worked(f"{model} · {method}", chosen, stage, rows, path)
    causes: list[str] = []
    if isinstance(result, Estimate):
        return result
    if result is None:
        assert path is not None
        items, added = _scenarios_in(path, rows)
    else:
        figures = result.made.figures
        items = _as_read(render_jsonl(result_frame(figures, ".jsonl")))
        added = _added(items, len({key for row in figures for key in row.fields}))
        causes = [row.value.added["error"] for row in figures if row.value.outcome == "failed"]
    if causes and len(causes) == len(items):
        raise ModelError(f"{len(items)} of {len(items)} rows failed:", causes)
    valid = items[added["valid"]].fillna(False).astype(bool)
    shares = [("valid", valid.mean(), len(items))]
    for name in list(added)[list(added).index("error") + 1 :] if judges else ():
        passed = items.loc[valid, added[name]].dropna().astype(float)
        shares.append((name, passed.mean(), len(passed)))
    scores = pd.DataFrame(shares, columns=["measure", "share", "n"])
    notes = [f"{len(causes)} rows failed; the column error says why"] if causes else []
    title = f"{len(items)} headlines, {model} · {method}"
    edits = _scenarios(items.head(SHOWN), added)
    return Result(title, as_given(data, items, rows=True), scores, tuple(notes), edits=edits)


def _added(items: pd.DataFrame, given: int) -> dict[str, str]:
    """Return the added columns, by their names without the prefix that avoids name clashes."""
    return {re.sub("^(contrafact_)+", "", name): name for name in items.columns[given:]}


def _scenarios_in(out: Path, rows: Source) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the rows of a finished file, with the given cells unchanged, and `_added`."""
    items = read_frame(out)
    if isinstance(rows, str | Path):
        rows = (row for _, row in open_table(rows, decimals=False).rows)
    rows_read = _as_read("".join(map(json_line, islice(rows, len(items)))))
    added = items.iloc[:, len(rows_read.columns) :]
    names = _added(items, len(rows_read.columns))  # the added columns
    if out.suffix.lower() in (".csv", ".tsv"):
        judged = list(names)[list(names).index("error") + 1 :]
        added = added.astype(object).where(added != "", None)
        words = {"True": True, "False": False}
        for name in ("valid", *judged):
            added[names[name]] = added[names[name]].map(words.get).astype(object)
    return _as_read(render_jsonl(pd.concat([rows_read, added], axis=1))), names


def _scenarios(items: pd.DataFrame, added: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return the side, the headline and the text of each written scenario."""
    headline = next((name for name in items.columns if fold(name) == "headline"), None)
    return [
        (side, str(row[headline]), text)
        for row in (items.to_dict("records") if headline is not None else ())
        for side in ("risk", "opportunity")
        if isinstance(text := row[added[f"{side}_counterfactual"]], str)
    ]


@EstimatedOperation
def check(
    data: TableData,
    *,
    judge: str | Sequence[str] = (),
    out: PathLikeOrNone = None,
    estimate: bool = False,
    **options: Any,
) -> Result[Any] | Estimate:
    """Check pairs' facts by rule and their meaning by a judge, as ``contrafact rfc check`` does.

    Args:
        data: Pairs with ``id``, ``manipulation``, ``original`` and ``rewritten``: a data frame, a
            list of dicts, or a file. Without an ``id``, rows given in memory are numbered.
        judge: A model that judges what pairs mean, an Inspect name; several form a panel.
            Without a judge, pairs that facts leave open are undecided.
        out: A file to write (JSON Lines); replies are kept beside it, so that nothing is asked
            twice.
        estimate: With a judge, return calls, tokens and dollars without calling it.
        options: Further options of the command, with underscores in their names: ``exam`` and
            ``labels``, which give estimates of how many pairs are really sound,
            ``bands``, ``polarity_model``, ``each``, ``numerical`` ("review" or "decide"), ``yes``,
            which allows more than 1,000 paid calls, …, and ``columns``, which maps column names.

    Returns:
        ``items``: ``id``, ``manipulation``, ``passed`` (None if undecided), ``violations``, and
        findings for ``review`` by a person. ``scores``: by manipulation, how many pass, fail and
        are undecided, and how many lack a verdict that a judge was asked for; with an exam or
        labels, also how many are really ``sound``, from ``low`` to ``high``, and the number of
        ``all``. A bad row has the violation ``bad-row``.

    Raises:
        InputError: The pairs cannot be read, or a judge is unusable.
        ModelError: Every call failed. If only some failed, their pairs are undecided.
    """
    columns = checked_columns(columns_of(options), ("id", *_PAIR))
    known = command_options(CheckOptions, options)
    known |= {"judge": names_of(judge), "estimate": estimate}
    rows = rows_of(_with_ids(data, columns), columns=columns)
    chosen, path = CheckOptions(file="", **known), as_path(out)
    stage = chosen.stage()
    result = _worked("check", chosen, stage, rows, path)
    if isinstance(result, Estimate):
        return result
    assert result is not None  # only judges' answers are kept, so no file counts as finished
    items = _as_read("".join(map(json_line, result.made.table(KEPT)))).astype({"passed": object})
    notes, failed, asked = [], len(result.causes), result.counts["asked"]
    if failed:
        notes = [f"{failed} of {asked} pairs were not judged because calls failed"]
        if failed == asked:
            raise ModelError(f"{notes[0]}:", result.causes)
    scores = _check_scores(items)
    if stage.settings is None:
        notes = [*undecided_reasons(result.counts), *notes]
    if sound := stage.sound(result):
        figures = [(share.kind, share.estimate, share.low, share.high) for share in sound]
        frame = pd.DataFrame(figures, columns=["manipulation", "sound", "low", "high"])
        scores = scores.merge(frame, on="manipulation", how="outer", sort=False)
        notes += [f"{share.kind}: {share.why}" for share in sound if share.why]
    violations = chain.from_iterable(items["violations"])
    notes += [broken["message"] for broken in violations if broken["rule"] == "bad-row"]
    pairs = (row for _, row in read_rows(rows)) if isinstance(rows, str) else rows
    words = {True: "passes", False: "fails", None: "undecided"}
    edits = [
        (f"{row['manipulation']}, {words[passed]}", row["original"], row["rewritten"])
        for row, passed in islice(zip(pairs, items["passed"], strict=False), SHOWN)
        if all(isinstance(row.get(name), str) for name in _PAIR)
    ]
    title = f"{len(items)} pairs, {scores['pass'].sum()} keep their contract"
    return Result(title, as_given(data, items, rows=True), scores, notes, edits=edits)


def _with_ids(data: Any, columns: Mapping[str, str]) -> Any:
    """Return rows with numbers as ids if they have none; return a path unchanged."""
    if is_path(data):
        return data
    frame = frame_of(data)
    for name in _PAIR:
        if columns.get(name, name) not in frame.columns:
            problem = (
                f"no column '{columns.get(name, name)}' (found: {', '.join(frame.columns[:8])})"
            )
            raise InputError(problem, file="data", hint=f"name it: columns={{'{name}': …}}")
    if "id" in frame.columns or "id" in columns:
        return frame
    return frame.assign(id=[str(number) for number in range(1, len(frame) + 1)])


def _check_scores(items: pd.DataFrame) -> pd.DataFrame:
    passed = items["passed"]
    verdicts = {"pass": passed.eq(True), "fail": passed.eq(False), "undecided": passed.isna()}
    counts = items[["manipulation"]].assign(
        **verdicts,
        no_verdict=[any(f["rule"] == NO_VERDICT for f in review) for review in items["review"]],
        to_review=items["review"].map(bool),
    )
    return counts.groupby("manipulation", sort=False).sum().reset_index()


@EstimatedOperation
def rewrite(
    data: TableData,
    *,
    model: str | None = None,
    judge: str | Sequence[str] = (),
    out: PathLikeOrNone = None,
    estimate: bool = False,
    **options: Any,
) -> Result[Any] | Estimate:
    """Rewrite articles by their manipulation and keep valid pairs, as ``contrafact rfc rewrite``.

    Args:
        data: Labelled articles (``title``, ``summary``, ``manipulation``): a data frame, a list of
            dicts, or a file; or a list of texts, whose figures are rewritten (``numerical``).
        model: The model that writes; without a model, rules write numerical pairs only.
        judge: Decides what a rewrite means; several form a panel. Without a judge, pairs that
            facts leave open are kept as undecided.
        out: A file to write (JSON Lines); repeating an interrupted call resumes it. Dropped rows
            and all decisions are written beside it.
        estimate: With a model, return calls, tokens and dollars without calling it.
        options: Further options of the command, with underscores in their names: ``yes``, which
            allows more than 1,000 paid calls, ``seed``, ``attempts``, …, and ``columns``, the
            data's column for each name that differs.

    Returns:
        ``items``: the pairs; ``passed`` is None for an undecided pair, and ``undecided`` says why.
        ``dropped``: the other rows, each with its ``reason``. ``scores``: by manipulation, how many
        are kept, undecided and dropped, and the most frequent reason.

    Raises:
        InputError: An argument or a row is wrong.
        ModelError: Calls failed, so nothing is written.
    """
    columns = columns_of(options)
    known = command_options(RewriteOptions, options)
    known |= {"model": model, "judge": names_of(judge), "estimate": estimate}
    rows = rows_of(data, columns=columns)
    if not isinstance(rows, str) and all(row.keys() == {"text"} for row in rows):
        rows = [{"title": row["text"], "manipulation": "numerical"} for row in rows]
    chosen, path = RewriteOptions(file="", out="", **known), as_path(out)
    stage = chosen.stage()
    result = _worked("rewrite", chosen, stage, rows, path)
    if isinstance(result, Estimate):
        return result
    if result is not None:
        items, dropped = (
            _as_read("".join(map(json_line, result.made.table(name)))) for name in (KEPT, REJECTS)
        )
    else:
        assert path is not None
        items, lost = read_frame(path), sidecar_path(path, "dropped")
        dropped = read_frame(lost) if lost.exists() else pd.DataFrame()
    if dropped.empty:
        dropped = pd.DataFrame(columns=["title", "summary", "manipulation", "reason"])
    if items.empty:
        items = pd.DataFrame(columns=[*Rewrite.model_fields, "passed"])
    both = pd.concat([items[["manipulation"]], dropped[["manipulation"]]], ignore_index=True)
    both["undecided"] = [*items.get("undecided", [None] * len(items)), *[None] * len(dropped)]
    both["reason"] = [*[None] * len(items), *dropped["reason"]]
    scores = both.groupby("manipulation", sort=False, as_index=False).agg(
        kept=("reason", lambda why: why.isna().sum()),
        undecided=("undecided", "count"),
        dropped=("reason", "count"),
        frequent_reason=("reason", lambda why: next(iter(why.value_counts().index), "")),
    )
    notes = [
        f"{count} {what}: {why}"
        for what, column in (("undecided", "undecided"), ("dropped", "reason"))
        for why, count in both[column].value_counts().items()
    ]
    title = f"{len(both)} rows, {len(items)} rewritten and {len(dropped)} dropped"
    edits = [*items[[*_PAIR]].head(SHOWN).itertuples(index=False, name=None)]
    kept, lost = as_given(data, items), as_given(data, dropped)
    if isinstance(data, pd.DataFrame | pd.Series):
        assert not isinstance(rows, str)
        place = {_article(row): number for number, row in enumerate(rows)}
        pairs = zip(items["article_id"], items["manipulation"], strict=True)
        kept.index = data.index[[place[pair] for pair in pairs]]
        lost.index = data.index[[place[_article(row)] for row in dropped.to_dict("records")]]
    return Result(title, kept, scores, notes, dropped=lost, edits=edits)


def _article(row: Mapping[Any, Any]) -> tuple[str, str]:
    """Return the article and the manipulation of a row, which no other row may have."""
    assignment = assignment_of(dict(row), 0)
    return assignment.item.id, assignment.manipulation


@Operation
def synth(
    n: Count,
    *,
    seed: Seed = 0,
    graph: str | None = None,
    domain: str | None = None,
    difficulty: int | None = None,
    private_lexicon: PathLikeOrNone = None,
    out: PathLikeOrNone = None,
) -> Result[pd.DataFrame]:
    """Draw stories whose right and wrong answers are proven, as ``contrafact cobe synth`` does.

    Args:
        n: How many stories.
        seed: Seed of the draw.
        graph: Only this type: chain, collider, correlated, diamond, fork or hybrid.
        domain: Only this domain.
        difficulty: Only stories of this level, 0 (easy) to 5.
        private_lexicon: A folder with rules of your own.
        out: A file to write as well: JSON, or JSON Lines.

    Returns:
        ``items``: the stories in the paper's schema, one per row, with right and wrong answers.
        ``scores``: by type of graph, how many stories and answers.

    Raises:
        InputError: There is no such graph, domain or difficulty, or the rules cannot be used.
    """
    from contrafact.families.cobe.synth.compose import compose, line_of
    from contrafact.families.cobe.synth.difficulty import level_named

    path, rules = as_path(out), as_path(private_lexicon)
    if path is not None:
        guard_output(path, rules, kind="JSON")
    wanted = None if difficulty is None else level_named(difficulty)
    drawn = compose(n, seed, graph=graph, domain=domain, difficulty=wanted, private_lexicon=rules)
    lines = [line_of(row) for row in drawn]
    if path is not None and path.suffix.lower() in (".jsonl", ".ndjson"):
        write_text(path, "\n".join([*lines, ""]))
    elif path is not None:
        write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")
    items = _as_read("\n".join([*lines, ""]))
    counts = pd.DataFrame(
        {
            "graph": items["Graph type"],
            "stories": 1,
            "right": items["Right answers"].map(len),
            "wrong": items["Wrong answers"].map(len),
        }
    )
    scores = counts.groupby("graph").sum().reset_index()
    sources = items["Proof"].map(lambda proof: proof["template"]).nunique()
    return Result(f"{n} stories of {sources} templates, seed {seed}", items, scores)


@Operation
def stories(
    seed: Seed = 0,
    *,
    difficulty: int | Mapping[str, Any] | None = None,
    form: Literal["conjunction", "share"] = "conjunction",
    framing: str = "stated:1",
    private_lexicon: PathLikeOrNone = None,
) -> "Stories":
    """Return an endless supply of stories to edit, each with a proven reward, for trainers.

    No model is asked.

    Args:
        seed: The same seed and difficulty give the same tasks.
        difficulty: A level, 0 to 5, or ranges by name: ``graphs``, ``facts``, ``words``,
            ``connectors``, ``phrasings``, ``suppositions``, ``cause_told``, ``traps``,
            ``least_traps``, ``apart``. All stories by default.
        form: ``conjunction``: 1 if every criterion passes; ``share``: the share that passes.
        framing: How the request is put: ``plain``, as in the paper, or ``stated:1`` to
            ``stated:3``, which say that the change comes from outside.
        private_lexicon: A folder with rules of your own.

    Returns:
        The tasks. Iterating gives ``(prompt, story, reward)``, where ``reward(answer)`` is 0 to 1;
        ``[i]`` gives ``question``, ``answer`` and ``metadata``, which
        ``score_answer(answer, entry)`` scores. ``ahead(processes)`` draws tasks in advance, in
        other processes.

    Raises:
        InputError: There is no such difficulty or framing, or the rules cannot be used.
    """
    from contrafact.families.cobe.stories import LEVELS, Difficulty, Stories
    from contrafact.families.cobe.synth.difficulty import level_named

    match difficulty:
        case None:
            wanted = Difficulty()
        case int():
            wanted = level_named(difficulty)
        case Mapping() if set(difficulty) <= set(Difficulty.__slots__):
            kinds = get_type_hints(Difficulty)
            ranges = {
                name: checked_value(name, kinds[name], value) for name, value in difficulty.items()
            }
            wanted = Difficulty(**ranges)
        case _:
            raise InputError(
                f"difficulty is {difficulty!r}",
                hint=f"give a level, 0 to {len(LEVELS) - 1}, or ranges of "
                f"{', '.join(Difficulty.__slots__)}",
            )
    lexicon = as_path(private_lexicon)
    return Stories(seed, wanted, form=form, framing=framing, private_lexicon=lexicon)
