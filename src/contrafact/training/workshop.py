"""What all stages of a training share: config, folder, prompts, the model in memory, progress."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Protocol

from contrafact.models.whitebox.noise import prompt_tokens, text_tokens
from contrafact.models.whitebox.weights import CausalModel, load_causal
from contrafact.prompts import open_pack
from contrafact.training.config import TrainConfig
from contrafact.training.data import Example, load_pool
from contrafact.training.dialogue import Dialogue
from contrafact.training.stages import read_lines
from contrafact.training.trainers import Lesson

__all__ = ["JOURNAL", "Bar", "Progress", "StepBar", "Workshop", "told_losses"]

JOURNAL = ".journal.jsonl"
"""Where a stage keeps what it has got, until it is done."""


class Bar(Protocol):
    """Counts the steps of a piece of work."""

    def step(self, number: int = 1) -> None:
        """Count steps that are done."""
        ...


Progress = Callable[[str, int], AbstractContextManager[Bar]]
"""Makes a bar, of what is counted and how many there are."""


class Workshop:
    """Where the stages of one training work.

    Args:
        config: The training.
        out: Its folder.
        say: Told one line for each thing worth knowing.
        progress: Makes progress bars.

    Raises:
        InputError: The prompt pack is no use.
    """

    def __init__(
        self, config: TrainConfig, out: Path, say: Callable[[str], None], progress: Progress
    ):
        self.config = config
        self.out = out
        self.say = say
        self.progress = progress
        self.pack = open_pack(config.prompts)
        self.dialogue = Dialogue(self.pack)
        self._held: CausalModel | None = None

    def model(self, name: str | Path) -> CausalModel:
        """Return a model to write with; one is in memory at a time.

        Raises:
            InputError: It cannot be loaded.
        """
        if self._held is None or self._held.name != str(name):
            self._held = None  # before the next is loaded
            self._held = load_causal(str(name), precision=self.config.weights)
        return self._held

    def model_to_train(self, name: str | Path) -> CausalModel:
        """Return a model whose weights may be changed: nobody else is given it.

        Raises:
            InputError: It cannot be loaded.
        """
        causal, self._held = self.model(name), None
        return causal

    def free_model(self) -> None:
        """Let go of the model in memory, if there is one."""
        self._held = None

    def examples(self, share: str) -> list[Example]:
        """Return the examples of a share: ``train`` or ``validation``."""
        return list(load_pool(self.out / "data" / f"{share}.jsonl").examples)

    def held_out(self) -> list[str]:
        """Return the held-out headlines."""
        return [row["headline"] for row in read_lines(self.out / "data" / "held-out.jsonl")]

    def lesson(self, causal: CausalModel, headline: str, reply: str) -> Lesson:
        """Return the tokens of the question about a headline, and of the reply to learn."""
        prompt = prompt_tokens(causal, self.dialogue.ask_pair(headline))
        return Lesson(prompt, text_tokens(causal, reply))


class StepBar:
    """A bar whose length is known with the first step."""

    def __init__(self, progress: Progress, what: str):
        self._progress = progress
        self._what = what
        self._stack = ExitStack()
        self._bar: Bar | None = None
        self._done = 0

    def __enter__(self) -> Callable[[int, int], None]:
        return self._count

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def _count(self, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = self._stack.enter_context(self._progress(self._what, total))
        self._bar.step(done - self._done)
        self._done = done


def told_losses(losses: Sequence[dict[str, float]]) -> str:
    """Return what a stage learned, in a few words."""
    known = [row for row in losses if "eval_loss" in row]
    text = f"validation loss {known[0]['eval_loss']:.4f} to {known[-1]['eval_loss']:.4f}"
    margin = "eval_rewards/margins"
    if margin in known[-1]:
        text += f", reward margin {known[0].get(margin, 0):.4f} to {known[-1][margin]:.4f}"
    return text
