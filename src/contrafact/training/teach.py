"""Supervised learning of a LoRA adapter on answers, each met once, in pieces that go on.

The rate falls along the planned total of answers, and the optimizer's state is kept with the
adapter: so a training in pieces takes the steps of one in one piece. What the sequences of a batch
begin with is computed once for all of them, and logits only from where the answers begin.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem
from contrafact.models.gguf import ADAPTER_FILE, plain_name, shipped_adapter
from contrafact.models.whitebox.weights import CausalModel, adapter_parts, quietly, write_adapter
from contrafact.training.config import EditConfig
from contrafact.training.context import read_json
from contrafact.training.trainers import Loss, Steps, TokenizedExample, lora_config

if TYPE_CHECKING:
    import torch

__all__ = ["Begun", "begun_from", "summed_loss", "teach"]

MET = "met.json"
"""In an adapter's folder: the pieces of its training, and the fingerprints of their stories."""
_STATED, _WEIGHTS, _OPTIMIZER = "adapter_config.json", "adapter_model.safetensors", "optimizer.pt"
_WARM_UP = 16  # steps of a new optimizer
_LONGEST_GRADIENT = 1.0


@dataclass(frozen=True)
class Begun:
    """An adapter to go on from, or none: its folder, and the pieces and stories it has met."""

    folder: Path | None = None
    pieces: tuple[Mapping[str, Any], ...] = ()
    stories: frozenset[str] = frozenset()

    @property
    def answers(self) -> int:
        return sum(int(piece["answers"]) for piece in self.pieces)


def begun_from(config: EditConfig) -> Begun:
    """Return the adapter that a config goes on from; an `InputError` if it does not fit."""
    if config.begin is None:
        return Begun()
    folder = shipped_adapter(config.begin) or Path(config.begin).expanduser()
    path = folder / _STATED
    hint = "name the folder of an adapter that train edit wrote, or smollm2-135m-cobe"
    try:
        stated = json.loads(path.read_bytes())
        base, rank, alpha = (stated[k] for k in ("base_model_name_or_path", "r", "lora_alpha"))
    except FileNotFoundError:
        raise InputError("is not an adapter's folder", file=folder, hint=hint) from None
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error
    except (ValueError, KeyError, TypeError):
        raise InputError("does not describe an adapter", file=path, hint=hint) from None
    if plain_name(str(base)) != config.model:
        hint = f"use --model {base}, or another adapter"
        raise InputError(f"is an adapter of {base}, not of {config.model}", file=folder, hint=hint)
    if (rank, alpha) != (config.lora.r, config.lora.alpha):
        raise InputError(
            f"has rank {rank} and alpha {alpha}; the config has {config.lora.r} and "
            f"{config.lora.alpha}",
            file=folder,
            hint="set lora: {r: …, alpha: …} as the adapter has them",
        )
    if not any((folder / name).is_file() for name in (_WEIGHTS, ADAPTER_FILE)):
        raise InputError(f"has no weights ({_WEIGHTS} or {ADAPTER_FILE})", file=folder, hint=hint)
    if not (folder / MET).is_file():
        return Begun(folder)
    met = read_json(folder / MET)
    try:
        begun = Begun(folder, tuple(met["pieces"]), frozenset(met.get("stories", ())))
        planned = begun.answers + config.supervised.examples
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError("does not say what was met", file=folder / MET, hint=hint) from None
    if planned > (config.supervised.total or planned):
        raise InputError(
            f"supervised.total is {config.supervised.total:,}, and this piece ends at {planned:,} "
            "answers",
            hint="raise the total, or ask for fewer examples",
        )
    return begun


