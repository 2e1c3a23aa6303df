"""Supervised learning of a LoRA adapter on answers, each met once, in pieces that go on.

The rate falls along the planned total of answers, and the optimizer's state stays with the adapter:
so pieces take the steps of a training in one piece.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.models.gguf import ADAPTER_FILE, plain_name, shipped_adapter
from contrafact.models.whitebox.weights import CausalModel, adapter_parts, write_adapter
from contrafact.training.config import EditConfig
from contrafact.training.context import read_json
from contrafact.training.trainers import Loss, Steps, TokenizedExample, lora_config

if TYPE_CHECKING:
    import torch

MET = "met.json"
"""In an adapter's folder: the pieces of its training, and the fingerprints of their stories."""
_STATE, _WEIGHTS = "state.pt", "adapter_model.safetensors"
_WARM_UP = 16  # steps of a new optimizer
_HINT = "name the folder of an adapter that train edit wrote, or one that ships"


@dataclass(frozen=True)
class Begun:
    """An adapter to go on from, or none: its folder, and the pieces and stories it has met."""

    folder: Path | None = None
    pieces: tuple[Mapping[str, Any], ...] = ()
    stories: frozenset[str] = frozenset()

    @property
    def answers(self) -> int:
        return sum(piece["answers"] for piece in self.pieces)


def begun_from(config: EditConfig) -> Begun:
    """Return the adapter that a config goes on from; an `InputError` if it does not fit."""
    if config.begin is None:
        return Begun()
    folder, lora = shipped_adapter(config.begin) or Path(config.begin).expanduser(), config.lora
    if not (folder / "adapter_config.json").is_file():
        raise InputError("is not an adapter's folder", file=folder, hint=_HINT)
    try:
        stated = read_json(folder / "adapter_config.json")
        base = plain_name(stated["base_model_name_or_path"])
        sizes = stated["r"], stated["lora_alpha"]
        met = read_json(folder / MET) if (folder / MET).is_file() else {"pieces": []}
        begun = Begun(folder, tuple(met["pieces"]), frozenset(met.get("stories", ())))
        ends = begun.answers + config.supervised.examples
    except (AttributeError, KeyError, TypeError):
        raise InputError("does not say what it has learned", file=folder, hint=_HINT) from None
    problem = None
    if base != config.model:
        problem = f"is an adapter of {base}, not of {config.model}"
    elif sizes != (lora.r, lora.alpha):
        problem = f"has rank and alpha {sizes}; the config has {(lora.r, lora.alpha)}"
    elif not any((folder / name).is_file() for name in (_WEIGHTS, ADAPTER_FILE)):
        problem = f"has no weights ({_WEIGHTS} or {ADAPTER_FILE})"
    elif ends > (config.supervised.total or ends):
        problem = f"ends at {ends:,} answers with this piece; total is {config.supervised.total:,}"
    if problem:
        raise InputError(problem, file=folder, hint="change the config, or name another adapter")
    return begun


