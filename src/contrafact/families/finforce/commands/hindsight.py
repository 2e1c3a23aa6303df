"""``contrafact finforce hindsight``: which scenarios did later news bear out?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contrafact.options import (
    AttemptTimeout,
    MaxConnections,
    MaxRetries,
    Prompts,
    Structured,
    Timeout,
)

if TYPE_CHECKING:
    from contrafact.families.finforce.hindsight import Match
    from contrafact.files.journal import Journal
    from contrafact.prompts import PromptTemplate
    from contrafact.records import Verdict

__all__ = ["hindsight"]


def hindsight(
    scenarios: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIOS", help="What `generate` wrote, with the dates of its headlines."
        ),
    ],
    news: Annotated[
        Path, typer.Option("--news", metavar="FILE", help="Later news: JSONL, CSV, Parquet.")
    ],
    judge: Annotated[
        list[str], typer.Option("--judge", metavar="J", help="Says what bears out what; a panel.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the page, JSON and CSV.")
    ] = Path("hindsight"),
    window: Annotated[
        int, typer.Option(min=1, max=3650, metavar="DAYS", help="How long after a headline.")
    ] = 30,
    candidates: Annotated[
        int, typer.Option(min=1, max=20, metavar="N", help="Best matches of a scenario to judge.")
    ] = 3,
    control: Annotated[
        bool,
        typer.Option("--control", help="Ask about as much news from before the headlines, too."),
    ] = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="WANTED=FOUND,…", help="What SCENARIOS calls the columns, e.g. date."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the resampling.")] = 0,
    prompts: Prompts = None,
    structured: Structured = True,
    max_connections: MaxConnections = 16,
    max_retries: MaxRetries = None,
    timeout: Timeout = None,
    attempt_timeout: AttemptTimeout = None,
) -> None:
    """Say which scenarios later news bore out, by side and stated likelihood.

    Matches are found by BM25 among news dated after a headline, and judged one by one. Killed and
    run again, it goes on.

    Example: contrafact finforce hindsight scenarios.csv --news news.jsonl --judge openai/gpt-4o
    --control --out looking-back
    """
    import json

    import pandas as pd

    from contrafact.corpus.news_items import NewsNotes
    from contrafact.corpus.related import Related, load_dated
    from contrafact.errors import InputError
    from contrafact.families.finforce.hindsight import (
        ScenarioNotes,
        borne_out_template,
        load_scenarios,
        looked_at,
        matches_of,
        rates_of,
    )
    from contrafact.families.finforce.hindsight_page import csv_rows, hindsight_page, results
    from contrafact.files.atomic import write_text
    from contrafact.files.fields import checked_columns, named_columns
    from contrafact.files.journal import Journal, hash_of
    from contrafact.files.tables import write_frame
    from contrafact.models.gguf import inspect_name
    from contrafact.prompts import open_pack

    if out.is_file():
        raise InputError("is a file", file=out, hint="name a folder with --out")
    fields = ("headline", "date", "risk", "opportunity")
    names = checked_columns(named_columns(columns), fields)
    pack = open_pack(prompts)
    template = borne_out_template(pack)
    notes, scenario_notes = NewsNotes(), ScenarioNotes()
    written = load_scenarios(scenarios, scenario_notes, columns=names)
    index = Related(load_dated(news, notes))
    last_day = index.last_day
    if last_day is None:
        raise InputError(
            "no item has a date that can be read", file=news, hint="give a column date"
        )
    for file, lines in ((scenarios, scenario_notes.lines()), (str(news), notes.lines())):
        for sentence in lines:
            typer.echo(f"{file}: {sentence}", err=True)
    found = matches_of(written, index, window=window, count=candidates, control=control)
    judges = [inspect_name(name) for name in judge]
    facts: dict[str, Any] = {
        "scenarios": hash_of([[one.id, one.moment.day, one.stated] for one in written]),
        "news": hash_of([one.key for one in found]),
        "judges": judges,
        "window": window,
        "candidates": candidates,
        "control": control,
        "prompts": pack.used_hash,
        "structured": structured,
        "last_day": last_day,
        "seed": seed,
    }
    target = out / "hindsight.json"
    journal = Journal.of_output(target, facts, what="`finforce hindsight`")
    if journal.finished():
        typer.echo(f"{target} is finished: no model was called")
        return
    out.mkdir(parents=True, exist_ok=True)
    bounds = {
        "max_retries": max_retries,
        "timeout": timeout,
        "attempt_timeout": attempt_timeout,
    }
    with journal:
        failures = _judge(found, judges, template, journal, max_connections, bounds, structured)
        if failures:
            for why, number in failures.most_common(5):
                typer.echo(f"  {number} x {why}", err=True)
            typer.echo(
                f"{failures.total():,} calls failed; the same command tries them again, and "
                "nothing is written before",
                err=True,
            )
            raise typer.Exit(1)
        looked = looked_at(
            written, found, _verdicts(found, judges, journal), window=window, last_day=last_day
        )
        rates = rates_of(looked, control=control, seed=seed)
        write_frame(pd.DataFrame(csv_rows(looked)), out / "hindsight.csv")
        write_text(out / "hindsight.html", hindsight_page(looked, rates, facts))
        whole = results(looked, rates, facts)
        write_text(target, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        journal.finish()
    _show(rates, whole["outcomes"], out)


def _key(match: "Match", judge: str) -> str:
    return f"{match.key} {judge}"


def _verdicts(
    found: "list[Match]", judges: list[str], journal: "Journal"
) -> "dict[str, list[Verdict]]":
    from contrafact.records import Verdict

    return {
        match.key: [Verdict.model_validate(journal.known[_key(match, one)]) for one in judges]
        for match in found
    }


def _judge(
    found: "list[Match]",
    judges: list[str],
    template: "PromptTemplate",
    journal: "Journal",
    at_once: int,
    bounds: dict[str, int | None],
    structured: bool,
) -> Any:
    """Keep every judge's verdict on every match, and return why calls failed, counted."""
    import asyncio
    from collections import Counter

    from contrafact.console import Progress
    from contrafact.families.finforce.hindsight import CRITERION, match_prompt
    from contrafact.judges.judge import judge_once
    from contrafact.judges.rubric import JUDGE_CONFIG
    from contrafact.models.asking import failure_cause
    from contrafact.models.opening import call_config, open_model

    config = call_config(at_once, **bounds)
    models = {name: open_model(name, config=config) for name in judges}
    asked = {_key(match, name): (match, name) for match in found for name in judges}

    async def work(key: str) -> Any:
        match, name = asked[key]
        verdict = await judge_once(
            models[name],
            match_prompt(template, match),
            CRITERION,
            structured=structured,
            config=JUDGE_CONFIG,
        )
        return verdict.model_dump(mode="json")

    with Progress("verdicts", len(asked)) as steps:
        failures = asyncio.run(
            journal.fill(asked, work, at_once=at_once, each=lambda _: steps.step())
        )
    return Counter(failure_cause(error) for error in failures.values())


def _show(rates: Any, outcomes: dict[str, int], out: Path) -> None:
    import math

    from contrafact.console import show_table

    def percent(one: Any) -> str:
        if one is None or math.isnan(one.estimate):
            return "–"
        text = f"{100 * one.estimate:.1f}%"
        return text if math.isnan(one.low) else f"{text} ({100 * one.low:.0f}–{100 * one.high:.0f})"

    show_table(
        "Borne out by later news, with 95% intervals",
        ("scenarios", "borne out", "rate", "control"),
        [
            (one.name, f"{one.borne_out} of {one.decided}", percent(one.hits), percent(one.control))
            for one in rates
        ],
    )
    counts = ", ".join(f"{number:,} {name}" for name, number in outcomes.items() if number)
    typer.echo(f"{counts}; written to {out / 'hindsight.html'}")
