"""CoBe items with known verdicts: stories' right answers, and answers that fail one criterion.

A right answer passes every criterion that its story asks; a wrong one fails the criterion it was
made to fail and passes all others. So each wrong answer is an item that should fail on one
criterion and items that should pass on the rest.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inspect_ai.model import Model

from contrafact.errors import InputError
from contrafact.exam.items import ExamItem
from contrafact.families.cobe.data import KnownAnswer, KnownStory
from contrafact.families.cobe.judging import JUDGE_CONFIG, Judging, criteria_of
from contrafact.families.cobe.run import RUN
from contrafact.judges.judge import judge_letter
from contrafact.prompts import PromptPack
from contrafact.records import Story, Verdict, content_id
from contrafact.text.delimit import delimit

__all__ = ["CobeExaminer", "cobe_items", "drawn_known"]


def cobe_items(stories: Sequence[KnownStory]) -> list[ExamItem]:
    """Return every known answer of the stories as an item.

    The kind of a wrong answer is the criterion that it fails (``fails E2``). That of a right one
    is what its story says of it, where other stories say the same, else ``right``.

    Raises:
        InputError: If there are no right or no wrong answers among them.
    """
    told = Counter(one.why for known in stories for one in {a.why: a for a in known.right}.values())
    found: dict[str, ExamItem] = {}
    for known in stories:
        names = [criterion.name for criterion in criteria_of(known.story)]
        for one in (*known.right, *known.wrong):
            item = _item(known.story, one, names, told)
            found.setdefault(item.id, item)
    kinds = {item.whole for item in found.values()}
    if kinds != {True, False}:
        raise InputError(
            "an exam needs stories with right answers and with wrong ones",
            hint="make some with `contrafact cobe synth`",
        )
    return list(found.values())


def drawn_known(n: int, seed: int) -> list[KnownStory]:
    """Return freshly drawn stories, which no model can have seen, with their known answers.

    Args:
        n: How many.
        seed: Seed of the draw.
    """
    # Reads all templates: only where stories are drawn.
    from contrafact.families.cobe.synth.answers import Answer
    from contrafact.families.cobe.synth.draw import draw_stories
    from contrafact.families.cobe.synth.template import bundled_templates

    def answer(one: Answer) -> KnownAnswer:
        return KnownAnswer(text=one.text, why=one.why, fails=one.fails)

    return [
        KnownStory(
            story=drawn.story,
            right=tuple(map(answer, drawn.right)),
            wrong=tuple(map(answer, drawn.wrong)),
        )
        for drawn in draw_stories(bundled_templates(), n, seed)
    ]


def _item(
    story: Story, answer: KnownAnswer, names: Sequence[str], told: Mapping[str, int]
) -> ExamItem:
    if answer.fails is not None:
        kind = f"fails {answer.fails}"
    else:
        kind = f"right: {answer.why}" if answer.why and told[answer.why] > 1 else "right"
    return ExamItem(
        id=content_id(story.id, story.text, answer.text, prefix="x"),
        cluster=story.id,
        kind=kind,
        material=story,
        text=answer.text,
        known={name: name != answer.fails for name in names},
        whole=answer.fails is None,
        reference=story.answer or None,
    )


@dataclass
class CobeExaminer:
    """Asks as `contrafact.families.cobe.judging.Judging` does.

    Attributes:
        pack: The prompt pack.
        context: Whether the judge sees scenario and query as well.
        logprobs: Whether to ask for the probabilities of T and F.
    """

    pack: PromptPack
    context: bool = False
    logprobs: bool = True
    family: str = field(default="cobe", init=False)
    task_version: str = field(default=RUN.version, init=False)
    _judging: Judging = field(init=False)

    def __post_init__(self) -> None:
        self._judging = Judging(self.pack, self.context, self.logprobs)

    def questions(self, item: ExamItem) -> dict[str, str]:
        """Return the prompt for each criterion of the item's story; the query is its first."""
        story = _story(item)
        names = [criterion.name for criterion in criteria_of(story)]
        prompts = self._judging.prompts(story, story.queries[0], item.text)
        return dict(zip(names, prompts, strict=True))

    def shown(self, item: ExamItem) -> Sequence[str]:
        """Return the answer, as it stands in the prompts, and what the judge sees beside it."""
        return tuple(self._shown(item))

    def _shown(self, item: ExamItem) -> Iterator[str]:
        yield delimit(item.text)
        if self.context:
            story = _story(item)
            yield from (delimit(story.text), delimit(story.queries[0]))

    async def ask(self, judge: Model, criterion: str, prompt: str) -> Verdict:
        """Ask one judge one question."""
        return await judge_letter(
            judge, prompt, criterion, logprobs=self.logprobs, config=JUDGE_CONFIG
        )


def _story(item: ExamItem) -> Story:
    assert isinstance(item.material, Story)
    return item.material
