"""What the model is asked and what it answers: one form for training, writing and judging.

The question is the method zero-shot's, so that a checkpoint is used as any model is; the answer is
the JSON object that it asks for.
"""

import json
import re
from collections.abc import Sequence

from contrafact.families.finforce.generation import Generation, read_pair
from contrafact.families.finforce.methods.few_shot import Prompted
from contrafact.prompts import PromptPack
from contrafact.records import ForwardPair, Headline, content_id
from contrafact.text.delimit import delimit

__all__ = ["HIGHEST", "Dialogue", "answer_text", "pair_of", "read_answer", "read_score"]

HIGHEST = 10
"""The most points that a pair can have (FIN-FORCE, table 13)."""

_SCORE = re.compile(r"\bscore\b[\s*_`\"']*[:=][\s*_`\"']*(-?\d+(?:\.\d+)?)", re.IGNORECASE)


class Dialogue:
    """The prompts of a training, from one pack.

    Args:
        pack: The prompt pack.

    Raises:
        InputError: The pack lacks a template, or one does not know its variables.
    """

    def __init__(self, pack: PromptPack):
        self._pair = Prompted("zero-shot", pack)
        self._headline = pack.template("training/headline", required={"examples"})
        self._judge = pack.template(
            "training/judge-pair", required={"headline", "risk", "opportunity"}
        )

    @property
    def identity(self) -> str:
        """A hash of all that is asked: equal for packs that ask the same."""
        pair = ForwardPair(risk="risk", opportunity="opportunity")
        return content_id(
            self.ask_pair("headline"), self.ask_headline(["one"]), self.ask_score("headline", pair)
        )

    def ask_pair(self, headline: str) -> str:
        """Return the prompt for both counterfactuals of a headline."""
        return self._pair.prompt(Headline.of(headline))

    def ask_headline(self, examples: Sequence[str]) -> str:
        """Return the prompt for one new headline, from examples (FIN-FORCE, table 12)."""
        return self._headline.render(examples=[delimit(one) for one in examples])

    def ask_score(self, headline: str, pair: ForwardPair) -> str:
        """Return the prompt for a pair's points, 0 to 10 (FIN-FORCE, table 13)."""
        return self._judge.render(
            headline=delimit(headline),
            risk=delimit(pair.risk),
            opportunity=delimit(pair.opportunity),
        )


def answer_text(headline: str, pair: ForwardPair) -> str:
    """Return the reply that `Dialogue.ask_pair` asks for."""
    answer = {
        "original_headline": delimit(headline),
        "risk_counterfactual": delimit(pair.risk),
        "opportunity_counterfactual": delimit(pair.opportunity),
    }
    return json.dumps(answer, ensure_ascii=False)


def read_answer(text: str, *, ended: bool = True) -> Generation:
    """Return the two counterfactuals in a reply, as every run reads them.

    Args:
        text: The reply.
        ended: Whether the model came to its end.
    """
    from inspect_ai.model import ModelOutput

    return read_pair(
        ModelOutput.from_content("training", text, stop_reason="stop" if ended else "max_tokens")
    )


def pair_of(generation: Generation) -> ForwardPair | None:
    """Return both counterfactuals; none where a side is invalid."""
    risk, opportunity = generation.texts["risk"], generation.texts["opportunity"]
    if risk is None or opportunity is None:
        return None
    return ForwardPair(risk=risk, opportunity=opportunity)


def read_score(reply: str) -> tuple[float | None, str | None]:
    """Return the points in a judge's reply, or why there are none. Nothing is guessed.

    Returns:
        The points, 0 to 10, and none; or none and the reason.
    """
    found = {float(number) for number in _SCORE.findall(reply)}
    if not found:
        return None, "no 'score: …' in the reply"
    if len(found) > 1:
        return None, "several different scores"
    score = found.pop()
    if not 0 <= score <= HIGHEST:
        return None, f"a score of {score:g}, not 0 to {HIGHEST}"
    return score, None
