"""RFC-BENCH's own figures in a report: classification, pairs, surface features, matrices, examples.

Two forms (appendix F). ``valid`` is the paper's: replies that are no label are left out. ``strict``
counts them as wrong. Everything clusters by source article: both members of a pair, all
manipulations of an article, and all few-shot draws are drawn together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contrafact.families.rfc.items import PROBABILITIES
from contrafact.families.rfc.labels import TRUE, TaskName, labels_of
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.family.display import (
    OWN,
    Column,
    GridChart,
    Panel,
    Table,
    finished_table,
    with_figures,
    with_published,
)
from contrafact.family.published import published_table
from contrafact.family.report import ChapterData, Estimate, Form, Part, Section
from contrafact.stats.classification import (
    MEASURES,
    auroc,
    auroc_one_vs_rest,
    classification,
    measures,
)
from contrafact.stats.intervals import Resampling
from contrafact.stats.replicates import Sampler

PAPER = "contrafact.families.rfc"
SURFACE = "surface"
MEDIAN = "median of the models"

_FORMS: tuple[Literal["valid", "strict"], ...] = ("valid", "strict")
_RIGHT: Mapping[Form, str] = {"valid": "right", "strict": "right_strict"}
_HEADINGS = {"valid": "Over valid outputs", "strict": "Strict"}
_AUROC_RESAMPLES = 2_000


def pair_frame(items: pd.DataFrame) -> pd.DataFrame:
    """Return a row per system, draw and complete pair; invalid is NaN in ``right``, 0 if strict."""
    by = ["system", "draw", "pair_id", "article_id", "manipulation"]
    grouped = items.groupby(by, sort=False)
    both = grouped.agg(
        members=("gold", "nunique"), valid=("valid", "min"), right=("right_strict", "min")
    ).reset_index()
    both = both[both["members"].eq(2)].drop(columns="members").reset_index(drop=True)
    return both.assign(right=both["right"].where(both["valid"].eq(1)), right_strict=both["right"])


def label_figures(task: TaskName, part: Part) -> Iterator[Estimate]:
    """Yield the figures of some rows of one system.

    These are the figures of the confusion matrix, auroc if there are probabilities and, in
    detection, pairwise_accuracy, says_true, right_on_true and right_on_false. In diagnosis,
    precision, recall, f1 and auroc of one manipulation are that class's own, and auroc of all rows
    is the macro average over the manipulations present, each against the rest.
    """
    detects, labels = task == "rfc-detect", labels_of(task)
    if part.group is None or detects:
        yield from _over_all(part, labels)
    else:
        yield from _of_class(part, part.group)
    yield from _area(part, task)
    if detects and part.rows["manipulation"].notna().any():
        yield from _of_detection(part)


def _over_all(part: Part, labels: tuple[str, ...]) -> Iterator[Estimate]:
    result = classification(
        list(part.rows["gold"]),
        list(part.rows["predicted"]),
        labels,
        part.rows[part.cluster].to_numpy(object),
        **part.bootstrap.how,
    )
    yield Estimate("invalid", "all", result.invalid_rate)
    for measure in MEASURES:
        for form in _FORMS:
            found = result.figures[measure, form]
            yield Estimate(measure, form, found)


def _of_class(part: Part, label: str) -> Iterator[Estimate]:
    whole, rows = part.whole, part.rows
    predicted = whole["predicted"].eq(label)
    yield Estimate("invalid", "all", part.mean(rows.assign(invalid=1 - rows["valid"]), "invalid"))
    found = whole[predicted]
    for form in _FORMS:
        # An invalid reply predicts no class: it lowers recall, never precision.
        yield Estimate("precision", form, part.mean(found, "right_strict"))
        yield Estimate("recall", form, part.mean(rows, _RIGHT[form]))
        yield Estimate("accuracy", form, part.mean(rows, _RIGHT[form]))
        counted = whole[whole["gold"].eq(label) | predicted]
        if form == "valid":
            counted = counted[counted["valid"].eq(1)]
        # F1 is the mean of being right, weighted by how often an item counts: as gold, as found.
        weights = counted["gold"].eq(label).astype(int) + counted["predicted"].eq(label).astype(int)
        f1 = part.bootstrap.mean(counted["right_strict"], counted[part.cluster], weights)
        yield Estimate("f1", form, f1)


def _of_detection(part: Part) -> Iterator[Estimate]:
    rows, both = part.rows, pair_frame(part.rows)
    for form in _FORMS:
        yield Estimate("pairwise_accuracy", form, part.mean(both, _RIGHT[form]))
    valid = rows[rows["valid"].eq(1)]
    says = valid.assign(says=valid["predicted"].eq(TRUE).astype(float))
    yield Estimate("says_true", "valid", part.mean(says, "says"))
    for name, gold in (("right_on_true", True), ("right_on_false", False)):
        own = rows[rows["gold"].eq(TRUE) == gold]
        for form in _FORMS:
            yield Estimate(name, form, part.mean(own, _RIGHT[form]))


def _area(part: Part, task: TaskName) -> Iterator[Estimate]:
    rows = part.rows if task == "rfc-detect" else part.whole
    labels = labels_of(task)
    two = len(labels) == 2
    columns = [PROBABILITIES[label] for label in (labels[:1] if two else labels)]
    known = rows[rows["valid"].eq(1) & rows[columns].notna().all(axis=1)]
    if known["gold"].nunique() < 2:
        return
    articles = known[part.cluster].to_numpy(object)
    resamples = min(part.bootstrap.resamples, _AUROC_RESAMPLES)
    how: Resampling = {**part.bootstrap.how, "resamples": resamples}
    if not two and (part.group is None or task == "rfc-detect"):
        of_each = known[columns].to_numpy(float)
        area = auroc_one_vs_rest(list(known["gold"]), of_each, labels, articles, **how)
    else:
        label = TRUE if two else str(part.group)
        scores = known[PROBABILITIES[label]].to_numpy(float)
        area = auroc(known["gold"].eq(label).to_numpy(float), scores, articles, **how)
    yield Estimate("auroc", "valid", area)


def pairwise(data: ChapterData) -> Section:
    """Return the section on pairwise accuracy in detection; empty if no pair is complete."""
    whole = data.figures[data.figures["manipulation"].isna()]
    if not whole["measure"].eq("pairwise_accuracy").any():
        return Section("pairwise", "Pairwise accuracy")
    over, both = "Over valid outputs", "Both right, %"
    valid, counted = (data.marks(data.spec.measure("pairwise_accuracy"), form) for form in _FORMS)
    shown = (
        Column("pairwise_accuracy_valid", over, "share", both, "high", valid),
        Column("pairwise_accuracy_strict", "Strict", "share", both, "high", counted),
        Column("by_chance", "By chance", "share", both),
        Column("says_true_valid", "Answered true", "share", f"{over}, %"),
        Column("right_on_true_valid", "Right on original", "share", f"{over}, %"),
        Column("right_on_false_valid", "Right on manipulated", "share", f"{over}, %"),
    )
    named = {one.key: one.key.rpartition("_") for one in shown if one.key != "by_chance"}
    wanted = {key: {"measure": part[0], "form": part[2]} for key, part in named.items()}
    frame = with_figures(pd.DataFrame({"system": list(data.systems)}), whole, wanted)
    frame["by_chance"] = frame["says_true_valid"] * (1 - frame["says_true_valid"])
    strict = data.overall("pairwise_accuracy", "strict")
    frame = frame.merge(strict[["system", "n"]].rename(columns={"n": "pairs"}), how="left")
    columns = [Column("system", "System", "text"), Column("pairs", "Pairs", "count"), *shown]
    figures = data.figures
    figures = figures[figures["measure"].eq("pairwise_accuracy") & figures["form"].eq("strict")]
    for name in MANIPULATIONS:
        part, group = figures[figures["manipulation"].eq(name)], "Both right, strict, %, of pairs"
        if not part.empty:
            frame = with_figures(frame, part, {name: {"form": "strict"}})
            frame[f"{name}_of"] = frame["system"].map(part.set_index("system")["n"])
            columns.append(Column(name, name.title(), "share", group, "high", counted))
            columns.append(Column(f"{name}_of", "of", "count", group))
    caption = (
        "A pair is right if the original paragraph is called true and the manipulated one false. "
        "By chance is the value of answers that do not depend on the paragraph, at the system's "
        "own share of true: 0 if it always gives the same answer, a quarter for a coin. MCC and "
        "its interval show whether answers depend on the paragraph. Intervals are 95%, by source "
        "article."
    )
    table = finished_table("pairwise", "Pairwise accuracy", caption, columns, frame)
    return Section("pairwise", table.title, [table])


def by_shots(data: ChapterData) -> Section:
    """Return the section on accuracy by number of examples (figure 3), if a model has several."""
    asked = data.items[~data.items["baseline"]].drop_duplicates("system")
    asked = asked.assign(name=asked["model"] + " · " + asked["method"])
    several = asked.groupby("name")["shots"].transform("nunique") > 1
    chosen = asked[several].sort_values(["name", "shots"], kind="stable")
    chosen = chosen.drop_duplicates(["name", "shots"])
    if chosen.empty:
        return Section("shots", "Worked examples")
    shots = sorted(int(n) for n in chosen["shots"].unique())
    figures = pd.concat([data.overall("accuracy", form) for form in _FORMS])
    figures = figures.merge(chosen[["system", "name", "shots"]], on="system")
    # A run without a valid output has no figure: its place stays, and is empty.
    wanted = {f"{form}_{n}": {"form": form, "shots": n} for n in shots for form in _FORMS}
    lines = pd.DataFrame({"name": chosen["name"].unique()})
    frame = with_figures(lines, figures, wanted, ["name"]).rename(columns={"name": "system"})
    columns = (
        Column("system", "Model and method", "text"),
        *(
            Column(f"{form}_{n}", f"{n} shots", "share", f"Acc., {group.lower()}, %", "high", False)
            for form, group in _HEADINGS.items()
            for n in shots
        ),
    )
    caption = "Accuracy by the number of worked examples, with 95% intervals by source article."
    table = Table("shots", "Worked examples", caption, columns, frame.assign(source=OWN))
    keys = [f"valid_{n}" for n in shots]
    chart = GridChart(
        "shots",
        "Accuracy by number of worked examples",
        "Over valid outputs, with 95% intervals by source article.",
        list(table.frame["system"]),
        [f"{n} shots" for n in shots],
        [Panel.of_columns("Accuracy", table.frame, keys, "share")],
    )
    if data.published:
        rows = published_table(PAPER, "detect")
        paper = rows.pivot(index="model", columns="shots", values="accuracy")
        paper = paper.reindex(rows["model"].unique())
        paper = paper[paper.notna().sum(axis=1) > 1].add_prefix("valid_")
        paper = paper.rename_axis("system").reset_index()
        table = with_published(table, paper, "Published · RFC-BENCH, figure 3", (CONTEXT,))
    return Section("shots", table.title, (chart, table))


CONTEXT = (
    "Published rows are shown as printed, over valid outputs and without intervals. They are for "
    "other pairs and for the question of the presets rfc-detect-paper and rfc-diagnose-paper. They "
    "are context, not a comparison, and are never marked as best."
)


def surface(task: TaskName, data: ChapterData) -> Section:
    """Return the section on the surface baseline beside the models' median (figure 4)."""
    found = surface_figures(data.items, task, **data.bootstrap.how)
    title, short = "Surface features beside the models", "Surface features"
    section = Section("surface", title, contents=short, results={"surface": found})
    if found.empty:
        return section
    names = {"accuracy": "Acc.", "f1": "Macro-F1"}
    number, elsewhere = int(found["models"].iloc[0]), ~found["what"].isin([MEDIAN, "difference"])
    called = {MEDIAN: f"{MEDIAN} ({number})", "difference": "median minus baseline"}
    if number == 1:  # whose accuracy is compared with the baseline's in the paired comparisons
        called = {MEDIAN: "the model", "difference": "the model minus baseline"}
        elsewhere |= found["what"].eq(MEDIAN) | found["measure"].eq("accuracy")
    # A figure has its interval in one place.
    found = found.assign(**{end: found[end].mask(elsewhere) for end in ("low", "high")})
    whats = list(dict.fromkeys(found["what"]))
    frame = pd.DataFrame({"what": whats}).assign(system=[called.get(what, what) for what in whats])
    wanted = {name: {"measure": name} for name in names}
    frame = with_figures(frame, found, wanted, ["what"]).drop(columns="what")
    columns = (
        Column("system", "System", "text"),
        *(
            Column(name, label, "share", "Over valid outputs, %", "high", ranked=False)
            for name, label in names.items()
        ),
    )
    caption = (
        "A logistic regression on surface features alone, cross-validated by article, beside the "
        "median of the models. Models that are not clearly better may see no more than artefacts "
        "of the rewriting. Doing better does not show that they see more. Intervals are by source "
        "article, on the same resamples; a score in other tables too has its interval there."
    )
    table = Table("surface", "Surface features and models", caption, columns, frame)
    return replace(section, shows=[table])


