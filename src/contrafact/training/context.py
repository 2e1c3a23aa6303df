"""The stages of a training: their folders, and the config, prompts and model that they share.

A stage works in a hidden folder, ``.name.part``, which is renamed when the stage is finished: so a
stage's folder is complete or absent, and a stage with a folder is not repeated. A killed stage
leaves its journal in the hidden folder, and the next start continues from it.
"""

import errno
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from contrafact import __version__
from contrafact.console import Progress
from contrafact.errors import InputError
from contrafact.family.training import TrainingSpec
from contrafact.files.atomic import os_problem, sync, write_text
from contrafact.files.journal import Journal
from contrafact.files.tables import write_rows
from contrafact.models.whitebox.noise import prompt_tokens, text_tokens
from contrafact.models.whitebox.weights import CausalModel, load_causal
from contrafact.prompts import open_pack
from contrafact.training.config import ModelConfig, TrainConfig
from contrafact.training.data import Example, load_pool
from contrafact.training.learning import Steps, TokenizedExample, check_targets

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Advance = Callable[[int], None]
"""A function that is called with the number of newly finished pieces of work."""

_Config = TypeVar("_Config", bound=ModelConfig)
_Spec = TypeVar("_Spec")

_DOING = "the stage cannot be written"
_NO_ROOM = (
    *("no space left", "disk quota", "file too large", "os error 28", "os error 27"),
    *("pytorchstreamwriter failed", "inline_container", "iostream error", "unexpected pos"),
)


def run_stage(folder: Path, work: Callable[[Path], None]) -> bool:
    """Run a stage unless it is finished; return whether it was run.

    ``work`` gets the stage's folder, which may hold the journal of a killed start.

    Raises:
        InputError: The disk is full, or the folder cannot be written. Other stages are unchanged,
            and the next start continues this one from its journal.
    """
    if folder.is_dir():
        return False
    part = folder.with_name(f".{folder.name}.part")
    try:
        part.mkdir(parents=True, exist_ok=True)
        work(part)
        for path in sorted(part.rglob("*")):
            sync(path)
        part.rename(folder)
        sync(folder.parent)
    except InputError:
        raise
    except OSError as error:
        raise os_problem(error, folder, doing=_DOING) from error
    except Exception as error:
        # safetensors and PyTorch do not raise OSError if a disk is full.
        if any(sign in str(error).casefold() for sign in _NO_ROOM):
            full = OSError(errno.ENOSPC, "no space left on device")
            raise os_problem(full, folder, doing=_DOING) from error
        raise
    return True


@contextmanager
def stage_journal(folder: Path) -> Iterator[Journal]:
    """Open the journal of a stage, and remove it when the block ends without an error."""
    with Journal(folder / ".journal.jsonl", {}) as journal:
        yield journal
        journal.discard()


