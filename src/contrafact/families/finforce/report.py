"""FIN-FORCE's chapter of a report: what it measures, shows and says.

Two forms. ``valid`` is the paper's: over outputs that could be read and, for judged scores,
verdicts that could be read. ``strict`` counts what is invalid as wrong. Perplexity has only the
first. Tables and figures follow the paper's tables 2, 14 and 15 and its figures 2 to 4.
"""

import math
from functools import partial

import numpy as np
import pandas as pd

from contrafact.families.finforce.published import with_published_scope
from contrafact.families.finforce.report_figures import (
    COSTS,
    CRITERION_NAMES,
    ERROR_CLASSES,
    PLAIN_CAPTION,
    SHORT_NAMES,
    base_distance,
    cost,
    few_shot_change,
    perplexities,
    risk_against_opportunity,
    side_figures,
    study,
)
from contrafact.family.display import (
    Column,
    Fact,
    count,
    format_number,
    invalid_sentence,
    leaders,
    listed,
    percent,
)
from contrafact.family.report import (
    Breakdown,
    ChapterData,
    Examples,
    Explorer,
    JudgedColumn,
    Measure,
    MeasureTable,
    ReportSpec,
    Section,
    TableChart,
    TerminalColumn,
)
from contrafact.records import CRITERIA, SIDES

__all__ = ["SPEC", "prepare"]

_CHIP_LABELS = {"forward_compatibility": "Forward-compatible", "directionality": "Directional"}
_CLASS_LABELS = {
    "similar_semantics": "Similar semantics",
    "fantastical_edit": "Fantastical edit",
    "fluency_lapse": "Fluency lapse",
    "numeric_prediction": "Numeric prediction",
    "trivial_consequences": "Trivial consequences",
    "financially_unrealistic": "Financially unrealistic",
}
_HEADLINES = Column("headlines", "Headlines", "count")


def prepare(items: pd.DataFrame) -> pd.DataFrame:
    """Check the sides, and add which texts are sound and what only some runs have.

    Of methods that write a factual first, the items have its text (``base``) and the
    counterfactual's edit distance from it (``base_distance``); judged error classes where they
    were asked for.

    Raises:
        ValueError: A side is unknown: the caller's mistake.
    """
    if not items["side"].isin(SIDES).all():
        raise ValueError(f"sides are {' and '.join(SIDES)}")
    optional = (*ERROR_CLASSES, "base_distance", "calls", "tokens")
    missing = [name for name in optional if name not in items.columns]
    categories = [None if pd.isna(c) or not str(c).strip() else str(c) for c in items["category"]]
    sound = items["valid"].eq(1) & items["degenerate"].isna()
    return items.assign(
        sound=sound.astype(float),
        base=items["base"] if "base" in items.columns else None,
        dollars_per_1000=items["dollars"] * 1_000 if "dollars" in items.columns else np.nan,
        category=pd.Series(categories, index=items.index, dtype=object),
        **dict.fromkeys(missing, np.nan),
    )


