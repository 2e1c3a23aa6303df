"""Asking a model for the labels that rules leave open (RFC-BENCH, appendix P), through Inspect."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from inspect_ai.model import GenerateConfig, Model

from contrafact.families.rfc.pipeline.answer_file import AnswerFile
from contrafact.families.rfc.pipeline.label import paragraph_of
from contrafact.families.rfc.pipeline.stage_files import StageRow
from contrafact.models.asking import failure_cause
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.text.delimit import delimit

__all__ = ["LABEL_CONFIG", "Asked", "ask_labels", "label_template"]

LABEL_CONFIG = GenerateConfig(temperature=0.0)


@dataclass
class Asked:
    """Replies and failures by article id; a failure is a call that a rerun makes again."""

    replies: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def label_template(pack: PromptPack) -> PromptTemplate:
    """Return the prompt that asks for a label, checked.

    Raises:
        InputError: The pack lacks the template, or it has other variables.
    """
    return pack.template("rfc/label", required={"paragraph"})


async def ask_labels(
    rows: Sequence[StageRow],
    model: Model,
    pack: PromptPack,
    answers: AnswerFile,
    *,
    at_once: int = 16,
    each: Callable[[str], None] = lambda _: None,
) -> Asked:
    """Return the model's reply for every row, asking only for those that are not known.

    Args:
        rows: The open articles.
        model: The labeller.
        pack: The prompt pack; its template ``rfc/label`` takes ``paragraph``.
        answers: Where replies are kept as they come.
        at_once: How many calls may be under way at the same time.
        each: Called with an article's id when it is done with.

    Raises:
        InputError: The pack lacks the template, or it has other variables.
    """
    template = label_template(pack)
    asked = Asked()
    free = asyncio.Semaphore(at_once)

    async def one(row: StageRow) -> None:
        key = str(row.fields["id"])
        if key not in answers.known:
            prompt = template.render(paragraph=delimit(paragraph_of(row.fields)))
            async with free:
                try:
                    output = await model.generate(prompt, config=LABEL_CONFIG)
                except Exception as error:  # noqa: BLE001 - told as this article's reason
                    asked.failures[key] = f"the call failed ({failure_cause(error)})"
                    each(key)
                    return
            unusable = {
                "model_length": "[the prompt was too long for the model]",
                "content_filter": "[the provider's content filter refused]",
            }
            answers.keep(key, unusable.get(output.stop_reason) or output.completion)
        asked.replies[key] = answers.known[key]
        each(key)

    await asyncio.gather(*(one(row) for row in rows))
    return asked
