"""Learning with a LoRA adapter by peft: supervised, or from preferences (DPO), in one loop.

An editor's answers are met once, in order, in pieces that go on: the rate falls along the planned
total, and the optimizer's state stays with the adapter. In self-rewarding training, examples are
met in shuffled passes, which stop early, and the best adapter is merged into the model. With equal
config, seed and number of threads, a CPU gives equal losses, also if it was killed in between.
"""

import importlib.util
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from contrafact.errors import InputError
from contrafact.models.gguf import ADAPTER_FILE
from contrafact.models.whitebox.weights import (
    ADAPTER_WEIGHTS,
    CausalModel,
    adapter_parts,
    load_causal,
    quietly,
    write_adapter,
)
from contrafact.training.config import ALL_LINEAR, Dpo, Learning, Lora, ModelConfig, Passes

Steps = Callable[[int, int], None]
"""A function that is called after each step with the steps done and all steps."""

Loss = dict[str, float]
"""A ``step`` and its measurements: loss, eval_loss, rewards/margins and so on."""

STATE = "state.pt"
"""In an adapter's folder: the optimizer's state, and of a killed training all that it needs."""
_WARM_UP = 16  # steps of a new optimizer


@dataclass(frozen=True)
class TokenizedExample:
    """The tokens of a prompt and its reply, or of a better and a worse reply."""

    prompt: list[int]
    chosen: list[int]
    rejected: list[int] | None = None


def check_trainers(*more: str) -> None:
    """Raise an `InputError` unless the packages of training, and ``more``, are installed."""
    needed = ("torch", "transformers", "peft", *more)
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"{', '.join(missing)}, which training needs, is not installed",
            hint="run: pip install 'contrafact[train]'",
        )


def check_targets(causal: CausalModel, lora: Lora) -> None:
    """Raise an `InputError` unless a model has the layers that the adapter is to be added to."""
    from torch.nn import Linear

    if lora.targets == (ALL_LINEAR,):
        return
    head = causal.model.get_output_embeddings()
    layers = {
        name.rpartition(".")[2]
        for name, module in causal.model.named_modules()
        if isinstance(module, Linear) and module is not head
    }
    for name in lora.targets:
        if name not in layers:
            raise InputError(
                f"lora.targets: {causal.name} has no layer '{name}' for it",
                hint=f"use all-linear, or some of {', '.join(sorted(layers))}",
            )