def surface_figures(items: pd.DataFrame, task: TaskName, **how: Unpack[Resampling]) -> pd.DataFrame:
    """Return accuracy and macro-F1, over valid outputs, of baseline, median and their difference.

    Every resample of articles gives one value of each system, and so of the median over the models
    and of its distance to the baseline. One row per ``what`` (the baseline, the median,
    "difference") and ``measure``; none where the baseline or the models are missing.
    """
    systems = items.drop_duplicates("system")
    baseline = list(systems.loc[systems["method"].eq(SURFACE), "system"])
    models = list(systems.loc[~systems["baseline"], "system"])
    if not baseline or not models:
        return pd.DataFrame()
    sampler = Sampler(items["article_id"], **how)
    of = {
        s: _replicates(items[items["system"].eq(s)], task, sampler) for s in (baseline[0], *models)
    }
    own = items[items["system"].eq(baseline[0])]
    rows: list[dict[str, object]] = []
    for measure in ("accuracy", "f1"):
        alone = of[baseline[0]][measure]
        # A model without a valid output has no figure, and does not count for the median.
        known = [of[s][measure] for s in models if np.isfinite(of[s][measure][0])]
        if not known:
            continue
        median = np.median(np.stack(known), axis=0)
        for what, values in (
            (baseline[0], alone),
            (MEDIAN, median),
            ("difference", median - alone),
        ):
            interval = sampler.interval(values, n=len(own), clusters=own["article_id"].nunique())
            found = {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
            counts = {"models": len(known), "n": interval.n, "articles": interval.clusters}
            rows.append({"what": what, "measure": measure, "form": "valid"} | found | counts)
    return pd.DataFrame(rows)


def _replicates(
    own: pd.DataFrame, task: TaskName, sampler: Sampler
) -> Mapping[str, NDArray[np.float64]]:
    labels = labels_of(task)
    articles = own["article_id"].to_numpy(object)
    predicted = own["predicted"].fillna("")
    cells = [
        (np.asarray(own["gold"].eq(gold) & predicted.eq(found), dtype=np.float64), articles)
        for gold in labels
        for found in (*labels, "")
    ]
    # The measures do not change when all cells are divided by the number of items.
    shares = np.stack(sampler.means(cells), axis=1)
    matrix = shares.reshape(len(shares), len(labels), len(labels) + 1)
    with np.errstate(invalid="ignore"):
        return measures(matrix, "valid")


def confusion_frame(data: ChapterData, task: TaskName) -> pd.DataFrame:
    labels = labels_of(task)
    counts = pd.crosstab(
        [data.items["system"], data.items["gold"]], data.items["predicted"].fillna("invalid")
    )
    order = [(s, gold) for s in data.systems for gold in labels if (s, gold) in counts.index]
    frame = counts.reindex(index=order, columns=[*labels, "invalid"], fill_value=0).reset_index()
    return frame.rename_axis(columns=None)


def confusion(task: TaskName, data: ChapterData) -> Section:
    """Return the section with a confusion matrix for every system."""
    frame = confusion_frame(data, task)
    labels = list(labels_of(task))
    columns = (
        Column("gold", "Gold", "text"),
        *(Column(label, label, "count", "Answered") for label in labels),
        Column("invalid", "no label", "count", "Answered"),
    )
    draws = "; all draws" * bool(data.items["draw"].max() > 1)
    caption = f"How often items of each gold label got each answer{draws}."
    title = "Confusion matrices"
    table = Table("confusion", title, caption, columns, frame, group_by="system")
    answers = [*labels, *(["invalid"] if frame["invalid"].any() else [])]
    shares = frame[answers].div(frame[answers].sum(axis="columns"), axis="index")
    by_gold = shares.set_index(frame["system"]).groupby(frame["gold"].to_numpy(), sort=False)
    systems = list(frame["system"].unique())
    chart = GridChart(
        "confusion",
        "Answers by gold label",
        f"The share of the items of each gold label that got each answer{draws}.",
        systems,
        ["no label" if name == "invalid" else name for name in answers],
        [
            Panel.of_columns(f"Gold {gold}, answered:", part.reindex(systems), answers)
            for gold, part in by_gold
        ],
    )
    return Section("confusion", title, (chart, table), "Confusion", {"confusion": frame})
