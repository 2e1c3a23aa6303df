"""The tone of a sentiment rewrite by a classifier: the paper's check by FinBERT.

RFC-BENCH, section 2.2.2. Without such a model nothing here looks at tone: whether good news stayed
good is a question of meaning, and left to a judge.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from contrafact.errors import InputError
from contrafact.families.rfc.contracts.pair import Pair, Polarity
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule

__all__ = ["load_polarity_model", "tone_kept"]


@rule(
    "tone-reversed",
    "tone-weaker",
    about="tone",
    paper="2.2.2; R.3",
    manipulations=("sentiment",),
    to_review="a tone that the model finds weaker",
)
def tone_kept(
    pair: Pair,
    *,
    clear: Annotated[float, "ours: a tone from -1 to 1 that a model is sure of"] = 0.2,
    weaker: Annotated[float, "ours: by how much a model finds it weaker"] = 0.1,
) -> Iterator[Finding]:
    """Good news stays good, and bad bad, by the model of ``--polarity-model``; nothing is said
    without one.
    """
    if pair.polarity is None:
        return
    before, after = pair.polarity([pair.original.text, pair.rewritten.text])
    message = f"the tone went from {before:+.2f} to {after:+.2f} by the polarity model"
    if before * after < 0 and min(abs(before), abs(after)) >= clear:
        yield fail("tone-reversed", message)
    elif abs(after) < abs(before) - weaker:
        yield review("tone-weaker", message)


_HINT = "name a folder that transformers saved, such as FinBERT's"
_SIGNS = {"positive": 1.0, "negative": -1.0, "neutral": 0.0}


def load_polarity_model(folder: str | Path) -> Polarity:
    """Return a function that gives each text its tone, from -1 to 1, by a classifier.

    The tone is the probability of ``positive`` less that of ``negative``. No network is used.

    Args:
        folder: A sequence classifier with its tokenizer, as transformers saves them, with the
            labels positive, negative and neutral.

    Raises:
        InputError: There is no such folder, it holds no such model, or transformers is missing.
    """
    path = Path(folder)
    if not (path / "config.json").is_file():
        raise InputError("holds no model", file=path, hint=_HINT)
    from contrafact.models.whitebox.conversion import quietly

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
    except Exception as error:  # whatever the libraries say of weights that are none
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
