"""The paper's rows set below a report's own, marked, and blanked where they cannot be compared."""

from dataclasses import replace

import pandas as pd

from contrafact.families.finforce.derived import change
from contrafact.families.finforce.published import (
    PublishedScope,
    published_changes,
    published_facts,
    published_rows,
)
from contrafact.records import CRITERIA, SIDES
from contrafact.report.finforce.comparable import Comparability
from contrafact.report.table import PUBLISHED, Table

__all__ = ["with_published_changes", "with_published_scope", "with_published_sides"]

_SCOPE_OF: dict[str, PublishedScope] = {
    "overall": "overall",
    "risk": "risk",
    "opportunity": "opportunity",
}


def with_published_scope(table: Table, able: Comparability) -> Table:
    """Return an overall, risk or opportunity table with the rows of table 2, 14 or 15 below."""
    scope = _SCOPE_OF[table.key]
    rows = published_rows(scope)
    frame = pd.DataFrame({"system": rows["system"], "headlines": published_facts().headlines})
    if able.paper_fluency:
        frame[["perplexity", "delta_perplexity"]] = rows[["perplexity", "delta_perplexity"]]
    for measure in (*CRITERIA, "average"):
        frame[f"{measure}_valid"] = rows[measure] / 100
    return _below(table, frame, scope, able)


def with_published_sides(table: Table) -> Table:
    """Return the risk-against-opportunity table with the paper's (figure 2) below."""
    sides = {side: published_rows(_SCOPE_OF[side]) for side in SIDES}
    frame = pd.DataFrame({"system": sides["risk"]["system"]})
    for criterion in CRITERIA:
        shares = {side: sides[side][criterion] / 100 for side in SIDES}
        for side in SIDES:
            frame[f"{criterion}_valid_{side}"] = shares[side]
        frame[f"{criterion}_valid_risk_opportunity"] = change(shares["risk"], shares["opportunity"])
    label = _label("tables 14 and 15")
    return _joined(table, frame, label, ())


def with_published_changes(table: Table, able: Comparability) -> Table:
    """Return the few-shot change table with figure 3 below."""
    rows = published_changes()
    frame = pd.DataFrame({"model": rows["model"], "draws": published_facts().draws})
    if able.paper_fluency:
        frame["perplexity"] = rows["perplexity"]
    for criterion in CRITERIA:
        frame[f"{criterion}_valid"] = rows[criterion] / 100
    return _below(table, frame, "changes", able)


def _below(table: Table, frame: pd.DataFrame, where: str, able: Comparability) -> Table:
    return _joined(table, frame, _label(published_facts().tables[where]), _notes(able))


def _label(where: str) -> str:
    facts = published_facts()
    return (
        f"Published · {facts.paper}, {where} · judge {facts.judge} · "
        f"fluency {facts.fluency_model} · {facts.headlines:,} headlines"
    )


def _notes(able: Comparability) -> tuple[str, ...]:
    facts = published_facts()
    if not able.scored:
        return ()
    if not able.paper_fluency:
        ours = ", ".join(able.fluency_models) or "another model"
        return (
            f"The published perplexities are left blank: they are {facts.fluency_model}'s, and "
            f"these runs were scored by {ours}. Perplexities of different models do not compare.",
        )
    return (
        f"The paper scored fluency with {facts.fluency_model} and found a mean of "
        f"{facts.headline_perplexity} over its headlines; its appendix B.3 gives that model 1.5 "
        "billion parameters, which the model named gpt2 does not have. Compare the headlines' "
        "mean perplexity first.",
    )


def _joined(table: Table, frame: pd.DataFrame, label: str, notes: tuple[str, ...]) -> Table:
    """Return the table with the published lines, of which it shows only its own columns."""
    shown = [column.key for column in table.columns if column.key in frame.columns]
    names = {"system", "model", "headlines", "draws"}
    if names.issuperset(shown):
        return table  # without a judge or the paper's fluency model there is nothing to set beside
    added = frame[shown].assign(source=PUBLISHED)
    joined = pd.concat([table.frame, added.astype(object)], ignore_index=True)
    for column in table.columns:
        if column.kind != "text":
            joined[column.key] = pd.to_numeric(joined[column.key])
    said = (
        "Published rows are as printed, without intervals: another judge on other headlines. "
        "They are context, not a comparison, and take no part in the marks."
    )
    return replace(table, frame=joined, published_label=label, notes=(*table.notes, *notes, said))
