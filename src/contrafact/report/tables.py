"""Tables that any chapter may have: comparisons, corrected rates, judges' exams, panels."""

from dataclasses import replace

import pandas as pd

from contrafact.family.display import Column, Table, count, listed
from contrafact.family.report import ChapterData, Section
from contrafact.report.estimates import number_of_tests
from contrafact.runs.items import agreement, cluster_labels, repeated_judges
from contrafact.stats.intervals import MIN_CLUSTERS


def comparison_table(data: ChapterData) -> Table | None:
    pairs, spec = data.pairs, data.spec
    if pairs.empty:
        return None
    lines: list[dict[str, object]] = []
    for (first, second, name), forms in pairs.groupby(["first", "second", "measure"], sort=False):
        measure = spec.measure(str(name))
        line: dict[str, object] = {"pair": f"{first} minus {second}", "measure": measure.compared}
        for _, row in forms.iterrows():
            key = f"difference_{row['form']}"
            for what, end in (("difference", ""), ("low", "_low"), ("high", "_high")):
                line[f"{key}{end}"] = row[what] * measure.scale
            for what in ("p_value", "p_adjusted", "n"):
                line[f"{what}_{row['form']}"] = row[what]
        lines.append(line)
    columns = [Column("measure", "Measure", "text")]
    headings = {"valid": "Over valid outputs", "strict": "Strict", "all": "All outputs"}
    for form, group in headings.items():
        if pairs["form"].eq(form).any():
            columns += [
                Column(f"difference_{form}", "Difference", "signed", group=group),
                Column(f"p_value_{form}", "p", "p", group=group),
                Column(f"p_adjusted_{form}", "p, Holm", "p", group=group),
                Column(f"n_{form}", "Items", "count", group=group),
            ]
    caption = (
        "The first system minus the second, on the outputs that both were asked for, after "
        f"averaging over few-shot draws. Intervals ({data.percent_level}) are clustered by "
        f"{spec.cluster_noun}. The p-value comes from flipping the signs of whole {spec.clusters}. "
        f"Holm's method adjusts it for the {count(number_of_tests(pairs), 'test')} of this "
        "chapter: one for each pair and compared measure (both forms count as one). Rely on the "
        "adjusted p-value, since the intervals are not adjusted."
    )
    title, frame = "Paired comparisons", pd.DataFrame(lines)
    return Table("paired", title, caption, tuple(columns), frame, (), "pair")


def corrected_table(data: ChapterData) -> Table | None:
    """Return a table of every system's judged rates, raw and corrected, for the files.

    The page shows the corrected rates in its table of results, and the judges in `judge_table`.
    None without an exam or labels to correct by.
    """
    if data.rates.empty or not (data.examined or data.labelled):
        return None
    names = {"low": "corrected_low", "high": "corrected_high", "why": "known"}
    rates = data.rates.rename(columns=names)
    columns = (
        Column("criterion", "Passed", "text"),
        Column("raw", "Raw, %", "share"),
        Column("corrected", "Corrected, %", "share"),
        *([Column("labelled", "Labelled", "count")] if data.labelled else ()),
        Column("n", "Verdicts", "count"),
        *(_OF_EXAMS if data.examined else ()),
        Column("rests_on", "Based on", "text"),
        Column("speaks_of", "Applies to", "text"),
        Column("known", "Why not corrected", "text"),
    )
    frame = rates.assign(
        band=rates["system"] + ", judged by " + rates["judge"],
        criterion=rates["criterion"].map(data.spec.labels),
    )
    title, caption = "Judged rates, raw and corrected", "Corrected by an exam or people's labels."
    return Table("corrected", title, caption, columns, frame, (), "band")


def judge_table(data: ChapterData) -> Table | None:
    rates = data.rates
    if rates.empty or not rates["sensitivity"].notna().any():
        return None
    frame = rates[rates["sensitivity"].notna()].drop_duplicates(["judge", "criterion"])
    frame = frame.assign(criterion=frame["criterion"].map(data.spec.labels))
    caption = (
        "Of the exam's items that should pass, sensitivity is the share that the judge passes. Of "
        "those that should fail, specificity is the share that it fails. Small figures are 95% "
        "intervals (Wilson), in which items of one event or story count less than others; there "
        f"are none below {MIN_CLUSTERS} events or stories. If a judge made no error, its exam "
        "cannot tell it from a perfect one. The results show corrected rates beside raw ones."
    )
    columns = (Column("criterion", "Criterion", "text"), *_OF_EXAMS)
    return Table("judge", "In the exam", caption, columns, frame, (), "judge")


_OF_EXAMS = (
    Column("sensitivity", "Sensitivity, %", "share"),
    Column("exam_right", "of", "count"),
    Column("specificity", "Specificity, %", "share"),
    Column("exam_wrong", "of", "count"),
)


