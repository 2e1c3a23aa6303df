"""An endless supply of editing tasks for training, each with a proven reward.

CoBe, sections 3.1 and 3.2. A task is a story, a query and a score of any answer, decided by `proof`
from what the story tells; no model is asked, and nothing that could ask one is imported. A task
depends on the seed and its index alone, so that any process may draw it.

    tasks = Stories(7, Difficulty(graphs=("chain", "fork")))
    entry = tasks[12]                               # question, answer, metadata
    tasks.score_answer("The ferry ran …", entry)    # 1.0 or 0.0

    for prompt, story, reward in tasks:             # for ever
        reward("The ferry ran …")
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from contrafact.errors import InputError
from contrafact.families.cobe.data import PHRASINGS, criteria_of, read_story, subject_of
from contrafact.families.cobe.phrasing import STATED, framing_named, request_of
from contrafact.families.cobe.records import Story
from contrafact.families.cobe.synth.compose import blocks_ahead, cells_of, draw_fitting, line_of
from contrafact.families.cobe.synth.crossing import SIZE
from contrafact.families.cobe.synth.difficulty import LEVELS, Difficulty
from contrafact.families.cobe.synth.library import Library, bundled_library, load_library
from contrafact.families.cobe.verifier import decisions
from contrafact.judges.replies import answer_text
from contrafact.prompts import PromptPack, open_pack
from contrafact.text.delimit import delimit

__all__ = ["LEVELS", "Difficulty", "Stories"]

Form = Literal["conjunction", "share"]


class Task(NamedTuple):
    """A prompt, its story, and the reward of an answer."""

    prompt: str
    story: Story
    reward: Callable[[str], float]


class Stories:
    """An endless sequence of tasks: the same seed, difficulty and index give the same task.

    Args:
        difficulty: Which stories are drawn; all if not given.
        form: ``conjunction``: 1.0 where every criterion is proven to pass, as the paper scores;
            ``share``: the share of criteria that are. Criteria that `proof` leaves open do not
            pass.
        framing: How the request is put: ``plain``, as in the paper, or ``stated:1`` to
            ``stated:3``, with the convention that the change comes from outside.
        private_lexicon: A folder with rules of your own; the bundled ones if not given.
        pack: The prompts; the templates ``cobe/edit`` and ``cobe/framing`` are used.

    Raises:
        InputError: The rules or a template cannot be used, or there is no such framing.
    """

    def __init__(
        self,
        seed: int = 0,
        difficulty: Difficulty | None = None,
        *,
        form: Form = "conjunction",
        framing: str = STATED,
        private_lexicon: str | Path | None = None,
        pack: PromptPack | None = None,
    ):
        if form not in ("conjunction", "share"):
            raise InputError(f"form is {form!r}", hint="use 'conjunction' or 'share'")
        self.difficulty = difficulty or Difficulty()
        self._form = form
        library = load_library(private_lexicon) if private_lexicon else bundled_library()
        pack = pack or open_pack()
        self._template = pack.template("cobe/edit", required={"story", "query", "shots"})
        self._framing, self._request = framing_named(framing), request_of(pack, framing)
        self._draw = partial(_block, library, self.difficulty, seed)
        self._block = lru_cache(maxsize=64)(self._draw)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Return a task as ``question``, ``answer`` (one of the right ones) and ``metadata``.

        Raises:
            IndexError: The index is negative.
            InputError: No story of this difficulty was found in many draws.
        """
        return self._entry(index, self._row(index))

    def __iter__(self) -> Iterator[Task]:
        """Yield tasks endlessly; see `ahead` for several processes."""
        return (self._task(index, self._row(index)) for index in count())

    def ahead(self, processes: int, start: int = 0) -> Iterator[Task]:
        """Yield the tasks from an index onward, drawn by processes that end with the iterator."""
        first, passed = divmod(start, SIZE)
        drawn = chain.from_iterable(blocks_ahead(self._draw, count(first), processes))
        return islice(map(self._task, count(first * SIZE), drawn), passed, None)

    def score_answer(self, answer: str | None, entry: Mapping[str, Any]) -> float:
        """Return an answer's reward, 0 to 1, by the task that `__getitem__` gave."""
        story = _story(entry["metadata"]["story"])
        return reward_of(verdicts(story, answer or ""), self._form)

    def _row(self, index: int) -> Mapping[str, Any]:
        if index < 0:
            raise IndexError("indices of tasks begin at 0, and there is no last task")
        block, position = divmod(index, SIZE)
        return self._block(block)[position]

    def _entry(self, index: int, row: Mapping[str, Any]) -> dict[str, Any]:
        phrasing = self.difficulty.phrasings[index % len(self.difficulty.phrasings)]
        query = row["Query"][PHRASINGS.index(phrasing)]
        return {
            "question": self._template.render(
                story=delimit(row["Variation text"]), query=delimit(self._request(query)), shots=[]
            ),
            "answer": row["Representative answer"],
            "metadata": {
                "source_dataset": "contrafact-cobe",
                "source_index": index,
                "graph": row["Graph type"],
                "domain": row["Domain"],
                "facts": len(row["Proof"]["told"]),
                "phrasing": phrasing,
                "framing": self._framing,
                "story": line_of(row),
            },
        }

    def _task(self, index: int, row: Mapping[str, Any]) -> Task:
        entry, story = self._entry(index, row), read_story(row)
        return Task(entry["question"], story, partial(_reward, story, self._form))


def verdicts(story: Story, answer: str) -> dict[str, bool | None]:
    """Return the decision of `proof` on each criterion of a story; None where it leaves one open.

    The answer is read as a run reads replies; one that holds no text passes nothing.
    """
    read = answer_text(answer)
    if read.invalid:
        return dict.fromkeys(criteria_of(story), False)
    decided = decisions(subject_of(story, read.text))
    return {name: decided[name].passed for name in criteria_of(story)}


def reward_of(decided: Mapping[str, bool | None], form: Form = "conjunction") -> float:
    """Return the reward of an answer by its verdicts; a criterion that is open is not passed."""
    passed = sum(verdict is True for verdict in decided.values())
    return float(passed == len(decided)) if form == "conjunction" else passed / len(decided)


@lru_cache(maxsize=64)
def _story(line: str) -> Story:
    return read_story(json.loads(line))


def _reward(story: Story, form: Form, answer: str) -> float:
    return reward_of(verdicts(story, answer), form)


def _block(library: Library, difficulty: Difficulty, seed: int, index: int) -> list[dict[str, Any]]:
    """Return a block's stories of the difficulty; an `InputError` if none was found."""
    cells = [cell for graph in difficulty.graphs for cell in cells_of(library, graph=graph)]
    return draw_fitting(library, cells, difficulty, seed, index)
