"""CoBe's chapter of a report: accuracy by five criteria, over three phrasings of every story.

A response is correct where it passes all criteria that its story has (section 4). The valid form
leaves out what could not be read, the strict form counts it as failed. Tables and figures follow
the paper's table 5 and figures 5 to 9.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from contrafact.families.cobe.data import CRITERION_NAMES, PHRASINGS
from contrafact.families.cobe.items import READ_BY
from contrafact.families.cobe.phrasing import PLAIN
from contrafact.families.cobe.records import DOMAINS, GRAPHS
from contrafact.families.cobe.scoring import failure_modes
from contrafact.families.cobe.verifier import RECORD
from contrafact.family.display import VALID_HEADING, Column, Table, finished_table, with_published
from contrafact.family.published import published_facts, published_table
from contrafact.family.report import (
    Breakdown,
    ChapterData,
    Explorer,
    Form,
    JudgedColumn,
    Measure,
    Part,
    ReportSpec,
    Section,
    TerminalColumn,
    report_terms,
)
from contrafact.family.settings import UNDER
from contrafact.family.tables import invalid_table, measure_chart, measure_table, reason_table
from contrafact.judges.verifier import VERIFIER
from contrafact.stats.intervals import Interval
from contrafact.stats.paired import paired_comparison

_PAPER = "contrafact.families.cobe"

CRITERION_LABELS: Mapping[str, str] = {
    "E1": "E1 unchanged stays",
    "E2": "E2 effects change",
    "E3": "E3 connectors",
    "E4": "E4 quantities",
    "E5": "E5 latent facts stay",
}
_SCOPES = {
    "graph": "type of graph",
    "phrasing": "phrasing",
    "domain": "domain",
    "failure_mode": "failure mode",
    "cause": "whether the story tells a cause of the change",
}
_CAUSES = {1.0: "a told cause", 0.0: "no told cause"}
_ORDER = {
    "graph": GRAPHS,
    "phrasing": PHRASINGS,
    "domain": DOMAINS,
    "cause": tuple(_CAUSES.values()),
}
_NOT_NAMED = "not named"
_STORY_HAS = {"E1": "unchanged", "E2": "changed", "E4": "numerical", "E5": "latent"}
_HOW = (
    "Small figures below a value are its 95% interval, clustered by block (stories that share "
    "events and wordings, or vary one core story); with fewer than ten blocks there is none. "
    "Strict scores count invalid responses, non-answers and verdicts left open as failed. Other "
    "scores leave out what is invalid or left open."
)
_PART = f"Scores from a few blocks describe these stories, not all of their kind. {_HOW}"


def prepare(items: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of the figures.

    ``was_judged``: a judge was asked, or would have been had there been a response.
    ``correct_strict`` is 0.0 where ``correct`` is open or the response degenerate. ``E1_fails`` is
    NaN where E1 was not asked or its verdict is invalid; ``E1_fails_strict`` is 1.0 where response
    or verdict is invalid. The same for the other criteria. ``framing`` is ``plain`` in runs of
    versions without it; ``cause`` is ``cause_told`` in words.
    """
    judged, valid = items["judge"].notna(), items["text"].notna()
    none = items["degenerate"].notna()
    added: dict[str, pd.Series[Any]] = {
        "was_judged": judged,
        "correct_strict": items["correct"].fillna(0.0).mask(none, 0.0).where(judged),
    }
    for name in CRITERION_LABELS:
        # A criterion that a story lacks is not asked; E3 always is.
        has: Any = items[_STORY_HAS[name]].notna() if name in _STORY_HAS else True
        unread = items[f"{name}_invalid"].notna() | ((~valid | none) & has)
        added[f"{name}_fails"] = 1.0 - items[name]
        added[f"{name}_fails_strict"] = (1.0 - items[name]).mask(unread, 1.0).where(judged)
    added["framing"] = items.get("framing", pd.Series(PLAIN, index=items.index))
    told = items.get("cause_told", pd.Series(float("nan"), index=items.index))
    added["cause"] = told.map(_CAUSES).astype(object)
    return items.assign(**added)


