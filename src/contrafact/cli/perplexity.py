"""``contrafact perplexity``: how surprised a model is by each text of a table."""

from typing import Any

import typer

from contrafact.options import Options, argument, bulk_options, option, takes

__all__ = ["perplexity"]


class _Options(Options):
    file: str = argument("FILE", "Texts: CSV, Excel, JSON(L) or Parquet.")
    out: str = option("The rows with their perplexity.", metavar="FILE")
    model: str = option(
        "What scores: smollm2-135m, a folder, a GGUF file, or a hub's name.",
        "smollm2-135m",
        metavar="M",
    )
    column: str = option("The column of the texts.", "text", metavar="NAME")


@bulk_options(rates=False)
@takes(_Options)
def perplexity(options: _Options, bulk: dict[str, Any] | None = None) -> None:
    """Add the perplexity of each row's text under a causal model (FIN-FORCE, appendix B.3).

    Rows get perplexity and tokens; a text without tokens has none, and says why in
    perplexity_reason.

    Example: contrafact perplexity scenarios.csv --column risk_counterfactual --out scored.csv
    """
    from importlib.util import find_spec

    from contrafact.errors import InputError

    if find_spec("torch") is None or find_spec("transformers") is None:
        raise InputError("perplexity needs PyTorch", hint="pip install 'contrafact[whitebox]'")
    from contrafact.bulk.perplexity import PerplexityStage, scored_rows
    from contrafact.files.atomic import guard_output
    from contrafact.files.tables import TABLE_SUFFIXES, open_table, source_name, write_frame

    file, out, column = options.file, options.out, options.column
    if bulk is not None:
        from contrafact.bulk.run import bulk_command

        result = bulk_command(PerplexityStage(options.model, column), file, out, bulk, noun="texts")
        result.end()
        return
    from pathlib import Path

    import pandas as pd

    from contrafact.models.whitebox.weights import load_causal

    guard_output(out, file)
    if Path(out).suffix.lower() not in TABLE_SUFFIXES:
        hint = f"name it {', '.join(TABLE_SUFFIXES)}"
        raise InputError("the result is not written in that format", file=out, hint=hint)
    table = open_table(file, decimals=False)
    rows = list(table.rows)
    for line, row in rows:
        if not isinstance(row.get(column), str):
            problem = f"no text in the column '{column}' (found: {', '.join(list(row)[:8])})"
            raise InputError(problem, file=source_name(file), line=line, hint="name it by --column")
    found = scored_rows([row for _, row in rows], column, load_causal(options.model))
    write_frame(pd.DataFrame(found), out, table.dialect)
    typer.echo(f"{out}: {len(found):,} texts scored by {options.model}")
