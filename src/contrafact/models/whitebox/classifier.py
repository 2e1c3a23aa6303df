"""Models that tell in one forward pass whether a statement holds of a text.

Any encoder or causal model becomes one: transformers' sequence classification with two outputs,
"false" and "true". What it says is their difference, a *logit*; over a temperature it is the
log-odds of "true". The output layer of a causal model may begin as the rows of its own output layer
for two answer tokens, so that before any training it is what the model would have answered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.models.gguf import plain_name
from contrafact.models.whitebox.conversion import first_line, quietly
from contrafact.models.whitebox.weights import (
    WEIGHTS_HINT,
    Precision,
    check_packages,
    check_precision,
    context_of,
    load_causal,
    loading_options,
    locate_weights,
    placed_device,
    text_start,
)

if TYPE_CHECKING:
    import torch

__all__ = [
    "ANSWERS",
    "Classifier",
    "Head",
    "load_classifier",
    "new_classifier",
    "shared_classifier",
]

Head = Literal["new", "answers"]
"""How an output layer begins: at random, or as the rows of two answer tokens."""

ANSWERS = (" false", " true")
"""The tokens that an output layer of answers begins as."""
_BATCH = 32


@dataclass(frozen=True, eq=False)
class Classifier:
    """A model with two outputs, ready to score.

    Attributes:
        name: What it was loaded by.
        model: The transformers model, in evaluation mode.
        tokenizer: Its tokenizer.
        device: Where it is.
        context: The most tokens it reads at once.
        paired: Whether it is an encoder, which reads two texts as a pair.
    """

    name: str
    model: Any
    tokenizer: Any
    device: "torch.device"
    context: int
    paired: bool

    def tokens(self, statement: str, text: str) -> dict[str, list[int]]:
        """Return what the model reads of a statement and the text that it is about."""
        if self.paired:
            return dict(self.tokenizer(statement, text, verbose=False))
        asked = f"Text:\n{text}\n\nStatement about the text: {statement}\nThe statement is"
        return dict(self.tokenizer(asked, verbose=False))

    def logits(
        self, inputs: Sequence[dict[str, list[int]]], step: Callable[[int], None] = lambda n: None
    ) -> NDArray[np.float64]:
        """Return the logit of "true" for each input, as `tokens` makes them.

        Args:
            inputs: The inputs; none is longer than ``context``.
            step: Called after each batch with the number of inputs in it.
        """
        import torch

        found = np.zeros(len(inputs))
        order = sorted(range(len(inputs)), key=lambda place: len(inputs[place]["input_ids"]))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            fed = self.padded([inputs[place] for place in places])
            with torch.inference_mode():
                out = self.model(**{name: one.to(self.device) for name, one in fed.items()}).logits
            found[places] = (out[:, 1] - out[:, 0]).double().cpu().numpy()
            step(len(places))
        return found

    def padded(self, inputs: Sequence[dict[str, list[int]]]) -> "dict[str, torch.Tensor]":
        """Return inputs as one batch."""
        import torch

        width = max(len(one["input_ids"]) for one in inputs)
        fill = {"input_ids": self.model.config.pad_token_id}
        return {
            name: torch.tensor(
                [one[name] + [fill.get(name, 0)] * (width - len(one[name])) for one in inputs]
            )
            for name in inputs[0]
        }


def new_classifier(
    name: str, *, head: Head = "new", precision: Precision = "float32", seed: int = 0
) -> Classifier:
    """Make a classifier of a model's weights; what it says is worth nothing before training.

    Args:
        name: As `load_causal` takes it; an encoder's folder or name on the hub is taken too.
        head: How the output layer begins.
        precision: How the weights are kept.
        seed: Seed of an output layer at random.

    Raises:
        InputError: The model cannot be loaded, or has no answer tokens to begin with.
    """
    import torch

    torch.manual_seed(seed)
    found = _loaded(name, precision)
    if head == "answers":
        _begin_as_answers(found, precision)
    return found


def load_classifier(folder: Path | str, *, precision: Precision = "float32") -> Classifier:
    """Load a classifier that was trained and saved.

    Args:
        folder: Its folder.
        precision: How the weights are kept.

    Raises:
        InputError: It cannot be loaded.
    """
    return _loaded(str(folder), precision)


@lru_cache(maxsize=2)
def shared_classifier(folder: Path) -> Classifier:
    """Return a trained classifier, loaded once in this process. Blocking.

    Raises:
        InputError: It cannot be loaded.
    """
    return load_classifier(folder)


def _loaded(name: str, precision: Precision) -> Classifier:
    check_packages()
    check_precision(precision)
    device = placed_device(None)
    name = plain_name(name)
    where = locate_weights(name, None)
    source = name if where is None else str(where)
    options = loading_options(precision, device)
    options |= {"local_files_only": where is not None, "num_labels": 2}
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    with quietly():
        try:
            tokenizer = AutoTokenizer.from_pretrained(
                source, local_files_only=options["local_files_only"]
            )
            model = AutoModelForSequenceClassification.from_pretrained(source, **options)
        except Exception as error:
            raise InputError(
                f"no classifier can be made of {name} ({first_line(error)})", hint=WEIGHTS_HINT
            ) from error
    if model.config.pad_token_id is None:
        start = text_start(tokenizer)
        model.config.pad_token_id = 0 if start is None else start
    return Classifier(
        name=name,
        model=model.eval() if precision == "4bit" else model.eval().to(device),
        tokenizer=tokenizer,
        device=device,
        context=context_of(model, tokenizer),
        paired=model.config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )


def _begin_as_answers(classifier: Classifier, precision: Precision) -> None:
    """Set the output layer to what the model's own says of two answer tokens."""
    import torch

    name = classifier.name
    if classifier.paired or not hasattr(classifier.model, "score"):
        raise InputError(f"{name} writes no answer tokens", hint="set head: new")
    ids = [classifier.tokenizer(one, add_special_tokens=False)["input_ids"] for one in ANSWERS]
    if ids[0][0] == ids[1][0]:
        raise InputError(f"{name} begins both answers with one token", hint="set head: new")
    rows = load_causal(name, precision=precision).model.get_output_embeddings().weight
    with torch.no_grad():
        score = classifier.model.score.weight
        score.copy_(rows[[ids[0][0], ids[1][0]]].to(score.device, score.dtype))