@contextmanager
def counted_steps(progress: Callable[[str, int], Progress], what: str) -> Iterator[Steps]:
    """Yield a function that shows progress, called with the steps done and all steps."""
    bar: Progress | None = None
    shown = 0
    with ExitStack() as stack:

        def show(done: int, total: int) -> None:
            nonlocal bar, shown
            if bar is None:
                bar = stack.enter_context(progress(what, total))
            bar.step(done - shown)
            shown = done

        yield show


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Return the value of a JSON file that a stage wrote; `InputError` if absent or damaged."""
    return _parsed(path, json.loads)


def read_lines(path: Path) -> list[Any]:
    """Return the rows of a file that a stage wrote; `InputError` if absent or damaged."""
    rows: list[Any] = _parsed(
        path, lambda text: [json.loads(line) for line in text.split("\n") if line]
    )
    return rows


def check_same(path: Path, facts: dict[str, Any], *, begun: bool) -> None:
    """Record which training a folder holds; `InputError` if another one has begun there."""
    if not begun:
        write_json(path, {"version": __version__, "facts": facts})
        return
    begun_facts = read_json(path)["facts"]
    if begun_facts != facts:
        names = sorted(key for key in facts | begun_facts if facts.get(key) != begun_facts.get(key))
        raise InputError(
            f"holds another training (it differs in {', '.join(names)})",
            file=path.parent,
            hint="name another folder with --out",
        )


def _parsed(path: Path, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error
    except ValueError as error:
        hint = f"remove the folder {path.parent.name} to do it again"
        raise InputError("is damaged", file=path, hint=hint) from error


class Stages(Generic[_Config, _Spec]):
    """The objects that a training's stages share: config, family, prompts, one model at a time."""

    def __init__(
        self,
        config: _Config,
        spec: _Spec,
        out: Path,
        say: Callable[[str], None],
        progress: Callable[[str, int], Progress] = Progress,
    ):
        self.config, self.spec, self.out = config, spec, out
        self.say, self.progress = say, progress
        self.pack = open_pack(config.prompts)
        self._model: CausalModel | None = None

    def model(self, name: str | Path) -> CausalModel:
        if self._model is None or self._model.name != str(name):
            self._model = None  # freed before the next is loaded
            self._model = load_causal(str(name), precision=self.config.weights)
        return self._model

    def model_to_train(self, name: str | Path) -> CausalModel:
        """Return a newly loaded model whose weights may be changed."""
        self._model = None
        causal = load_causal(str(name), precision=self.config.weights, packed=False)
        check_targets(causal, self.config.lora)
        return causal

    def free_model(self) -> None:
        self._model = None

    @contextmanager
    def work(self, folder: Path, what: str, total: int) -> Iterator[tuple[Journal, Advance]]:
        with stage_journal(folder) as journal, self.progress(what, total) as bar:
            yield journal, bar.step

    def say_losses(self, stage: str, losses: Sequence[Mapping[str, float]]) -> None:
        """Report the first and last losses of a stage in a line."""
        validated = [row for row in losses if "eval_loss" in row]
        first, last = validated[0], validated[-1]
        text = f"validation loss {first['eval_loss']:.4f} to {last['eval_loss']:.4f}"
        margin = "eval_rewards/margins"
        if margin in last:
            text += f", reward margin {first.get(margin, 0):.4f} to {last[margin]:.4f}"
        self.say(f"{stage}: {text}")


class TrainingContext(Stages[TrainConfig, TrainingSpec]):
    """The objects that self-rewarding stages share; `InputError` if a prompt is invalid."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.prompts = self.spec.prompts(self.pack)

    def examples(self, share: str) -> list[Example]:
        """Return the examples of a share: ``train`` or ``validation``."""
        return list(load_pool(self.spec, self.out / "data" / f"{share}.jsonl").examples)

    def held_out(self) -> list[str]:
        return [row["item"] for row in self.read_rows(self.out / "data" / "held-out.jsonl")]

    def tokenized(
        self,
        causal: CausalModel,
        item: str,
        chosen: tuple[str, bool],
        rejected: tuple[str, bool] | None = None,
    ) -> TokenizedExample:
        """Return the tokens of an item's prompt, and of the reply or replies to learn from.

        A reply is its text and whether it ended; ``chosen`` is the better of two.
        """
        return TokenizedExample(
            prompt_tokens(causal, self.prompts.answer(item)),
            text_tokens(causal, chosen[0], ended=chosen[1]),
            None if rejected is None else text_tokens(causal, rejected[0], ended=rejected[1]),
        )

    def write_rows(self, path: Path, rows: "Sequence[DataclassInstance | dict[str, Any]]") -> None:
        """Write rows as JSON Lines, with ``item`` and ``items`` replaced by the family's words."""
        words = {"item": self.spec.item, "items": self.spec.items}
        dicts = [row if isinstance(row, dict) else asdict(row) for row in rows]
        write_rows(path, [{words.get(key, key): row[key] for key in row} for row in dicts])

    def read_rows(self, path: Path) -> list[dict[str, Any]]:
        fields = {self.spec.item: "item", self.spec.items: "items"}
        return [{fields.get(key, key): row[key] for key in row} for row in read_lines(path)]
