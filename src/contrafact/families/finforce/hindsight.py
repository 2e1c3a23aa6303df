"""Looking back: which scenarios did later news bear out?

Not in the paper, which asks whether scenarios are plausible and leaves open whether they come
about (FIN-FORCE, section 3.5); most do not, and need not. For each scenario the news of a window
after its headline is searched by BM25, and a judge says of each of the best matches whether it
reports what the scenario says. One that does bears it out.

A rate of hits says little by itself: news that is alike may be taken for a hit. As a control the
judge can be asked the same about news from *before* the headline, which can bear nothing out: how
often it says yes there is what to hold the rate against.

Scenarios whose window goes beyond the last day of the news are *open*: whatever has been found of
them so far, they are in no rate. Intervals resample whole headlines.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from contrafact.corpus.related import Moment, Related, moment_of, moved
from contrafact.errors import InputError
from contrafact.families.finforce.cards import LIKELIHOOD_RANGES, LIKELIHOODS
from contrafact.files.fields import fold_row, is_absent, value_of
from contrafact.files.sheets import unguarded
from contrafact.files.tables import read_rows, source_name
from contrafact.judges.judge import panel_verdict
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.records import SIDES, NewsItem, Side, Verdict, content_id
from contrafact.stats.intervals import Interval, cluster_bootstrap
from contrafact.text.delimit import delimit, replace_surrogates

__all__ = [
    "CRITERION",
    "OUTCOMES",
    "Looked",
    "Match",
    "Rate",
    "Scenario",
    "ScenarioNotes",
    "borne_out_template",
    "load_scenarios",
    "looked_at",
    "match_prompt",
    "matches_of",
    "rates_of",
    "stated_likelihood",
]

CRITERION = "borne_out"
"""What the judge is asked of a scenario and an item of news."""

OUTCOMES = ("borne out", "not borne out", "undecided", "open")
"""``undecided``: no match bears it out, and of some the judge's reply could not be read. ``open``:
its window goes beyond the news."""

_BINS = 5
_REPORT_CHARACTERS = 800


@dataclass(frozen=True)
class Scenario:
    """A scenario that was written about a headline.

    Attributes:
        id: Content hash of headline, side and text.
        line: Its line in the file.
        headline: The headline.
        side: Its side.
        text: The scenario.
        moment: When the headline was published.
        stated: The likelihood that its model stated, as groups are named; None without one.
        low: The lowest probability that this stands for.
        high: The highest.
    """

    id: str
    line: int
    headline: str
    side: Side
    text: str
    moment: Moment
    stated: str | None = None
    low: float = math.nan
    high: float = math.nan


@dataclass
class ScenarioNotes:
    """What was passed over in a file of scenarios, by line."""

    undated: list[int] = field(default_factory=list)
    """Rows whose headline has no date that can be read."""
    empty: list[int] = field(default_factory=list)
    """Rows without a scenario, and those with one that is degenerate."""
    unread: list[int] = field(default_factory=list)
    """Rows with a likelihood that is neither a word of the cards nor a probability."""

    def lines(self) -> list[str]:
        """Return one sentence for each thing that the user should know."""
        kinds = (
            (self.undated, "left out: the headline has no date that can be read"),
            (self.empty, "with a scenario that is missing or degenerate, which is left out"),
            (self.unread, "with a likelihood that cannot be read, taken as not stated"),
        )
        return [
            f"{len(found)} {'row' if len(found) == 1 else 'rows'} {what}"
            for found, what in kinds
            if found
        ]


@dataclass(frozen=True)
class Match:
    """An item of news that may bear a scenario out.

    Attributes:
        scenario: The scenario.
        news: The item.
        control: Whether it is from before the headline, and can bear nothing out.
    """

    scenario: Scenario
    news: NewsItem
    control: bool = False

    @property
    def key(self) -> str:
        """What names it in a journal."""
        return f"{self.scenario.id} {self.news.id} {'control' if self.control else 'later'}"


@dataclass(frozen=True)
class Looked:
    """A scenario, and what became of it.

    Attributes:
        scenario: The scenario.
        outcome: One of `OUTCOMES`.
        matches: The matches with the panel's verdicts on them, the best match first.
        control: The same of news from before the headline; empty where none was asked about.
    """

    scenario: Scenario
    outcome: str
    matches: Sequence[tuple[Match, Verdict]]
    control: Sequence[tuple[Match, Verdict]] = ()

    @property
    def borne_out_by(self) -> NewsItem | None:
        """The first item that bears it out, if any does."""
        return next((match.news for match, verdict in self.matches if verdict.passed), None)


@dataclass(frozen=True)
class Rate:
    """How many scenarios of a group were borne out.

    Attributes:
        group: What they have in common, as in ``side`` and ``likelihood``.
        name: The group's name: ``risk``, ``unlikely``.
        hits: The share that was borne out, of those that were decided.
        strict: The same, undecided ones counted as not borne out.
        control: The share of them of which the judge said yes of earlier news; None where it was
            not asked.
        borne_out: How many were.
        decided: Of how many.
        undecided: How many were not.
        stated: The mean of the probabilities that were stated; NaN without one.
        low: The mean of the lowest that they stand for.
        high: The mean of the highest.
    """

    group: str
    name: str
    hits: Interval
    strict: Interval
    control: Interval | None
    borne_out: int
    decided: int
    undecided: int
    stated: float = math.nan
    low: float = math.nan
    high: float = math.nan


def stated_likelihood(value: object) -> tuple[str, float, float] | None:
    """Return a likelihood's group and the probabilities that it stands for.

    Args:
        value: A word of `contrafact.families.finforce.cards.LIKELIHOODS`, a probability from 0 to
            1, or per cent with its sign.

    Returns:
        The group, and the lowest and highest probability; None where it is none of these.
    """
    text = " ".join(str(value).casefold().split())
    if text in LIKELIHOOD_RANGES:
        return (text, *LIKELIHOOD_RANGES[text])
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    if not 0 <= number <= 1:
        return None
    bin_ = min(int(number * _BINS), _BINS - 1)
    return f"{100 * bin_ // _BINS} to {100 * (bin_ + 1) // _BINS}%", number, number


def load_scenarios(
    path: str | Path,
    notes: ScenarioNotes | None = None,
    *,
    columns: Mapping[str, str] | None = None,
) -> list[Scenario]:
    """Return the scenarios of a file, in its order, each once.

    Read are what `contrafact generate` writes (``risk_counterfactual``, ``risk_counterfactual_2``,
    …, with ``risk_likelihood`` of its card), and rows of one scenario each with ``side``, ``text``
    and ``likelihood``. Every row needs ``headline`` and ``date``.

    Args:
        path: The file.
        notes: Filled with what was passed over, if given.
        columns: By field, what the file calls its column, where they differ.

    Raises:
        InputError: The file cannot be read, has no such columns, or holds no scenario with a date.
    """
    notes = ScenarioNotes() if notes is None else notes
    found: dict[str, Scenario] = {}
    for line, row in read_rows(path, columns):
        given = fold_row(row)
        headline = value_of(given, "headline")
        texts = list(_texts(given))
        if not isinstance(headline, str) or not texts:
            raise InputError(
                "the row has no headline" if not isinstance(headline, str) else "no scenario here",
                file=source_name(path),
                line=line,
                hint="give headline, date, risk_counterfactual and opportunity_counterfactual, "
                "or headline, date, side and text",
            )
        date = value_of(given, "date")
        moment = None if date is None else moment_of(str(date))
        if moment is None:
            notes.undated.append(line)
            continue
        for side, text, likelihood in texts:
            if text is None:
                notes.empty.append(line)
                continue
            stated = None if likelihood is None else stated_likelihood(likelihood)
            if likelihood is not None and stated is None:
                notes.unread.append(line)
            one = Scenario(
                content_id(headline, side, text, prefix="c"),
                line,
                replace_surrogates(headline),
                side,
                text,
                moment,
                *(stated or ()),
            )
            found.setdefault(one.id, one)
    if not found:
        raise InputError(
            "holds no scenario whose headline has a date",
            file=source_name(path),
            hint="give a column 'date', as in 2025-04-18 or 2025-04-18T09:30:00Z",
        )
    return list(found.values())


def looked_at(
    scenarios: Iterable[Scenario],
    matches: Sequence[Match],
    verdicts: Mapping[str, Sequence[Verdict]],
    *,
    window: int,
    last_day: str,
) -> list[Looked]:
    """Return what became of every scenario.

    Args:
        scenarios: The scenarios.
        matches: The matches, in order.
        verdicts: Every judge's verdict by a match's key.
        window: So many days after a headline count.
        last_day: The last day of which there is news.
    """
    by_scenario: dict[tuple[str, bool], list[tuple[Match, Verdict]]] = {}
    for match in matches:
        verdict = panel_verdict(verdicts[match.key])
        by_scenario.setdefault((match.scenario.id, match.control), []).append((match, verdict))
    found: list[Looked] = []
    for one in scenarios:
        later = by_scenario.get((one.id, False), [])
        passed = [verdict.passed for _, verdict in later]
        if moved(one.moment.day, window) > last_day:
            outcome = "open"
        elif True in passed:
            outcome = "borne out"
        else:
            outcome = "undecided" if None in passed else "not borne out"
        found.append(Looked(one, outcome, later, by_scenario.get((one.id, True), [])))
    return found


def rates_of(looked: Sequence[Looked], *, control: bool, seed: int = 0) -> list[Rate]:
    """Return the rates over all, by side, by stated likelihood, and by both.

    Args:
        looked: What became of every scenario; open ones are in no rate.
        control: Whether earlier news was asked about.
        seed: Seed of the resampling.
    """
    closed = [one for one in looked if one.outcome != "open"]
    stated = {one.scenario.stated for one in closed} - {None}
    order = [*LIKELIHOODS, *(f"{20 * at} to {20 * (at + 1)}%" for at in range(_BINS))]
    words = [word for word in order if word in stated]
    groups: list[tuple[str, str, list[Looked]]] = [("all", "all", closed)]
    for side in SIDES:
        groups.append(("side", side, [one for one in closed if one.scenario.side == side]))
    for word in words:
        groups.append(("likelihood", word, [one for one in closed if one.scenario.stated == word]))
    for side in SIDES:
        for word in words:
            own = [
                one for one in closed if one.scenario.stated == word and one.scenario.side == side
            ]
            groups.append(("side and likelihood", f"{side}, {word}", own))
    streams = np.random.default_rng(seed).spawn(len(groups))
    return [
        _rate(group, name, own, rng, control=control)
        for (group, name, own), rng in zip(groups, streams, strict=True)
        if own
    ]


def borne_out_template(pack: PromptPack) -> PromptTemplate:
    """Return what a judge is asked, opened and checked."""
    return pack.template(
        "finforce/judge-borne-out", required={"headline", "scenario", "report", "day"}
    )


def match_prompt(template: PromptTemplate, match: Match) -> str:
    """Return what a judge is asked about one match."""
    return template.render(
        headline=delimit(match.scenario.headline),
        scenario=delimit(match.scenario.text),
        report=delimit(match.news.paragraph[:_REPORT_CHARACTERS]),
        day=match.news.date or "",
    )


def matches_of(
    scenarios: Sequence[Scenario], news: Related, *, window: int, count: int, control: bool
) -> list[Match]:
    """Return the news that may bear each scenario out, the best matches first.

    Args:
        scenarios: The scenarios.
        news: The news.
        window: So many days after a headline are looked at.
        count: So many matches of each at most.
        control: Whether as many of the days before are looked at too.
    """
    found: list[Match] = []
    for one in scenarios:
        later = news.after(one.moment, one.text, days=window, count=count)
        found += [Match(one, item) for item in later]
        if control:
            earlier = news.before(one.moment, one.text, days=window, count=count)
            found += [Match(one, item, control=True) for item in earlier]
    return found


def _rate(
    group: str,
    name: str,
    own: Sequence[Looked],
    rng: np.random.Generator,
    *,
    control: bool,
) -> Rate:
    decided = [one for one in own if one.outcome != "undecided"]
    midpoints = [(one.scenario.low + one.scenario.high) / 2 for one in own if one.scenario.stated]
    lows = [one.scenario.low for one in own if one.scenario.stated]
    highs = [one.scenario.high for one in own if one.scenario.stated]

    def share(rows: Sequence[Looked], hits: Sequence[bool]) -> Interval:
        if not rows:
            return Interval(math.nan, math.nan, math.nan, 0.95, 0, 0, "nothing was decided")
        headlines = [one.scenario.headline for one in rows]
        return cluster_bootstrap([float(hit) for hit in hits], headlines, rng=rng)

    yes = [one.outcome == "borne out" for one in decided]
    return Rate(
        group,
        name,
        share(decided, yes),
        share(own, [one.outcome == "borne out" for one in own]),
        share(own, [any(verdict.passed for _, verdict in one.control) for one in own])
        if control
        else None,
        sum(yes),
        len(decided),
        len(own) - len(decided),
        _mean(midpoints),
        _mean(lows),
        _mean(highs),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _texts(given: Mapping[str, Any]) -> Iterable[tuple[Side, str | None, object]]:
    """Yield each scenario of a folded row, None where it is none, with its stated likelihood."""
    degenerate = given.get("degenerate")
    degenerate = "" if is_absent(degenerate) else str(degenerate)
    own = str(given.get("side", "")).strip().casefold()
    for side in SIDES:
        likelihood = given.get(f"{side}likelihood")
        names = [name for name in given if re.fullmatch(rf"{side}(?:counterfactual\d*)?", name)]
        if own == side:
            likelihood, names = given.get("likelihood", given.get("cardlikelihood")), ["text"]
        elif own:
            continue
        # What `generate` writes names the sides; a row of one side does not.
        no_answer = bool(degenerate) and (own == side or f"{side} " in degenerate)
        for name in names:
            value = given.get(name)
            text = None if is_absent(value) or no_answer else replace_surrogates(str(value))
            likelihood = None if is_absent(likelihood) else likelihood
            yield side, None if text is None else unguarded(text), likelihood