def scope_parts(scope: str, items: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each part in the paper's order; a story counts under each of its modes."""
    if scope == "failure_mode":
        labels = items["failure_modes"].fillna("").astype(str)
        for number, mode in failure_modes().items():
            if (labelled := labels.str.contains(rf"(?:^|\s){number}(?:\s|$)")).any():
                yield f"{number}. {mode.name}", items[labelled]
        return
    order = _ORDER[scope]
    named = items[scope].fillna(_NOT_NAMED).astype(str)
    others = sorted(set(named) - set(order) - {_NOT_NAMED})
    for name in (*order, *others, *((_NOT_NAMED,) if scope != "cause" else ())):
        if (rows := named.eq(name)).any():
            yield name, items[rows]


def _spread(part: Part, form: Form) -> Interval | None:
    column = "correct_strict" if form == "strict" else "correct"
    scored = part.rows[["phrasing", "block", column]].dropna(subset=column)
    accuracies = scored.groupby("phrasing")[column].mean()
    if set(accuracies.index) != set(PHRASINGS):
        return None
    nothing = float("nan")
    return Interval(
        float(accuracies.std(ddof=1)), nothing, nothing, part.bootstrap.level, len(scored),
        scored["block"].nunique(), "standard deviation over phrasings",
    )  # fmt: skip


_ACCURACY = Measure(
    "accuracy",
    "Acc.",
    column="correct",
    judged=True,
    compared="Accuracy, points",
    headline=True,
    phrase="accuracy",
)
_SPREAD = Measure("accuracy_spread", "± phrasings", better=None, judged=True, compute=_spread)
_FAILURES = tuple(
    Measure(f"{name}_fails", label, criterion=name, better="low", judged=True)
    for name, label in CRITERION_LABELS.items()
)
_AXIS = "Accuracy, %"
_FAILED = {
    f"{VALID_HEADING}, %": f"{VALID_HEADING}, % failed",
    "Strict, %": "Strict, % failed, invalid or left open",
}


def _with_table_5(table: Table) -> Table:
    judge, rows = published_facts(_PAPER)["judge"], published_table(_PAPER, "performance")
    frame = pd.DataFrame(
        {
            "system": rows["model"],
            "judge": judge,
            "accuracy_valid": rows["accuracy"],
            "accuracy_spread_valid": rows["spread"],
        }
    )
    context = (
        f"Published rows are shown as printed, judged by {judge} on the paper's stories. They are "
        "context, not a comparison, and are never marked as best."
    )
    return with_published(table, frame, "Published · CoBe, table 5", (context,))


def _results(data: ChapterData) -> Section:
    caption = (
        "A response is correct if it passes all criteria that apply to its story. Accuracy covers "
        "the responses to all three phrasings, and ± is the standard deviation of the phrasings' "
        f"accuracies. {_HOW}"
    )
    measures = ("accuracy", "accuracy_spread")
    counts = (*_framed(data), "judge", "blocks", "asked", "invalid", "decided")
    table = measure_table(data, "overall", "Accuracy", measures, caption, counts=counts)
    if table is not None and data.published:
        table = _with_table_5(table)
    title, named = "Accuracy over the three phrasings", {"accuracy": "All stories"}
    chart = measure_chart(data, "accuracy", title, named, axis=_AXIS)
    return Section("results", "Results", (table, chart, _read_by(data)))


def _read_by(data: ChapterData) -> Table | None:
    """Return a table of whose reading decided verifiers' verdicts; None if no verifier judged."""
    names = [f"by_{name}" for name in READ_BY]
    if not set(names) <= set(data.items.columns):
        return None
    read = data.items.dropna(subset=names).groupby("system", sort=False)[names].sum()
    frame = read.loc[[name for name in data.systems if name in read.index]].astype(int)
    frame = frame.reset_index(names="system")
    labels = ("By its grammar", "By a reader", "Left open")
    columns = (
        Column("system", "System", "text"),
        *(
            Column(name, label, "count", "The proof's verdicts, by how responses were read")
            for name, label in zip(names, labels, strict=True)
        ),
    )
    caption = (
        "The proof decides what follows from the change, from a generated story's text or a "
        "written one's structure. A language model (--reader) reads the response; for a generated "
        "story, its file's grammar can. A verdict is left open if the reading does not decide it, "
        "as when a response links what is not a fact or not a cause in the story. "
    )
    panel = data.items["judge"].astype(str).str.contains(" + ", regex=False).any()
    caption += (
        "Then the panel's other judges decide alone."
        if panel
        else "The valid form leaves it out; the strict form counts it as failed."
    )
    return Table("read_by", "What the proof decided", caption, columns, frame)


def _criteria(data: ChapterData) -> Section:
    title = "Failure rates by criterion"
    named = {measure.name: measure.label for measure in _FAILURES}
    caption = (
        "The share of responses that fail a criterion, among those to which it applies. A response "
        "can fail several criteria. The column beside each rate shows the number of responses that "
        f"it covers. {_HOW}"
    )
    chart = measure_chart(data, "criteria", title, named, axis="Failed, %")
    counts = _framed(data)
    table = measure_table(data, "criteria", title, [*named], caption, counts=counts, numbers=True)
    if table is not None:
        columns = (replace(one, group=_FAILED.get(one.group, one.group)) for one in table.columns)
        table = replace(table, columns=tuple(columns))
    return Section("criteria", title, (chart, table), "Criteria")


def _parts(data: ChapterData) -> Section:
    shown: list[Any] = []
    for scope, label in _SCOPES.items():
        caption = _PART
        if scope == "failure_mode":
            caption = (
                "Stories are labelled with the failure modes that they were written to probe. A "
                f"story with several modes counts under each. {_PART}"
            )
        key, title, measure = f"by_{scope}", f"Accuracy by {label}", {"accuracy": "Acc."}
        shown += [
            measure_chart(data, key, title, measure, of=scope, axis=_AXIS),
            measure_table(
                data, key, title, list(measure), caption,
                counts=(*_framed(data), "blocks", "asked", "decided"), of=scope, notes=False,
            ),
        ]  # fmt: skip
    heading = "By graph, phrasing, domain, failure mode and told cause"
    contents = "Graphs, phrasings, domains, modes"
    return Section("parts", heading, shown, contents)


def _framed(data: ChapterData) -> tuple[str, ...]:
    """Return the condition to show: the framing, if any request was not in the plain one."""
    return ("framing",) if _stated(data.items).any() else ()


def _stated(items: pd.DataFrame) -> "pd.Series[bool]":
    return items["framing"].notna() & items["framing"].ne(PLAIN)


def _framing(data: ChapterData) -> Section:
    """Return a table that separates reading of the request from following of causes."""
    title = "Reading the request, following causes"
    lines = pd.DataFrame(_readings(data))
    if lines.empty:
        return Section("framing", title)
    columns = [
        Column("which", "Stories", "text"),
        Column("stories", "Number", "count"),
        Column("blocks", "Blocks", "count"),
    ]
    for form, heading in (("valid", "Over valid responses, %"), ("strict", "Strict, %")):
        columns += [
            Column(f"pairs_{form}", "Pairs", "count", heading),
            Column(f"plain_{form}", "Plain", "share", heading, ranked=False),
            Column(f"following_{form}", "Following", "share", heading, ranked=False),
            Column(f"reading_{form}", "Reading, points", "points", heading, ranked=False),
        ]
    caption = (
        "A pair is a story asked in one phrasing in two ways: plain, as in the paper, and with a "
        "stated convention, that the change comes from outside. Following is the share right with "
        "the convention, where only the following of causes can fail. Reading is that share minus "
        "the plain one: what is lost by how the system reads the plain request. Stories with a "
        f"told cause tell a cause of the change. Small figures are {data.percent_level} intervals, "
        "paired and clustered by block; there are none below ten blocks."
    )
    table = finished_table("framing", title, caption, columns, lines)
    return Section("framing", title, (replace(table, group_by="system", clusters="blocks"),))


def _readings(data: ChapterData) -> Iterator[dict[str, Any]]:
    """Yield a line for each system with both framings, for all stories and for parts of them."""
    judged = data.items[data.items["was_judged"]]
    for system, stated in judged[_stated(judged)].groupby("system", sort=False):
        end = f"{UNDER}{stated['framing'].iloc[0]}"
        plain = judged["system"].eq(str(system).replace(end, ""))
        key = ["sample_id", "phrasing", "draw"]
        answers = judged.loc[plain, [*key, "correct", "correct_strict"]]
        both = stated.merge(answers, on=key, suffixes=("", "_plain"))
        parts = [("all", both), *scope_parts("graph", both), *scope_parts("cause", both)]
        for which, rows in parts if len(both) else ():
            line: dict[str, Any] = {
                "system": system,
                "which": which,
                "stories": rows["sample_id"].nunique(),
                "blocks": rows["block"].nunique(),
            }
            for form, column in (("valid", "correct"), ("strict", "correct_strict")):
                pairs = rows[[f"{column}_plain", column, "block"]].dropna()
                before, after, block = (pairs[name].to_numpy() for name in pairs)
                reading = paired_comparison(after, before, block, **data.bootstrap.how)
                line[f"pairs_{form}"] = len(pairs)
                for name, own in (("plain", f"{column}_plain"), ("following", column)):
                    mean = data.bootstrap.mean(pairs[own], pairs["block"])
                    line |= mean.columns(f"{name}_{form}")
                line |= {
                    f"reading_{form}": reading.difference,
                    f"reading_{form}_low": reading.low,
                    f"reading_{form}_high": reading.high,
                }
            if line["blocks"] < SPEC.fewest:
                line |= {name: np.nan for name in line if name.endswith(("_low", "_high"))}
            yield line


def _verdicts(rows: pd.DataFrame, *ends: str) -> int:
    names = [f"{name}{end}" for name in CRITERION_LABELS for end in ends or ("", "_invalid")]
    return int(rows.filter(items=names).notna().to_numpy().sum())


def _errors(data: ChapterData) -> Section:
    invalid = invalid_table(
        data,
        "Invalid responses and verdicts",
        "A verdict is left open if a model replies neither T nor F (read from the next token's "
        "probabilities if the provider gives them), if a verifier does not decide, or if a panel "
        "has no majority. A response is left open if it failed no criterion and has an open "
        "verdict. The strict form counts it as wrong.",
        {
            Column("verdicts", "Verdicts asked for", "count"): _verdicts,
            Column("verdicts_invalid", "Verdicts left open", "count"): lambda rows: _verdicts(
                rows, "_invalid"
            ),
            Column("open", "Responses left open", "count"): SPEC.left_open,
        },
    )
    return Section("errors", invalid.title, (invalid, reason_table(data)))


SPEC = ReportSpec(
    title="Counterfactual edits of stories, judged by causal criteria",
    unit=("story", "stories"),
    output=("response", "responses"),
    resampled=("block", "block", "blocks"),
    fewest=10,
    key=("sample_id", "phrasing"),
    conditions=("framing",),
    columns={
        **dict.fromkeys(("judge", "graph", "text", "invalid_reason", "answer"), str),
        **dict.fromkeys(_STORY_HAS.values(), str),
        **dict.fromkeys((f"{name}_invalid" for name in CRITERION_NAMES), str),
        **dict.fromkeys((f"{name}_probability" for name in CRITERION_NAMES), float),
    },
    criteria=(
        *(
            JudgedColumn(name, label, name, answers=("T", "F"))
            for name, label in CRITERION_LABELS.items()
        ),
        JudgedColumn("correct", "all criteria", answers=("T", "F")),
    ),
    prepare=prepare,
    measures=(_ACCURACY, _SPREAD, *_FAILURES),
    breakdowns=tuple(
        Breakdown(scope, ("accuracy",), partial(scope_parts, scope)) for scope in _SCOPES
    ),
    sections=(_results, _criteria, _parts, _framing, "paired", "judge", "agreement", _errors),
    explorer=Explorer(
        filters=(
            *(("phrasing", "Phrasing"), ("framing", "Framing")),
            *(("graph", "Graph"), ("domain", "Domain")),
        ),
        where=("{sample_id}", "phrasing {phrasing}", "{domain}", "{graph}"),
        facts=(("Query", "query"), ("Representative answer", "answer"), *_STORY_HAS.items()),
        before="story",
    ),
    how=tuple(report_terms(_PAPER).items()),
    records={f"{VERIFIER}proof": RECORD},
    harder="draw larger stories (`contrafact cobe synth --level 5 --n 200 --out FILE`), or more",
    terminal=(
        TerminalColumn("accuracy", "valid", "Acc. %"),
        TerminalColumn("accuracy_spread", "valid", "± phrasings", rank=1),
        TerminalColumn("accuracy", "strict", "strict Acc. %", rank=2),
    ),
)