def panel_section(data: ChapterData) -> Section:
    """Return the section on how far the judges of a panel agree."""
    section = Section("agreement", "Who judged, and how far the judges agree", (), "Judges")
    verdicts = data.meta.panel
    if verdicts is None:
        return section
    how, spec = data.bootstrap.how, data.spec
    of, panels = cluster_labels(data.items, spec.cluster), _panels(verdicts).items()
    agreed = [agreement(p, of, criteria=spec.labels, **how).assign(panel=n) for n, p in panels]
    frame = pd.concat(agreed, ignore_index=True)
    if not frame.empty and data.items[spec.cluster].nunique() < spec.fewest:
        why, none = f"no interval: too few {spec.clusters}", float("nan")
        frame = frame.assign(estimate_low=none, estimate_high=none, method=why)
    if len(panels) < 2:
        frame = frame.drop(columns="panel")
    results = frame.rename(columns={"estimate_low": "low", "estimate_high": "high"})
    judged = _judged_table(data)
    section = replace(section, shows=[judged], results={"panel": results, "judges": judged.frame})
    if frame.empty:
        return section
    columns = (
        Column("coefficient", "Coefficient", "text"),
        Column("estimate", "Value", "coefficient"),
        Column("n", spec.output[1].capitalize(), "count"),
        Column("failed", "Failed by a judge", "count"),
        Column("judges", "Judges", "count"),
    )
    caption = (
        f"How far the judges agree on {spec.output[1]} that at least two of them decided, with "
        f"{data.percent_level} intervals by {spec.cluster_noun}. A judge asked again counts once. "
        "Judges that use the same model are not independent. "
        "If nearly all verdicts are the same, kappa and alpha are low even if judges agree; AC1 is "
        "not. If no judge failed any, the values do not show whether failures are noticed."
    )
    names = frame["criterion"].map(spec.labels).fillna(frame["criterion"])
    frame = frame.assign(criterion=names)
    title = "Agreement of the panel"
    if len(panels) > 1:
        frame["criterion"] += ", of " + frame["panel"]
        title = "Agreement of each panel"
    table = Table("panel", title, caption, columns, frame, (), "criterion")
    return replace(section, shows=[judged, table])


def votes_by_judge(data: ChapterData) -> pd.DataFrame:
    """Return what each judge of a panel decided, over all systems; empty without a panel.

    Returns:
        One row per judge: ``judge``; ``now``, whether the figures rest on it, or it judged earlier;
        ``verdicts`` asked for; ``decided``, ``open``; ``passed``, the share of what it decided;
        ``of``, ``ties``, ``alone``: verdicts of the figures that are decided, that are left open by
        a tie, and that this judge alone decided; ``both`` and ``same``: decided by it and another
        (of earlier verdicts of one judge: by it now and then), and the share that are the same.
    """
    votes = data.meta.panel
    if votes is None:
        return pd.DataFrame()
    judged_now = {name: data.meta.judges_of(name) for name in votes["system"].unique()}
    skipped = {"judge", "passed", "invalid", "read", "probability", "mass"}
    unit = [name for name in votes.columns if name not in skipped]
    passed = votes.groupby([*unit, "judge"], sort=False, dropna=False)["passed"].first()
    wide = pd.to_numeric(passed).unstack("judge")
    systems = wide.index.get_level_values("system")
    asked = votes.groupby("judge", sort=False).size()
    is_now = pd.DataFrame(
        {judge: [judge in judged_now[system] for system in systems] for judge in asked.index},
        index=wide.index,
    )
    known, now = wide.notna(), wide.where(is_now[wide.columns])
    by_now, tied = now.count(axis="columns"), now.mean(axis="columns").eq(0.5)
    repeats = repeated_judges(asked.index)
    lines = []
    for judge, number in zip(map(str, asked.index), asked, strict=True):
        own, mine = known[judge], is_now[judge]
        again = repeats.get(judge)
        others = [again] if again else [one for one in wide if one != judge and one not in repeats]
        pairs = [(wide[judge] == wide[one])[own & known[one]] for one in others]
        same = pd.concat(pairs) if pairs else pd.Series(dtype=float)
        lines.append(
            {
                "judge": judge,
                "now": bool(mine.any()),
                "verdicts": number,
                "decided": int(own.sum()),
                "open": number - int(own.sum()),
                "passed": wide[judge].mean(),
                "of": int((by_now.gt(0) & ~tied).sum()),
                "ties": int(tied.sum()),
                "alone": int((own & mine & by_now.eq(1)).sum()),
                "both": len(same),
                "same": same.mean() if len(same) else float("nan"),
            }
        )
    return pd.DataFrame(lines)


def _judged_table(data: ChapterData) -> Table:
    votes = votes_by_judge(data)
    role = votes["now"].map({True: "in the figures", False: "earlier"})
    repeats = repeated_judges(votes["judge"])
    role = role.mask(votes["judge"].isin(repeats), "the same judge, earlier")
    columns = (
        Column("judge", "Judge", "text"),
        Column("role", "Status", "text"),
        Column("verdicts", "Asked for", "count", "Verdicts"),
        Column("decided", "Decided", "count", "Verdicts"),
        Column("open", "Open", "count", "Verdicts"),
        Column("alone", "Decided alone", "count", "Verdicts"),
        Column("passed", "Passed, %", "share", "Of those decided"),
        Column("both", "Also by another", "count", "Of those decided"),
        Column("same", "Same verdict, %", "share", "Of those decided"),
    )
    caption = (
        "The verdicts of each judge. Where a judge decided alone, no other judge in the figures "
        "did, and its verdict is the panel's. If judges disagree, the verdict of more than half of "
        "those that decided counts. Without a majority, as when two disagree, the panel's is left "
        "open. A judge asked again is compared with itself: this shows its stability, not whether "
        "two judges agree."
    )
    return Table("judges", "Who judged", caption, columns, votes.assign(role=role))


def _panels(verdicts: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the verdicts of each panel, by its members; each set of judges is a separate panel."""
    by_system = verdicts.groupby("system", sort=False)["judge"]
    members = by_system.agg(lambda judges: listed(sorted(set(judges))))
    of = verdicts["system"].map(members)
    return {names: verdicts[of.eq(names)] for names in dict.fromkeys(members)}