def _averages(items: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of the two judged scores of each counterfactual, draws averaged first."""
    first, second = CRITERIA
    columns = [f"{name}{end}" for name in CRITERIA for end in ("", "_strict")]
    values = items.groupby(["system", "sample_id", "side"], sort=True)[columns].mean()
    for end in ("", "_strict"):
        values[f"average{end}"] = (values[f"{first}{end}"] + values[f"{second}{end}"]) / 2
    return values.reset_index()


def _scope_caption(data: ChapterData) -> str:
    rows = data.overall("headline_perplexity")
    if not data.comparable.scored or rows.empty:
        return PLAIN_CAPTION
    means = sorted({f"{value:.1f}" for value in rows["estimate"]})
    return (
        f"{PLAIN_CAPTION} Δ is the mean over counterfactuals minus the mean over the headlines"
        + (f" ({means[0]})" if len(means) == 1 else "")
        + ". The mean is fragile: a few garbled texts move it, so the median stands beside it."
    )


def _facts(data: ChapterData) -> list[Fact]:
    headlines = format_number(data.items["sample_id"].nunique(), "count")
    kinds = data.items["category"].nunique()
    below = f"in {count(kinds, 'market category', 'market categories')}" if kinds else ""
    return [Fact("Headlines", headlines, below)]


def _unread(criterion: str, rows: pd.DataFrame, *, missing: bool) -> int | None:
    """Count verdicts on valid outputs that could not be read, or were never given."""
    if not rows["was_judged"].any():
        return None
    valid = rows[rows["valid"] == 1]
    unread = valid[f"{criterion}_invalid"].notna()
    return int((~unread & valid[criterion].isna()).sum()) if missing else int(unread.sum())


def _repaired(rows: pd.DataFrame) -> int:
    return int(((rows["repairs"] > 0) & (rows["valid"] == 1)).sum())


def _summary(data: ChapterData) -> list[str]:
    able, headlines = data.comparable, data.items["sample_id"].nunique()
    asked, valid = data.asked_and_valid
    found = [
        f"{count(len(data.systems), 'system')} wrote about {count(headlines, 'headline')}: "
        f"{asked:,} counterfactuals were asked for and {valid:,} ({percent(valid / asked)}) "
        "could be read."
    ]
    if able.judged and able.one_judge:
        if data.meta.embedded_judge:
            found.append(
                "What follows about forward-compatibility and directionality rests on the embedded "
                "model's verdicts, and is worth no more than they are."
            )
        found += _best(data)
        found += _sides(data)
    if able.scored and able.one_fluency_model:
        found += _fluency(data)
    found.append(invalid_sentence(data.items, ("output", "outputs"), "outputs"))
    return found


def _best(data: ChapterData) -> list[str]:
    """Name the highest average and say whether the next is distinguishable from it."""
    rows = data.overall("average").sort_values("estimate", ascending=False, kind="stable")
    if rows.empty:
        return []
    average = "average of forward-compatibility and directionality"
    sentence = leaders(
        rows,
        data.pairs,
        "headlines",
        measure="average",
        best=f"Over valid outputs, the highest {average}",
        alone=f"Over valid outputs, {{system}} has an {average} of {{figure}}.",
    )
    return [sentence]


def _sides(data: ChapterData) -> list[str]:
    """Say where opportunity counterfactuals are directional less or more often than risk ones."""
    rows = data.overall("directionality", scope="risk-opportunity")
    if rows.empty:
        return []
    more = list(rows.loc[rows["low"] > 0, "system"])
    less = list(rows.loc[rows["high"] < 0, "system"])
    rest = len(rows) - len(more) - len(less)
    parts: list[str] = []
    if more:
        parts.append(f"risk counterfactuals pass more often for {listed(more)}")
    if less:
        parts.append(f"opportunity counterfactuals pass more often for {listed(less)}")
    if rest and parts:
        parts.append(f"for {rest} more the interval of the difference includes zero")
    elif rest:
        parts.append("no system's two sides can be told apart")
    return [f"On directionality, {'; '.join(parts)}."]


def _fluency(data: ChapterData) -> list[str]:
    rows = data.overall("delta_perplexity").sort_values("estimate", kind="stable")
    if rows.empty:
        return []
    first = rows.iloc[0]
    value, *bounds = (format_number(float(first[n]), "signed") for n in ("estimate", "low", "high"))
    between = "" if math.isnan(float(first["low"])) else f" ({bounds[0]} to {bounds[1]})"
    lead = "The lowest Δ perplexity is that of" if len(rows) > 1 else "Δ perplexity of"
    verb = "," if len(rows) > 1 else " is"
    medians = data.overall("perplexity_median").set_index("system")["estimate"]
    median = format_number(float(medians[str(first["system"])]), "number")
    return [f"{lead} {first['system']}{verb} {value}{between}; its median perplexity is {median}."]


_SCORES = tuple(SHORT_NAMES)
_PERPLEXITIES = ("perplexity", "perplexity_median", "delta_perplexity")


def _scope_table(scope: str, title: str) -> MeasureTable:
    return MeasureTable(
        scope,
        title,
        ("valid", "sound", *_PERPLEXITIES, *_SCORES),
        _scope_caption,
        (_HEADLINES,),
        scope=scope,
        notes=("judge", "fluency", "items"),
        published=with_published_scope,
    )


def _fluency_measure(name: str, label: str, *, compared: str = "") -> Measure:
    return Measure(
        name,
        label,
        "signed" if name == "delta_perplexity" else "number",
        "low",
        forms=("valid",),
        group="Perplexity",
        fluency=True,
        compared=compared,
    )


SPEC = ReportSpec(
    title="Forward counterfactuals from market headlines",
    eyebrow="FIN-FORCE",
    unit=("headline", "headlines"),
    output=("counterfactual", "counterfactuals"),
    clusters="headlines",
    key=("sample_id", "side"),
    columns=(
        *("judge", "headline", "category", "repairs", *CRITERIA),
        *(f"{criterion}_invalid" for criterion in CRITERIA),
        *("perplexity", "headline_perplexity", "edit_distance", *ERROR_CLASSES[:4]),
    ),
    numbers=("headline_perplexity", "edit_distance", "repairs"),
    criteria=tuple(
        JudgedColumn(name, label, _CHIP_LABELS[name]) for name, label in CRITERION_NAMES.items()
    ),
    without_judge="so forward-compatibility and directionality are left out",
    prepare=prepare,
    measures=(
        Measure("valid", "Valid, %", forms=("all",), ranked=False),
        Measure("sound", "Sound, %", forms=("all",), ranked=False),
        *(
            Measure(name, SHORT_NAMES[name], judged=True, compared=f"{SHORT_NAMES[name]}, points")
            for name in CRITERIA
        ),
        Measure(
            "average",
            "Avg.",
            judged=True,
            compared="Avg., points",
            phrase="average of forward-compatibility and directionality",
            units=_averages,
        ),
        _fluency_measure("perplexity", "Mean", compared="Perplexity"),
        _fluency_measure("perplexity_median", "Median"),
        _fluency_measure("delta_perplexity", "Δ"),
        *(
            Measure(name, label, better=None, forms=("valid",), group="Of valid outputs, %")
            for name, label in _CLASS_LABELS.items()
        ),
        Measure(
            "base_distance",
            "Edit distance",
            "coefficient",
            "low",
            forms=("valid",),
            compared="Edit distance from the base, × 100",
            family="base",
        ),
        *(
            Measure(
                name,
                label,
                "coefficient" if name.startswith("dollars") else "number",
                "low",
                forms=("all",),
                group="A headline",
                ranked=False,
            )
            for name, label in COSTS.items()
        ),
    ),
    scopes=("overall", *SIDES, "risk-opportunity"),
    averages_draws=True,
    estimate=side_figures,
    breakdowns=(Breakdown("category"),),
    tables=(
        _scope_table("overall", "Overall"),
        MeasureTable(
            "cost",
            "Score and cost",
            ("average", *COSTS),
            "What it takes to write both counterfactuals of a headline, beside what they score: "
            "calls, tokens sent and received, and list price in US dollars for 1,000 headlines, of "
            "the writer and of a verifier; the judge is not counted. A method that is paid more "
            "has to show more. Small figures are 95% intervals, clustered by headline.",
            (_HEADLINES,),
            scope="overall",
            notes=("judge", "items"),
        ),
        _scope_table("risk", "Risk counterfactuals"),
        _scope_table("opportunity", "Opportunity counterfactuals"),
        MeasureTable(
            "by_category",
            "By market category",
            (*_PERPLEXITIES[1:], *_SCORES),
            f"Both sides together, largest categories first. {PLAIN_CAPTION} With few headlines "
            "the intervals are wide, and under five there are none.",
            (_HEADLINES,),
            breakdown="category",
            by_size=True,
            notes=("judge", "fluency", "items"),
            source=False,
        ),
        MeasureTable(
            "errors",
            "Error classes",
            ERROR_CLASSES,
            "Signs of error that can be computed. Similar semantics: hardly a character changed. "
            "Fantastical edit: the headline's names are gone. Fluency lapse: a perplexity far "
            "above the headline's. Numeric prediction: a figure the headline does not have, which "
            "the task forbids. These are rules on the surface of a text, not judgements of it. "
            "Trivial consequences and financially unrealistic, where shown, are the judge's.",
            source=False,
            chart=TableChart("errors", "Error classes", ERROR_CLASSES),
        ),
    ),
    extras=(
        *(cost, risk_against_opportunity, few_shot_change, base_distance, study),
        perplexities,
    ),
    paired="the counterfactuals",
    invalid_title="Invalid outputs and verdicts",
    invalid_caption=(
        "Counterfactuals asked for, and what became of them. A repaired output was read after the "
        "parser repaired its format, never its words. An unread verdict is a judge's reply that "
        "is neither true nor false; a missing one was never given."
    ),
    invalid_columns=(
        Column("system", "System", "text"),
        Column("asked", "Asked for", "count"),
        Column("valid", "Valid", "count"),
        Column("repairs", "Of those repaired", "count"),
        Column("invalid", "Invalid", "count"),
        Column("invalid_share", "Invalid, %", "share", better="low", ranked=False),
        *(
            Column(f"{criterion}_{end}", SHORT_NAMES[criterion], "count", group=group)
            for end, group in (("unread", "Verdicts unread"), ("missing", "Verdicts missing"))
            for criterion in CRITERIA
        ),
    ),
    invalid_counts={
        "repairs": _repaired,
        **{
            f"{criterion}_{end}": partial(_unread, criterion, missing=end == "missing")
            for criterion in CRITERIA
            for end in ("unread", "missing")
        },
    },
    invalid_shown=(("headline", "Headline"), ("system", "System"), ("side", "Side")),
    examples=Examples(
        by=("sample_id",),
        in_turn=True,
        text="headline",
        where=(
            "{category}",
            "{system}",
            "headline's perplexity {headline_perplexity:,.1f}",
        ),
        facts=(("Base continuation", "base"),),
        card="side",
        chips=("Perplexity {perplexity:,.1f}",),
        limit=1_200,
        caption=(
            "{count} drawn at random with seed {seed}, the systems in turn; nothing is picked by "
            "hand. <ins>Underlined</ins> is what the counterfactual adds to the headline, "
            "<del>struck through</del> what it leaves out."
        ),
    ),
    explorer=Explorer(
        filters=(("side", "Side"), ("category", "Category")),
        classes=tuple(_CLASS_LABELS.items()),
        numbers=(("edit_distance", "Edit distance from the headline"),),
    ),
    costs=tuple(COSTS),
    headline=("average",),
    facts=_facts,
    summary=_summary,
    sections=(
        Section("summary", "Summary"),
        Section("results", "Results", ("overall", "leaderboard", "corrected")),
        Section("cost", "Score and cost", ("cost",), "Cost"),
        Section("sides", "Risk and opportunity", ("risk_vs_opportunity", "risk", "opportunity")),
        Section("fluency", "Fluency", ("perplexity",)),
        Section("few-shot", "Few-shot against zero-shot", ("few_shot_change",), "Few-shot"),
        Section(
            "base", "Counterfactuals and their base", ("base_distance",), "Distance from the base"
        ),
        Section("categories", "Market categories", ("by_category",), "Categories"),
        Section("paired", "Comparisons on the same items", ("paired",), "Comparisons"),
        Section(
            "agreement",
            "How far the judges agree",
            ("panel_agreement", "panel", "members", "study"),
            "Agreement",
        ),
        Section("errors", "Errors and invalid outputs", ("invalid", "invalid_reasons", "errors")),
        Section("examples", "Examples"),
        Section("runs", "What was run"),
        Section("how", "How to read this"),
    ),
    how=(
        (
            "Risk and opportunity",
            "From each headline a system writes two forward counterfactuals: one development that "
            "makes market conditions worse, one that makes them better.",
        ),
        (
            "Sound",
            "The share of what was asked for that can be read and is not degenerate: all that is "
            "known without a judge. It does not say that a text is a good counterfactual.",
        ),
        (
            "Fwd-Compat.",
            "Forward-compatibility: the share of counterfactuals that a judge finds to follow "
            "plausibly from the headline without denying it.",
        ),
        (
            "Dir.",
            "Directionality: the share in which a judge finds a clear and meaningful shift of the "
            "market in the direction asked for, soundly reasoned and wider than one party.",
        ),
        (
            "Avg.",
            "The mean of the two. A system can buy one with the other: a text that changes little "
            "is compatible with anything.",
        ),
        (
            "Perplexity and Δ",
            "How surprising a text is to the fluency model; lower reads more fluently to it. Δ "
            "takes away the headlines' own mean. Perplexities of different models do not compare.",
        ),
        (
            "Over valid outputs, and strict",
            "The first, the paper's form, leaves out what could not be read. The second counts it "
            "as wrong, so a system gains nothing by answering only when it is easy. Overall "
            "figures are the mean of the two sides.",
        ),
        (
            "Intervals",
            "{level}% intervals from {resamples} resamples of whole headlines: all that was "
            "written about a headline is drawn together, few-shot draws included. They speak of "
            "other headlines like these, not of other judges or prompts. Under five headlines none "
            "is given.",
        ),
    ),
    terminal=(
        TerminalColumn("sound", "all", "Sound %"),
        TerminalColumn("perplexity", "valid", "Perplexity", scale=1, rank=3),
        TerminalColumn("delta_perplexity", "valid", "Δ Perpl.", scale=1, rank=2),
        TerminalColumn("forward_compatibility", "valid", "Fwd-Compat. %"),
        TerminalColumn("directionality", "valid", "Dir. %"),
        TerminalColumn("average", "valid", "Avg. %"),
        TerminalColumn("average", "strict", "strict Avg. %", rank=1),
        TerminalColumn("calls", "all", "Calls", scale=1, rank=4),
        TerminalColumn("tokens", "all", "Tokens", scale=1, digits=0, rank=2),
        TerminalColumn("dollars_per_1000", "all", "$/1,000", scale=1, digits=2, rank=4),
    ),
    terminal_title="All counterfactuals",
    samples="The headlines are bundled samples about fictional companies and countries.",
    streams=("figures", "pairs", "panel", "examples", "judged"),
)