def teach(
    causal: CausalModel,
    train: Sequence[TokenizedExample],
    validation: Sequence[TokenizedExample],
    config: EditConfig,
    folder: Path,
    begun: Begun,
    steps: Steps = lambda done, total: None,
) -> list[Loss]:
    """Teach a new or begun adapter the answers in their order, and save it; return the losses.

    A killed training continues from the state in the folder. The model's weights are changed.

    Raises:
        InputError: The adapter to go on from has other layers, or the loss is not a number.
    """
    import torch

    learning, kept = config.supervised, folder / "state.pt"
    adapted, learned = _adapted(causal, config, begun)
    optimizer = torch.optim.AdamW(learned.values(), weight_decay=0.0, fused=True)
    size, losses, done, old = learning.effective_batch, [], 0, 0
    if kept.is_file():
        state = torch.load(kept, weights_only=True, map_location=causal.device)
        _set(learned, state["weights"], folder)
        done, old, losses = state["done"], state["old"], state["losses"]
        optimizer.load_state_dict(state["optimizer"])
    elif begun.folder is not None and (begun.folder / _OPTIMIZER).is_file():
        state = torch.load(begun.folder / _OPTIMIZER, weights_only=True, map_location=causal.device)
        old = state["old"]
        optimizer.load_state_dict(state["optimizer"])
    first, last = begun.answers // size, math.ceil(len(train) / size)
    total = math.ceil((learning.total or begun.answers + len(train)) / size)

    def measure() -> None:
        losses.append({"eval_loss": _mean_loss(adapted, validation, config), "step": first + done})
        state = {"done": done, "old": old, "losses": losses, "optimizer": optimizer.state_dict()}
        _save(kept, state | {"weights": {name: one.data for name, one in learned.items()}})

    if not losses:
        measure()
    while done < last:
        batch = train[done * size : (done + 1) * size]
        rate = _rate(config, first + done, total, old)
        for group in optimizer.param_groups:
            group["lr"] = rate
        torch.manual_seed(config.seed + first + done)  # of dropout, the same in pieces
        loss = _step(adapted, batch, config, optimizer, list(learned.values()))
        done, old = done + 1, old + 1
        losses.append({"loss": loss, "learning_rate": rate, "step": first + done})
        if not math.isfinite(loss):
            raise InputError(
                f"the loss is not a number at step {first + done}",
                hint="lower learning_rate, or check the weights and the data",
            )
        if done % learning.evaluate_every == 0 or done == last:
            measure()
        steps(done, last)
    _save(folder / _OPTIMIZER, {"old": old, "optimizer": optimizer.state_dict()})
    _save_adapter(adapted, folder, config.model)
    causal.tokenizer.save_pretrained(folder)
    kept.unlink()
    return losses


def summed_loss(
    model: Any, batch: Sequence[TokenizedExample], *, shared: bool = True
) -> "torch.Tensor":
    """Return the negative log-likelihood of the answers of a batch, in nats.

    What all prompts begin with is computed once, with its gradient, unless ``shared`` is False.
    """
    import torch

    columns = zip(*(one.prompt[:-1] for one in batch), strict=False)
    same = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    begin = same if shared and len(batch) > 1 else 0
    rows = [[*one.prompt[begin:], *one.chosen] for one in batch]
    width = max(map(len, rows))
    tokens = torch.zeros(len(rows), width, dtype=torch.long)
    wanted = torch.full_like(tokens, -100)
    for place, (row, one) in enumerate(zip(rows, batch, strict=True)):
        # The fill stands after a row, where nothing of the row can see it.
        tokens[place, : len(row)] = torch.tensor(row)
        wanted[place, len(row) - len(one.chosen) : len(row)] = torch.tensor(one.chosen)
    past = None
    if begin:
        head = torch.tensor([batch[0].prompt[:begin]], device=model.device)
        past = model(input_ids=head, use_cache=True, logits_to_keep=1).past_key_values
        past.batch_repeat_interleave(len(rows))
    answers = width - min(len(row) - len(one.chosen) for row, one in zip(rows, batch, strict=True))
    logits = model(
        input_ids=tokens.to(model.device),
        past_key_values=past,
        use_cache=past is not None,
        logits_to_keep=answers + 1,
    ).logits[:, :-1]
    labels = wanted[:, -answers:].to(model.device)
    asked = labels != -100
    return torch.nn.functional.cross_entropy(logits[asked].float(), labels[asked], reduction="sum")


@contextmanager
def _arithmetic(model: Any, config: EditConfig) -> Iterator[None]:
    import torch
    from peft.helpers import disable_input_dtype_casting

    if config.precision == "float32":
        yield
        return
    # peft would make each input float32 first, only for autocast to make it bfloat16 again.
    with torch.autocast(model.device.type, torch.bfloat16), disable_input_dtype_casting(model):
        yield