def teach(
    causal: CausalModel,
    train: Sequence[TokenizedExample],
    validation: Sequence[TokenizedExample],
    config: EditConfig,
    folder: Path,
    begun: Begun,
    steps: Steps,
) -> list[Loss]:
    """Teach an adapter the answers in their order, going on from the state in the folder, if any.

    The losses are returned; the model's weights are changed. An `InputError` if the adapter to go
    on from has other layers, or the loss is not a number.
    """
    import torch

    learning = config.supervised
    adapted, learned = _adapted(causal, config, begun)
    optimizer = torch.optim.AdamW(learned.values(), weight_decay=0.0, fused=True)
    size, losses, done, old = learning.effective_batch, list[Loss](), 0, 0
    for kept in (folder / _STATE, (begun.folder or folder) / _STATE):
        if kept.is_file():
            state = torch.load(kept, weights_only=True, map_location=causal.device)
            optimizer.load_state_dict(state["optimizer"])
            old = state["old"]
            if kept.parent == folder:
                done, losses = state["done"], state["losses"]
                _set(learned, state["weights"], folder)
            break
    first, last = begun.answers // size, math.ceil(len(train) / size)
    total = math.ceil((learning.total or begun.answers + len(train)) / size)

    def measure() -> None:
        losses.append({"eval_loss": _step(adapted, validation, config), "step": first + done})
        state = {"done": done, "old": old, "losses": losses, "optimizer": optimizer.state_dict()}
        state["weights"] = {name: one.data for name, one in learned.items()}
        torch.save(state, folder / "state.part")
        (folder / "state.part").replace(folder / _STATE)

    if not losses:
        measure()
    while done < last:
        high, low = learning.learning_rate, learning.final_learning_rate
        rate = low + (high - low) * (1 + math.cos(math.pi * (first + done) / total)) / 2
        rate *= min(1.0, (old + 1) / max(1, min(_WARM_UP, total // 10)))
        optimizer.param_groups[0]["lr"] = rate
        torch.manual_seed(config.seed + first + done)  # of dropout, the same in pieces
        loss = _step(adapted, train[done * size : (done + 1) * size], config, learns=True)
        torch.nn.utils.clip_grad_norm_(learned.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        done, old = done + 1, old + 1
        losses.append({"loss": loss, "learning_rate": rate, "step": first + done})
        if not math.isfinite(loss):
            hint = "lower learning_rate, or check the weights and the data"
            raise InputError(f"the loss is not a number at step {first + done}", hint=hint)
        if done % learning.evaluate_every == 0 or done == last:
            measure()
        steps(done, last)
    adapted.peft_config["default"].base_model_name_or_path = config.model
    adapted.save_pretrained(folder, save_embedding_layers=False)
    write_adapter(folder, adapted.config)
    causal.tokenizer.save_pretrained(folder)
    return losses


def summed_loss(
    model: Any, batch: Sequence[TokenizedExample], *, shared: bool = True
) -> "torch.Tensor":
    """Return the negative log-likelihood of the answers of a batch, in nats.

    What all prompts begin with is computed once, with its gradient, unless ``shared`` is False, and
    logits only from where the first answer begins.
    """
    import torch

    columns = zip(*(one.prompt[:-1] for one in batch), strict=False)
    same = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    begin = same if shared and len(batch) > 1 else 0
    width = max(len(one.prompt) + len(one.chosen) for one in batch) - begin
    # The fill stands after a row, where nothing of the row can see it.
    tokens = torch.zeros(len(batch), width, dtype=torch.long)
    wanted = torch.full_like(tokens, -100)
    for row, labels, one in zip(tokens, wanted, batch, strict=True):
        asked, end = len(one.prompt) - begin, len(one.prompt) + len(one.chosen) - begin
        row[:end] = torch.tensor([*one.prompt[begin:], *one.chosen])
        labels[asked:end] = row[asked:end]
    past = None
    if begin:
        head = torch.tensor([batch[0].prompt[:begin]], device=model.device)
        past = model(input_ids=head, use_cache=True, logits_to_keep=1).past_key_values
        past.batch_repeat_interleave(len(batch))
    answers = width + begin - min(len(one.prompt) for one in batch)
    logits = model(
        input_ids=tokens.to(model.device),
        past_key_values=past,
        use_cache=past is not None,
        logits_to_keep=answers + 1,
    ).logits[:, :-1]
    wanted = wanted[:, -answers:].to(model.device)
    kept = wanted != -100
    return torch.nn.functional.cross_entropy(logits[kept].float(), wanted[kept], reduction="sum")


def _step(
    model: Any, examples: Sequence[TokenizedExample], config: EditConfig, *, learns: bool = False
) -> float:
    """Return the mean loss of a token, whose gradient is added if the model ``learns``."""
    import torch
    from peft.helpers import disable_input_dtype_casting

    model.train(learns)
    size, tokens, total = config.supervised.batch, sum(len(one.chosen) for one in examples), 0.0
    for start in range(0, len(examples), size):
        lower = config.precision == "bfloat16"  # peft would make each input float32, and back
        with (
            torch.set_grad_enabled(learns),
            torch.autocast(model.device.type, torch.bfloat16, enabled=lower),
            disable_input_dtype_casting(model, lower),
        ):
            batch, shared = examples[start : start + size], not (learns and config.save_memory)
            loss: Any = summed_loss(model, batch, shared=shared) / tokens
        if learns:
            loss.backward()
        total += float(loss.detach())
    return total


def _adapted(causal: CausalModel, config: EditConfig, begun: Begun) -> tuple[Any, dict[str, Any]]:
    """Return the model with its adapter, and the adapter's weights by name."""
    import torch
    from peft import get_peft_model
    from safetensors.torch import load_file

    torch.manual_seed(config.seed)
    model = causal.model
    if config.precision == "bfloat16" and config.weights == "float32":
        for one in model.parameters():  # once, and not in every step
            one.data = one.data.to(torch.bfloat16)
    if causal.device.type == "cpu":
        model.set_attn_implementation("eager")  # its gradient takes half the time there
    adapted = get_peft_model(model, lora_config(config.lora))
    if config.save_memory:
        adapted.enable_input_require_grads()
        adapted.gradient_checkpointing_enable()
    learned = {name: one for name, one in adapted.named_parameters() if one.requires_grad}
    if begun.folder is not None and (begun.folder / _WEIGHTS).is_file():
        weights = load_file(begun.folder / _WEIGHTS)
        names = {name: name.replace(".weight", ".default.weight") for name in weights}
        _set(learned, {names[name]: weights[name] for name in names}, begun.folder)
    elif begun.folder is not None:
        places = {layer: name for name, layer in adapted.named_modules()}
        weights = {
            f"{places[layer]}.lora_{side}.default.weight": values
            for layer, *parts in adapter_parts(adapted, begun.folder / ADAPTER_FILE)
            for side, values in zip("AB", parts, strict=True)
        }
        _set(learned, weights, begun.folder)
    return adapted, learned


def _set(learned: Mapping[str, Any], weights: Mapping[str, Any], folder: Path) -> None:
    if any(name not in weights or weights[name].shape != learned[name].shape for name in learned):
        hint = "set lora: {targets: …} as the adapter has them"
        raise InputError("has other layers than the config", file=folder, hint=hint)
    for name, one in learned.items():
        one.data.copy_(weights[name])
