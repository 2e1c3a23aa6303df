"""Fluency of a run's texts: perplexity under one causal model, each text scored only once."""

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from contrafact.errors import MissingPackageError, installed
from contrafact.files.tables import write_frame
from contrafact.models.gguf import SMOLLM2

if TYPE_CHECKING:
    from contrafact.models.whitebox.weights import CausalModel

__all__ = ["FLUENCY", "open_fluency", "score_fluency"]

FLUENCY = "fluency.parquet"
_CHUNK = 1_024


def open_fluency(model: str | None, *, named: bool = False) -> "Callable[[], CausalModel | None]":
    """Return a function that loads the scoring model.

    Without PyTorch it returns None, with a warning, unless the user has ``named`` the model.

    The embedded weights are loaded when they are first needed, since importing PyTorch takes long;
    any other model is loaded now, so that a missing one is reported before any model is called.

    Raises:
        InputError: if the model is not available.
    """
    if model is None:
        return lambda: None
    if not (installed("torch") and installed("transformers")):
        if named:
            raise MissingPackageError(
                f"perplexity by {model} needs PyTorch, which is not installed",
                hint="run: pip install 'contrafact[whitebox]', or give --fluency-model none",
            )
        print(
            "perplexity is left out: it needs PyTorch (pip install 'contrafact[whitebox]')",
            file=sys.stderr,
        )
        return lambda: None
    from contrafact.models.whitebox.weights import check_causal, load_causal

    if model == SMOLLM2:
        check_causal(model)
        return partial(load_causal, model)
    loaded = load_causal(model)
    return lambda: loaded


def score_fluency(
    texts: Iterable[str], scorer: "CausalModel | None", folder: Path
) -> dict[str, float]:
    """Return the perplexity of each distinct text; empty without a scoring model.

    Scores are written to the run folder after every chunk, so that a killed run does not compute
    them again.
    """
    import pandas as pd

    if scorer is None:
        return {}
    from contrafact.models.whitebox.perplexity import perplexities

    kept = folder / FLUENCY
    known: dict[str, float] = {}
    if kept.exists():
        frame = pd.read_parquet(kept)
        known = dict(zip(frame["text"], frame["perplexity"], strict=True))
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    for start in range(0, len(missing), _CHUNK):
        chunk = missing[start : start + _CHUNK]
        scored = perplexities(chunk, model=scorer)
        known |= {text: one.perplexity for text, one in zip(chunk, scored, strict=True)}
        write_frame(pd.DataFrame(known.items(), columns=["text", "perplexity"]), kept)
        print(f"perplexity: {start + len(chunk)}/{len(missing)} texts", file=sys.stderr)
        if windowed := sum(one.windowed for one in scored):
            print(
                f"perplexity: {windowed} of them are longer than the {scorer.context:,} tokens "
                f"that {scorer.name} reads at once, and were scored in overlapping windows",
                file=sys.stderr,
            )
    return known
