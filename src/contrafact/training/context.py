"""What all stages of a training share: config, folder, prompts, the model in memory, progress."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.console import Progress
from contrafact.family.training import TrainingSpec
from contrafact.files.tables import write_rows
from contrafact.models.whitebox.noise import prompt_tokens, text_tokens
from contrafact.models.whitebox.weights import CausalModel, load_causal
from contrafact.prompts import open_pack
from contrafact.training.config import TrainConfig
from contrafact.training.data import Example, load_pool
from contrafact.training.stages import read_lines
from contrafact.training.trainers import TokenizedExample

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["TrainingContext"]


class TrainingContext:
    """What the stages of one training work with.

    Args:
        config: The training.
        spec: What training needs of the family.
        out: Its folder.
        say: Called with one line for each thing worth knowing.
        progress: Shows the progress of a piece of work: what is counted, and how many there are.

    Raises:
        InputError: The prompt pack is not in order.
    """

    def __init__(
        self,
        config: TrainConfig,
        spec: TrainingSpec,
        out: Path,
        say: Callable[[str], None],
        progress: Callable[[str, int], Progress] = Progress,
    ):
        self.config = config
        self.spec = spec
        self.out = out
        self.say = say
        self.progress = progress
        self.pack = open_pack(config.prompts)
        self.prompts = spec.prompts(self.pack)
        self._model: CausalModel | None = None

    def model(self, name: str | Path) -> CausalModel:
        """Return a model to write with; one is in memory at a time.

        Raises:
            InputError: It cannot be loaded.
        """
        if self._model is None or self._model.name != str(name):
            self._model = None  # before the next is loaded
            self._model = load_causal(str(name), precision=self.config.weights)
        return self._model

    def model_to_train(self, name: str | Path) -> CausalModel:
        """Return a model whose weights may be changed: it is not kept for others.

        Raises:
            InputError: It cannot be loaded.
        """
        causal, self._model = self.model(name), None
        return causal

    def free_model(self) -> None:
        """Let go of the model in memory, if there is one."""
        self._model = None

    def examples(self, share: str) -> list[Example]:
        """Return the examples of a share: ``train`` or ``validation``."""
        return list(load_pool(self.spec, self.out / "data" / f"{share}.jsonl").examples)

    def held_out(self) -> list[str]:
        """Return the held-out items."""
        return [row["item"] for row in self.read_rows(self.out / "data" / "held-out.jsonl")]

    def tokenized(
        self,
        causal: CausalModel,
        item: str,
        chosen: tuple[str, bool],
        rejected: tuple[str, bool] | None = None,
    ) -> TokenizedExample:
        """Return the tokens of the prompt for an item, and of the reply or replies to learn from.

        Args:
            causal: The model whose tokens they are.
            item: The item.
            chosen: The reply, or the better one, and whether it came to its end.
            rejected: The worse one, if there are two.
        """
        return TokenizedExample(
            prompt_tokens(causal, self.prompts.answer(item)),
            text_tokens(causal, chosen[0], ended=chosen[1]),
            None if rejected is None else text_tokens(causal, rejected[0], ended=rejected[1]),
        )

    def write_rows(self, path: Path, rows: "Sequence[DataclassInstance | dict[str, Any]]") -> None:
        """Write rows as JSON Lines, ``item`` and ``items`` under the family's words for them."""
        words = {"item": self.spec.item, "items": self.spec.items}
        dicts = [row if isinstance(row, dict) else asdict(row) for row in rows]
        write_rows(path, [{words.get(key, key): row[key] for key in row} for row in dicts])

    def read_rows(self, path: Path) -> list[dict[str, Any]]:
        """Return the rows that `write_rows` wrote.

        Raises:
            InputError: The file is not there, or not whole.
        """
        fields = {self.spec.item: "item", self.spec.items: "items"}
        return [{fields.get(key, key): row[key] for key in row} for row in read_lines(path)]

    @contextmanager
    def steps(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Show the steps of a trainer, who says with each how many are done and how many there are.

        Args:
            what: What a step is, in the plural.
        """
        bar: Progress | None = None
        counted = 0
        with ExitStack() as stack:

            def count(done: int, total: int) -> None:
                nonlocal bar, counted
                if bar is None:
                    bar = stack.enter_context(self.progress(what, total))
                bar.step(done - counted)
                counted = done

            yield count

    def say_losses(self, stage: str, losses: Sequence[Mapping[str, float]]) -> None:
        """Say what a stage learned, in a few words."""
        known = [row for row in losses if "eval_loss" in row]
        text = f"validation loss {known[0]['eval_loss']:.4f} to {known[-1]['eval_loss']:.4f}"
        margin = "eval_rewards/margins"
        if margin in known[-1]:
            text += f", reward margin {known[0].get(margin, 0):.4f} to {known[-1][margin]:.4f}"
        self.say(f"{stage}: {text}")