@quietly()
def learn(
    causal: CausalModel,
    train: Sequence[TokenizedExample],
    validation: Sequence[TokenizedExample],
    config: ModelConfig,
    learning: Learning,
    folder: Path,
    steps: Steps = lambda done, total: None,
    *,
    begin: Path | None = None,
    met: int = 0,
    planned: int | None = None,
) -> list[Loss]:
    """Train an adapter, going on from the state in the folder, if any, and save it there.

    Args:
        causal: The model, whose weights are changed.
        learning: With `Passes` the adapter is merged into the model; with `Dpo` better replies are
            preferred, relative to the model without the adapter.
        begin: The folder of an adapter to go on from, ``met`` examples of ``planned`` behind it.

    Returns:
        The losses: in nats per token of a reply, of preferences per pair.

    Raises:
        InputError: The adapter has other layers, or the loss is not a number.
    """
    import torch

    passes = learning if isinstance(learning, Passes) else None
    order = _order(train, passes, config.seed)
    adapted, learned = _adapted(causal, config, begin, whole=passes is not None)
    optimizer = torch.optim.AdamW(learned.values(), weight_decay=0.0, fused=True)
    size, losses, done, old = learning.effective_batch, list[Loss](), 0, 0
    best: dict[str, Any] = {"loss": math.inf, "worse": 0}
    for kept in (folder / STATE, (begin or folder) / STATE):
        if kept.is_file():
            state = torch.load(kept, weights_only=True, map_location=causal.device)
            optimizer.load_state_dict(state["optimizer"])
            old = state["old"]
            if kept.parent == folder:
                done, losses, best = state["done"], state["losses"], state["best"]
                _set(learned, state["weights"], folder)
            break
    first, last = met // size, math.ceil(len(order) / size)
    total = math.ceil((planned or met + len(order)) / size)
    rising = 1 if passes else max(1, min(_WARM_UP, total // 10))

    def measure() -> None:
        found = _step(adapted, validation, config, learning)
        losses.append({f"eval_{name}": found[name] for name in found} | {"step": first + done})
        weights = {name: one.data for name, one in learned.items()}
        if passes and found["loss"] < best["loss"]:
            copied = {name: one.clone() for name, one in weights.items()}
            best.update(loss=found["loss"], worse=0, weights=copied)
        else:
            best["worse"] += 1
        state = {"done": done, "old": old, "losses": losses, "best": best, "weights": weights}
        torch.save(state | {"optimizer": optimizer.state_dict()}, folder / "state.part")
        (folder / "state.part").replace(folder / STATE)

    if not losses:
        measure()
    while done < last and not (passes and best["worse"] >= passes.patience):
        high, low = learning.learning_rate, learning.final_learning_rate
        rate = low + (high - low) * (1 + math.cos(math.pi * (first + done) / total)) / 2
        rate *= min(1.0, (old + 1) / rising)
        optimizer.param_groups[0]["lr"] = rate
        torch.manual_seed(config.seed + first + done)  # of dropout, the same in pieces
        batch = order[done * size : (done + 1) * size]
        found = _step(adapted, batch, config, learning, learns=True)
        torch.nn.utils.clip_grad_norm_(learned.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        done, old = done + 1, old + 1
        losses.append(found | {"learning_rate": rate, "step": first + done})
        if not math.isfinite(found["loss"]):
            hint = "lower learning_rate, or check the weights and the data"
            raise InputError(f"the loss is not a number at step {first + done}", hint=hint)
        if done % learning.evaluate_every == 0 or done == last:
            measure()
        steps(done, last)
    if passes:
        _set(learned, best["weights"], folder)
        _merged(adapted, causal, config, folder / "adapter").save_pretrained(folder)
        (folder / STATE).unlink()
    else:
        adapted.peft_config["default"].base_model_name_or_path = config.model
        adapted.save_pretrained(folder, save_embedding_layers=False)
        write_adapter(folder, adapted.config)
    causal.tokenizer.save_pretrained(folder)
    return losses


def _order(
    train: Sequence[TokenizedExample], passes: Passes | None, seed: int
) -> list[TokenizedExample]:
    """Return the examples in the order in which they are met."""
    if passes is None:
        return list(train)
    turns = [np.random.default_rng([seed, turn]) for turn in range(math.ceil(passes.epochs))]
    shuffled = [train[int(index)] for turn in turns for index in turn.permutation(len(train))]
    return shuffled[: max(1, round(passes.epochs * len(train)))]


def log_likelihoods(
    model: Any, batch: Sequence[tuple[list[int], list[int]]], *, shared: bool = True
) -> Any:
    """Return a tensor of the log-likelihood of each reply of a batch with its prompt, in nats.

    What all prompts begin with is computed once, with its gradient, unless ``shared`` is False, and
    logits only from where the first reply begins.
    """
    import torch

    columns = zip(*(prompt[:-1] for prompt, _ in batch), strict=False)
    same = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    begin = same if shared and len(batch) > 1 else 0
    width = max(len(prompt) + len(reply) for prompt, reply in batch) - begin
    # The fill stands after a row, where nothing of the row can see it.
    tokens = torch.zeros(len(batch), width, dtype=torch.long)
    wanted = torch.full_like(tokens, -100)
    for row, labels, (prompt, reply) in zip(tokens, wanted, batch, strict=True):
        asked, end = len(prompt) - begin, len(prompt) + len(reply) - begin
        row[:end] = torch.tensor([*prompt[begin:], *reply])
        labels[asked:end] = row[asked:end]
    past = None
    if begin:
        head = torch.tensor([batch[0][0][:begin]], device=model.device)
        past = model(input_ids=head, use_cache=True, logits_to_keep=1).past_key_values
        past.batch_repeat_interleave(len(batch))
    replies = width + begin - min(len(prompt) for prompt, _ in batch)
    logits = model(
        input_ids=tokens.to(model.device),
        past_key_values=past,
        use_cache=past is not None,
        logits_to_keep=torch.arange(width - replies - 1, width - 1),  # a copy, so one product
    ).logits
    wanted = wanted[:, -replies:].to(model.device)
    kept = wanted != -100
    each = logits.new_zeros(wanted.shape, dtype=torch.float32)
    each[kept] = -torch.nn.functional.cross_entropy(
        logits[kept].float(), wanted[kept], reduction="none"
    )
    return each.sum(1)


def _sums(
    model: Any, batch: Sequence[TokenizedExample], beta: float | None, shared: bool
) -> dict[str, Any]:
    """Return the sum over a batch of the loss, and of what else is measured."""
    import torch

    chosen = [(one.prompt, one.chosen) for one in batch]
    if beta is None:
        return {"loss": -log_likelihoods(model, chosen, shared=shared).sum()}
    pairs = chosen + [(one.prompt, one.rejected or []) for one in batch]
    with torch.no_grad(), model.disable_adapter():
        before = log_likelihoods(model, pairs, shared=shared)
    rewards = beta * (log_likelihoods(model, pairs, shared=shared) - before)
    better, worse = rewards.chunk(2)
    return {
        "loss": -torch.nn.functional.logsigmoid(better - worse).sum(),
        "rewards/chosen": better.sum(),
        "rewards/rejected": worse.sum(),
        "rewards/margins": (better - worse).sum(),
        "rewards/accuracies": (better > worse).float().sum(),
    }


def _step(
    model: Any,
    examples: Sequence[TokenizedExample],
    config: ModelConfig,
    learning: Learning,
    *,
    learns: bool = False,
) -> Loss:
    """Return the means over tokens or pairs; the loss's gradient is added if the model learns."""
    import torch
    from peft.helpers import disable_input_dtype_casting

    model.train(learns)
    beta = learning.beta if isinstance(learning, Dpo) else None
    number = sum(1 if beta is not None else len(one.chosen) for one in examples)
    means, lower = defaultdict[str, float](float), config.precision == "bfloat16"
    for start in range(0, len(examples), learning.batch):
        with (
            torch.set_grad_enabled(learns),
            torch.autocast(model.device.type, torch.bfloat16, enabled=lower),
            disable_input_dtype_casting(model, lower),  # peft would make each float32, and back
        ):
            batch, shared = examples[start : start + learning.batch], not config.save_memory
            sums = _sums(model, batch, beta, shared or not learns)
        if learns:
            (sums["loss"] / number).backward()
        for name, value in sums.items():
            means[name] += float(value.detach()) / number
    return dict(means)


def _adapted(
    causal: CausalModel, config: ModelConfig, begin: Path | None, *, whole: bool
) -> tuple[Any, dict[str, Any]]:
    """Return the model with its adapter, and the adapter's weights by name."""
    import torch
    from peft import LoraConfig, get_peft_model
    from safetensors.torch import load_file

    torch.manual_seed(config.seed)
    model, lora = causal.model, config.lora
    if config.precision == "bfloat16" and config.weights == "float32" and not whole:
        for one in model.parameters():  # once, and not in every step
            one.data = one.data.to(torch.bfloat16)
    if causal.device.type == "cpu":
        model.set_attn_implementation("eager")  # its gradient takes half the time there
    layers = ALL_LINEAR if lora.targets == (ALL_LINEAR,) else list(lora.targets)
    sizes = {"r": lora.r, "lora_alpha": lora.alpha, "lora_dropout": lora.dropout}
    peft = LoraConfig(target_modules=layers, bias="none", task_type="CAUSAL_LM", **sizes)
    adapted = get_peft_model(model, peft)
    if config.save_memory:
        adapted.enable_input_require_grads()
        adapted.gradient_checkpointing_enable()
    learned = {name: one for name, one in adapted.named_parameters() if one.requires_grad}
    if begin is not None and (begin / ADAPTER_WEIGHTS).is_file():
        weights = load_file(begin / ADAPTER_WEIGHTS)
        names = {name: name.replace(".weight", ".default.weight") for name in weights}
        _set(learned, {names[name]: weights[name] for name in names}, begin)
    elif begin is not None:
        places = {layer: name for name, layer in adapted.named_modules()}
        weights = {
            f"{places[layer]}.lora_{side}.default.weight": values
            for layer, *parts in adapter_parts(adapted, begin / ADAPTER_FILE)
            for side, values in zip("AB", parts, strict=True)
        }
        _set(learned, weights, begin)
    return adapted, learned


def _set(learned: Mapping[str, Any], weights: Mapping[str, Any], folder: Path) -> None:
    if any(name not in weights or weights[name].shape != learned[name].shape for name in learned):
        hint = "set lora: {targets: …} as the adapter has them"
        raise InputError("has other layers than the config", file=folder, hint=hint)
    for name, one in learned.items():
        one.data.copy_(weights[name])


def _merged(adapted: Any, causal: CausalModel, config: ModelConfig, folder: Path) -> Any:
    """Return the model with the adapter merged into its weights."""
    if config.weights != "4bit":
        return adapted.merge_and_unload()
    # Nothing can be added to 4-bit weights: merge the adapter into the original weights.
    from peft import PeftModel

    adapted.save_pretrained(folder, save_embedding_layers=False)
    plain = load_causal(causal.name, device="cpu", precision="bfloat16").model
    merged = PeftModel.from_pretrained(plain, folder).merge_and_unload()
    rmtree(folder)
    return merged
