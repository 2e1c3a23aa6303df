"""The published figures of FIN-FORCE: tables 2, 14 and 15, figure 3, and the agreement study.

They are data (``published/*.csv``, ``facts.json``), copied from the paper as printed. Shares are
percentages and perplexities are GPT-2's, as in the paper. A test checks that every average and
difference follows from the other columns, within rounding.
"""

from collections.abc import Sequence

import pandas as pd

from contrafact.families.finforce.records import CRITERIA, SIDES
from contrafact.family.display import Table, listed, with_published
from contrafact.family.published import published_facts, published_table
from contrafact.family.report import ChapterData

PAPER = "contrafact.families.finforce"
PAPER_FLUENCY = frozenset({"gpt2", "openai-community/gpt2"})
"""The names of the paper's fluency model: only its perplexities are comparable to the paper's."""


def paper_fluency(models: Sequence[str]) -> bool:
    """Return whether all perplexities come from the paper's fluency model."""
    if len(models) != 1:
        return False
    name = models[0]
    plain = name.removeprefix("hf/").rstrip("/").lower()
    return plain in PAPER_FLUENCY or ("/" in name and plain.rsplit("/", 1)[-1] == "gpt2")


def with_published_scope(data: ChapterData, table: Table) -> Table:
    """Return an overall, risk or opportunity table with the rows of table 2, 14 or 15 below."""
    facts, rows = published_facts(PAPER), published_table(PAPER, table.key)
    frame = pd.DataFrame({"system": rows["system"], "headlines": facts["headlines"]})
    if paper_fluency(data.meta.fluency_models):
        frame[["perplexity", "delta_perplexity"]] = rows[["perplexity", "delta_perplexity"]]
    for measure in (*CRITERIA, "average"):
        frame[f"{measure}_valid"] = rows[measure] / 100
    where = listed([facts["tables"][scope] for scope in ("overall", *SIDES)])
    return with_paper(table, frame, where, fluency_notes(data))


def fluency_notes(data: ChapterData) -> tuple[str, ...]:
    """Return notes on the paper's perplexities beside those of a report."""
    facts = published_facts(PAPER)
    if not data.scored:
        return ()
    if not paper_fluency(data.meta.fluency_models):
        ours = ", ".join(data.meta.fluency_models) or "another model"
        return (
            f"The published perplexities are left blank: they are {facts['fluency_model']}'s, and "
            f"{ours} scored these runs. Perplexities of different models are not comparable.",
        )
    return (
        f"The paper scored fluency with {facts['fluency_model']} and found a mean of "
        f"{facts['headline_perplexity']} over its headlines; its appendix B.3 gives that model 1.5 "
        "billion parameters, which the model named gpt2 does not have. Compare the headlines' "
        "mean perplexity first.",
    )


def with_paper(table: Table, rows: pd.DataFrame, where: str, notes: tuple[str, ...] = ()) -> Table:
    """Return a table with the paper's rows below, if they have a figure in any of its columns.

    ``where`` names the paper's tables; ``notes`` come before the usual note.
    """
    shown = {column.key for column in table.columns} & set(rows.columns)
    if shown <= {"system", "model", "headlines", "draws"}:
        return table  # without a judge or the paper's fluency model there is no figure to compare
    facts = published_facts(PAPER)
    label = (
        f"Published · FIN-FORCE, {where} · judge {facts['judge']} · "
        f"fluency {facts['fluency_model']} · {facts['headlines']:,} headlines"
    )
    context = (
        "Published rows are shown as printed, without intervals. Their judge and headlines differ: "
        "they are context, not a comparison, and never marked as best."
    )
    return with_published(table, rows, label, (*notes, context))
