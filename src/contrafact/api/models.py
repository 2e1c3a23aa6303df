"""Functions that need a model's weights: perplexity and counterfactual texts."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field

from contrafact.api.operation import Operation
from contrafact.api.results import Result
from contrafact.api.tables import Count, Seed, TableData, as_given, frame_of
from contrafact.errors import InputError


@Operation
def perplexity(
    data: TableData, *, model: str = "smollm2-135m", column: str = "text"
) -> Result[Any]:
    """Score texts for fluency: their perplexity under a causal model.

    Args:
        data: A text, a list of texts, or a data frame or list of dicts with a column of texts.
        model: ``smollm2-135m``, a folder, a GGUF file, or a name on the hub.
        column: The column that holds the texts.

    Returns:
        ``items``: the data with added columns ``perplexity`` (at least 1), ``tokens`` and
        ``windowed``. ``scores``: mean, median and n over the texts that have a perplexity.

    Raises:
        InputError: There is no such column, or the model is not available.
    """
    from contrafact.models.whitebox.perplexity import perplexities

    data = [data] if isinstance(data, str) else data
    frame = frame_of(data, text=column)
    if column not in frame.columns:
        found = ", ".join(map(str, frame.columns[:8]))
        raise InputError(f"no column '{column}' (found: {found})", hint="name it with column=")
    texts = ["" if pd.isna(text) else str(text) for text in frame[column]]
    made = perplexities(texts, model=model)
    columns = {name: [getattr(text, name) for text in made]
               for name in ("perplexity", "tokens", "windowed")}  # fmt: skip
    items = frame.reset_index(drop=True).assign(**columns)
    scored = items["perplexity"].dropna()
    figures = {"mean": scored.mean(), "median": scored.median(), "n": float(len(scored))}
    scores = pd.DataFrame({"measure": [*figures], "value": [*figures.values()]})
    without = [text.reason for text in made if text.reason]
    notes = (f"{len(without)} texts have no perplexity: {without[0]}",) if without else ()
    items = as_given(data, items, rows=True)
    return Result(f"perplexity under {model}", items, scores, notes)


@Operation
def whatif(
    *,
    model: str,
    factual_prompt: str,
    text: str | None = None,
    counterfactual_prompt: str | None = None,
    counterfactual_model: str | None = None,
    noise: Literal["shared", "fresh"] = "shared",
    temperature: Annotated[float, Field(gt=0)] = 1.0,
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0,
    samples: Count = 1,
    max_tokens: Count = 128,
    seed: Seed = 0,
    chat: bool | None = None,
) -> Result[pd.DataFrame]:
    """Return what a model would have written with the same noise, as ``contrafact whatif`` does.

    Args:
        model: The model that wrote the text: ``smollm2-135m``, a folder, a GGUF file, or a name on
            the hub.
        factual_prompt: The prompt that the text was written under.
        text: The whole text; if None, the model writes one.
        counterfactual_prompt: The prompt to write under instead.
        counterfactual_model: The model to write with instead, same tokenizer.
        noise: Whether to keep the noise, or to draw it anew for comparison.
        temperature: Sampling temperature for both texts.
        top_p: Nucleus for both texts.
        samples: How many counterfactuals, each with its own noise.
        max_tokens: The most tokens of each.
        seed: Seed of the noise.
        chat: Whether prompts are messages; by default, if the model supports it.

    Returns:
        ``items``: ``factual``, ``counterfactual`` and ``ended``, one row per sample. ``scores``:
        the number of samples, and of samples that ended before the token limit.

    Raises:
        InputError: No change is given, the text is empty or cannot have been sampled, or a model
            is not available.
    """
    from contrafact.models.whitebox.noise import Sampling, counterfactual_texts

    made = counterfactual_texts(
        model,
        factual_prompt,
        counterfactual_prompt,
        text=text,
        other=counterfactual_model,
        held=noise == "shared",
        sampling=Sampling(temperature, top_p),
        samples=samples,
        max_tokens=max_tokens,
        seed=seed,
        chat=chat,
    )
    items = pd.DataFrame([asdict(text) for text in made])
    scores = pd.DataFrame([{"samples": len(items), "ended": int(items["ended"].sum())}])
    return Result(f"what {counterfactual_model or model} would have written", items, scores)
