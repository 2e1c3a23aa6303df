"""Supervised fine-tuning and DPO by trl, on a LoRA adapter by peft.

The trainers get the tokens of the same prompts with which the model later writes. With the same
config, seed and number of threads the losses on a CPU are the same in every run, also if it was
killed in between.
"""

import copy
import importlib.util
import json
import logging
import math
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.models.whitebox.weights import CausalModel, load_causal, quietly
from contrafact.training.config import ALL_LINEAR, Lora, ModelConfig, Passes, TrainConfig

if TYPE_CHECKING:
    import torch

Steps = Callable[[int, int], None]
"""A function that is called after each step with the steps done and all steps."""

Loss = dict[str, float]
"""A ``step`` and its measurements: loss, eval_loss, rewards/margins and so on."""

_KEPT = ("loss", "eval_loss", "learning_rate", "grad_norm", "mean_token_accuracy")
_CHECKPOINTS = "trainer"


@dataclass(frozen=True)
class TokenizedExample:
    """The tokens of a prompt and its reply, or of a better and a worse reply."""

    prompt: list[int]
    chosen: list[int]
    rejected: list[int] | None = None


def check_trainers(*more: str) -> None:
    """Raise an `InputError` unless the packages of training, and ``more``, are installed."""
    needed = ("torch", "transformers", "trl", "peft", "datasets", *more)
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"{', '.join(missing)}, which training needs, is not installed",
            hint="run: pip install 'contrafact[train]'",
        )


def check_targets(causal: CausalModel, lora: Lora) -> None:
    """Raise an `InputError` unless a model has the layers that the adapter is to be added to.

    The head cannot have an adapter, since trl would ignore it.
    """
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


