"""The tone of texts by a classifier in a local folder, such as FinBERT."""

from collections.abc import Callable, Sequence
from pathlib import Path

from contrafact.errors import InputError

__all__ = ["Polarity", "load_polarity_model"]

Polarity = Callable[[Sequence[str]], list[float]]
"""A function that returns the tone of each text, from -1 (negative) to 1 (positive)."""

_HINT = "name a folder that transformers saved, such as FinBERT's"
_SIGNS = {"positive": 1.0, "negative": -1.0, "neutral": 0.0}


def load_polarity_model(folder: str | Path) -> Polarity:
    """Load a classifier from a local folder, and return a function that gives texts their tone.

    The tone is the probability of ``positive`` minus that of ``negative``.

    Raises:
        InputError: There is no such folder, it holds no such model, or transformers is missing.
    """
    path = Path(folder)
    if not (path / "config.json").is_file():
        raise InputError("holds no model", file=path, hint=_HINT)
    from contrafact.models.whitebox.weights import quietly

    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise InputError(
            "a polarity model needs PyTorch and transformers",
            hint="install contrafact with its extra 'whitebox'",
        ) from error
    try:
        with quietly():
            tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
            model, found = AutoModelForSequenceClassification.from_pretrained(
                path, local_files_only=True, output_loading_info=True
            )
    except Exception as error:  # the libraries raise all kinds of errors for invalid weights
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
        raise InputError(
            f"no classifier can be loaded from it ({reason})", file=path, hint=_HINT
        ) from error
    if missing := sorted(found["missing_keys"]):
        raise InputError(f"holds no classifier: it lacks {missing[0]}", file=path, hint=_HINT)
    labels = [str(model.config.id2label[i]).casefold() for i in range(model.config.num_labels)]
    if not {"positive", "negative"} <= set(labels):
        raise InputError(
            f"has the labels {', '.join(labels)}",
            file=path,
            hint="use a classifier of positive and negative tone",
        )
    weights = torch.tensor([_SIGNS.get(label, 0.0) for label in labels])
    model.eval()

    def tones(texts: Sequence[str]) -> list[float]:
        inputs = tokenizer(
            list(texts), padding=True, truncation=True, max_length=512, return_tensors="pt"
        )
        with torch.inference_mode():
            shares = model(**inputs).logits.softmax(-1)
        return [float(tone) for tone in shares @ weights]

    return tones