def _step(
    model: Any, examples: Sequence[TokenizedExample], config: EditConfig, optimizer: Any, all: Any
) -> float:
    """Take a step on some examples and return their mean loss of a token."""
    import torch

    model.train()
    size, tokens, total = config.supervised.batch, sum(len(one.chosen) for one in examples), 0.0
    for start in range(0, len(examples), size):
        with _arithmetic(model, config):
            batch = examples[start : start + size]
            loss = summed_loss(model, batch, shared=not config.save_memory) / tokens
        loss.backward()
        total += float(loss.detach())
    torch.nn.utils.clip_grad_norm_(all, _LONGEST_GRADIENT)
    optimizer.step()
    optimizer.zero_grad()
    return total


def _mean_loss(model: Any, examples: Sequence[TokenizedExample], config: EditConfig) -> float:
    import torch

    model.eval()
    size, total = config.supervised.batch, 0.0
    with torch.no_grad(), _arithmetic(model, config):
        for start in range(0, len(examples), size):
            total += float(summed_loss(model, examples[start : start + size]))
    return total / sum(len(one.chosen) for one in examples)


def _rate(config: EditConfig, step: int, total: int, old: int) -> float:
    """Return the rate at a step of all; ``old`` is how many steps the optimizer has taken."""
    high, low = config.supervised.learning_rate, config.supervised.final_learning_rate
    falling = low + (high - low) * (1 + math.cos(math.pi * step / total)) / 2
    return falling * min(1.0, (old + 1) / max(1, min(_WARM_UP, total // 10)))


def _adapted(
    causal: CausalModel, config: EditConfig, begun: Begun
) -> "tuple[Any, dict[str, torch.nn.Parameter]]":
    """Return the model with its adapter, and the adapter's weights by name."""
    import torch
    from peft import get_peft_model

    torch.manual_seed(config.seed)
    model = causal.model
    if config.precision == "bfloat16" and config.weights == "float32":
        for weights in model.parameters():  # once, and not in every step; buffers stay exact
            weights.data = weights.data.to(torch.bfloat16)
    if causal.device.type == "cpu":
        model.set_attn_implementation("eager")  # its gradient takes half the time there
    with quietly():
        adapted = get_peft_model(model, lora_config(config.lora))
    if config.save_memory:
        adapted.enable_input_require_grads()
        adapted.gradient_checkpointing_enable()
    learned = {name: one for name, one in adapted.named_parameters() if one.requires_grad}
    if begun.folder is not None:
        _set(learned, _begun_weights(adapted, begun.folder), begun.folder)
    return adapted, learned


def _begun_weights(adapted: Any, folder: Path) -> "dict[str, torch.Tensor]":
    if (folder / _WEIGHTS).is_file():
        from safetensors.torch import load_file

        weights = load_file(folder / _WEIGHTS)
        return {name.replace(".weight", ".default.weight"): weights[name] for name in weights}
    names = {layer: name for name, layer in adapted.named_modules()}
    return {
        f"{names[layer]}.lora_{side}.default.weight": values
        for layer, inner, outer in adapter_parts(adapted, folder / ADAPTER_FILE)
        for side, values in (("A", inner), ("B", outer))
    }


def _set(learned: Mapping[str, Any], weights: Mapping[str, Any], folder: Path) -> None:
    shapes = [
        {name: tuple(one.shape) for name, one in given.items()} for given in (learned, weights)
    ]
    if shapes[0] != shapes[1]:
        raise InputError(
            "adapts other layers than the config", file=folder, hint="set lora: {targets: …}"
        )
    for name, one in learned.items():
        one.data.copy_(weights[name])


def _save(path: Path, state: Mapping[str, Any]) -> None:
    import torch

    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)


def _save_adapter(adapted: Any, folder: Path, base: str) -> None:
    """Save an adapter with the name of its base model, for `load_causal`."""
    adapted.peft_config["default"].base_model_name_or_path = base
    adapted.save_pretrained(folder, save_embedding_layers=False)
    write_adapter(folder, adapted.config)