@contextmanager
def _quiet_training() -> Iterator[None]:
    """Hide progress bars, notes and warnings of the libraries for a block."""
    import datasets

    without_bars = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    # trl warns of the placeholder texts in `prefer`, which it does not use.
    trl = logging.getLogger("trl")
    level = trl.level
    trl.setLevel(logging.ERROR)
    try:
        with quietly(), _labelled_positions_only(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        trl.setLevel(level)
        if not without_bars:
            datasets.enable_progress_bars()


@contextmanager
def _labelled_positions_only() -> Iterator[None]:
    """Let trl compute only the logits of labelled positions, as it does with Triton.

    Without Triton it also computes the unused logits of prompts: on a CPU, with short replies to
    long prompts, that takes a third of a step. The losses are the same.
    """
    from trl.trainer import utils

    use_triton = getattr(utils, "_use_triton", None)
    if use_triton is None:  # another version of trl, which may not need this
        yield
        return
    utils._use_triton = lambda device: True
    try:
        yield
    finally:
        utils._use_triton = use_triton


@_quiet_training()
def fine_tune(
    causal: CausalModel,
    train: Sequence[TokenizedExample],
    validation: Sequence[TokenizedExample],
    config: ModelConfig,
    learning: Passes,
    folder: Path,
    steps: Steps = lambda done, total: None,
) -> list[Loss]:
    """Fine-tune a model on replies, with the loss on the replies only; return the losses.

    The model's weights are changed. The trained model is saved into ``folder``, where a running
    trainer keeps its checkpoints, so that killed training can continue.

    Raises:
        InputError: The loss is not a number.
    """
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    def row(example: TokenizedExample) -> dict[str, Any]:
        mask = [0] * len(example.prompt) + [1] * len(example.chosen)
        return {"input_ids": [*example.prompt, *example.chosen], "completion_mask": mask}

    settings = SFTConfig(
        **_arguments(causal.device, config, learning, folder),
        completion_only_loss=True,
        packing=False,
    )
    trainer = SFTTrainer(
        args=settings,
        train_dataset=Dataset.from_list(list(map(row, train))),
        eval_dataset=Dataset.from_list(list(map(row, validation))),
        **_learner(causal, config, learning, steps),
    )
    return _run(trainer, causal, config, folder)


def _learner(
    causal: CausalModel, config: ModelConfig, learning: Passes, steps: Steps
) -> dict[str, Any]:
    """Return the model, tokenizer, adapter and callbacks as arguments of trl's trainers."""
    return {
        "model": causal.model,
        "processing_class": copy.deepcopy(causal.tokenizer),
        "peft_config": lora_config(config.lora),
        "callbacks": _callbacks(learning, steps),
    }


def lora_config(lora: Lora) -> Any:
    """Return the settings of an adapter for peft."""
    from peft import LoraConfig

    return LoraConfig(
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=ALL_LINEAR if lora.targets == (ALL_LINEAR,) else list(lora.targets),
        bias="none",
        task_type="CAUSAL_LM",
    )


@_quiet_training()
def prefer(
    causal: CausalModel,
    train: Sequence[TokenizedExample],
    validation: Sequence[TokenizedExample],
    config: TrainConfig,
    folder: Path,
    steps: Steps = lambda done, total: None,
) -> list[Loss]:
    """Train a model to prefer the better replies (DPO), relative to itself before training.

    See `fine_tune` for changes, saved files, result and errors.
    """
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    def row(example: TokenizedExample) -> dict[str, Any]:
        # The trainer needs texts as well, and overwrites columns with its own names of tokens.
        texts = dict.fromkeys(("prompt", "chosen", "rejected"), "-")
        tokens = {"own_prompt_ids": example.prompt, "own_chosen_ids": example.chosen}
        return {**texts, **tokens, "own_rejected_ids": example.rejected}

    learner = _learner(causal, config, config.dpo, steps)
    tokenizer = learner["processing_class"]
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    settings = DPOConfig(
        **_arguments(causal.device, config, config.dpo, folder),
        beta=config.dpo.beta,
        disable_dropout=False,  # the paper trains with dropout
        remove_unused_columns=False,
    )
    trainer = DPOTrainer(
        args=settings,
        train_dataset=Dataset.from_list(list(map(row, train))),
        eval_dataset=Dataset.from_list(list(map(row, validation))),
        data_collator=_own_tokens(tokenizer.pad_token_id),
        **learner,
    )
    return _run(trainer, causal, config, folder)


def _own_tokens(pad: int) -> Any:
    """Return the collator that replaces the texts' tokens by the tokens of the examples."""
    from trl.trainer.dpo_trainer import DataCollatorForPreference

    class OwnTokens(DataCollatorForPreference):  # type: ignore[misc]
        def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
            named = ("prompt_ids", "chosen_ids", "rejected_ids")
            own = [{name: example[f"own_{name}"] for name in named} for example in examples]
            batch: dict[str, Any] = super().torch_call(own)
            return batch

    return OwnTokens(pad_token_id=pad)


def _arguments(
    device: "torch.device", config: ModelConfig, learning: Passes, folder: Path
) -> dict[str, Any]:
    return {
        "output_dir": str(folder / _CHECKPOINTS),
        "seed": config.seed,
        "data_seed": config.seed,
        "max_length": None,
        "num_train_epochs": learning.epochs,
        "per_device_train_batch_size": learning.batch,
        "per_device_eval_batch_size": learning.batch,
        "gradient_accumulation_steps": learning.effective_batch // learning.batch,
        "learning_rate": learning.learning_rate,
        "lr_scheduler_type": "cosine_with_min_lr",
        "lr_scheduler_kwargs": {"min_lr": learning.final_learning_rate},
        "bf16": config.precision == "bfloat16",
        "gradient_checkpointing": config.save_memory,
        "use_cpu": device.type == "cpu",
        "dataloader_pin_memory": False,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "eval_strategy": "steps",
        "eval_steps": learning.evaluate_every,
        # A continued training already has its first validation on record.
        "eval_on_start": _last_whole(folder / _CHECKPOINTS) is None,
        "restore_callback_states_from_checkpoint": True,
        "save_strategy": "steps",
        "save_steps": learning.evaluate_every,
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_loss",
        "greater_is_better": False,
        "report_to": "none",
        "disable_tqdm": True,
    }


def _callbacks(learning: Passes, steps: Steps) -> list[Any]:
    """Return callbacks for early stopping, progress, and an error if the loss is NaN."""
    from transformers import EarlyStoppingCallback, TrainerCallback

    class Watch(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            steps(state.global_step, state.max_steps)

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Mapping[str, Any], **_: Any
        ) -> None:
            for name in ("loss", "eval_loss"):
                if not math.isfinite(logs.get(name, 0.0)):
                    raise InputError(
                        f"the loss is not a number at step {state.global_step}",
                        hint="lower learning_rate, or check the weights and the data",
                    )

    return [EarlyStoppingCallback(learning.patience), Watch()]


def _run(trainer: Any, causal: CausalModel, config: ModelConfig, folder: Path) -> list[Loss]:
    """Train from the last complete checkpoint, if any, and save the model."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    kept = folder / _CHECKPOINTS
    trainer.train(resume_from_checkpoint=_last_whole(kept))
    measured = [
        {name: float(value) for name, value in entry.items() if name in _KEPT or "rewards/" in name}
        | {"step": float(entry["step"])}
        for entry in trainer.state.log_history
    ]
    _merged(trainer.model, causal, config, kept / "adapter").save_pretrained(folder)
    causal.tokenizer.save_pretrained(folder)
    shutil.rmtree(kept)
    return [entry for entry in measured if len(entry) > 1]


def _last_whole(folder: Path) -> str | None:
    """Return the last complete checkpoint, and remove incomplete ones."""
    last: tuple[int, Path] | None = None
    for path in folder.glob("checkpoint-*"):
        try:
            # The trainer writes its state last.
            step = int(json.loads((path / "trainer_state.json").read_bytes())["global_step"])
        except (OSError, ValueError, KeyError):
            shutil.rmtree(path)
            continue
        last = max(last or (step, path), (step, path))
    return None if last is None else str(last[1])


def _merged(adapted: Any, causal: CausalModel, config: ModelConfig, folder: Path) -> Any:
    """Return the model with the adapter merged into its weights."""
    if config.weights != "4bit":
        return adapted.merge_and_unload()
    # Nothing can be added to 4-bit weights: merge the adapter into the original weights.
    from peft import PeftModel

    adapted.save_pretrained(folder, save_embedding_layers=False)
    plain = load_causal(causal.name, device="cpu", precision="bfloat16").model
    return PeftModel.from_pretrained(plain, folder).merge_and_unload()
