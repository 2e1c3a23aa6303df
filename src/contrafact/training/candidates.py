"""Candidate pairs: several replies about each headline, drawn apart (FIN-FORCE, B.2).

They are the model's own replies, or what a generation method makes with it: so a preference set is
built from the outputs of ``lm-counterfactuals`` (section 5.4).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from contrafact.families.finforce.generation import run_method
from contrafact.families.finforce.methods import METHODS
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask
from contrafact.models.whitebox.noise import Sampling
from contrafact.models.whitebox.weights import CausalModel
from contrafact.prompts import PromptPack
from contrafact.records import Headline, content_id
from contrafact.training.config import Candidates
from contrafact.training.dialogue import Dialogue, answer_text, pair_of
from contrafact.training.judging import Candidate
from contrafact.training.stages import Journal
from contrafact.training.together import do_together
from contrafact.training.writing import Reply, Said, write_replies

__all__ = ["by_method", "check_method", "write_candidates"]

_AT_ONCE = 48


def write_candidates(
    causal: CausalModel,
    dialogue: Dialogue,
    headlines: Sequence[str],
    settings: Candidates,
    *,
    seed: int,
    iteration: int,
    journal: Journal,
    said: Said = lambda _: None,
) -> list[Candidate]:
    """Return the candidates of all headlines, in order.

    Args:
        causal: The model.
        dialogue: The prompts.
        headlines: The headlines.
        settings: How many, and how sampled.
        seed: Seed of the noise.
        iteration: Which iteration this is.
        journal: Where replies are kept.
        said: Called with how many more there are.
    """
    about = _keys(headlines, settings, iteration)
    replies = write_replies(
        causal,
        {key: dialogue.ask_pair(headline) for key, (headline, _) in about.items()},
        seed=seed,
        sampling=Sampling(settings.temperature, settings.top_p),
        max_tokens=settings.max_tokens,
        journal=journal,
        said=said,
    )
    return [Candidate(key, headline, replies[key]) for key, (headline, _) in about.items()]


def by_method(
    model: str,
    pack: PromptPack,
    headlines: Sequence[str],
    settings: Candidates,
    *,
    seed: int,
    iteration: int,
    journal: Journal,
    said: Said = lambda _: None,
) -> list[Candidate]:
    """Return the candidates that a method makes, each as the reply that would have held it.

    One that is invalid is an empty reply, which says nothing and is preferred to nothing.

    Args:
        model: The model's folder or name.
        pack: The method's prompts.
        headlines: The headlines.
        settings: The method, and how many it is to make of each headline.
        seed: Seed of the method.
        iteration: Which iteration this is.
        journal: Where candidates are kept.
        said: Called with how many more there are.

    Raises:
        InputError: There is no such method, or it cannot work with this model.
    """
    from inspect_ai.model import GenerateConfig, get_model

    name = f"whitebox/{model}"
    context = MethodContext(pack=pack, seed=seed * 1_000 + iteration, models=(name,))
    method = METHODS.make(METHODS.spec(settings.method, _drawn(settings)), context)
    ask = Ask(get_model(name, config=GenerateConfig(**_drawn(settings), seed=seed)))
    about = _keys(headlines, settings, iteration)

    async def one(key: str, headline: str, number: int) -> None:
        made = await run_method(method, Headline.of(headline), ask, draw=number + 1)
        pair = pair_of(made)
        journal.keep(key, "" if pair is None else answer_text(headline, pair))
        said(1)

    todo = {key: of for key, of in about.items() if key not in journal}
    said(len(about) - len(todo))
    do_together((partial(one, key, *of) for key, of in todo.items()), at_once=_AT_ONCE)
    return [
        Candidate(key, headline, Reply(journal[key], True)) for key, (headline, _) in about.items()
    ]


def check_method(settings: Candidates, pack: PromptPack) -> None:
    """Check that candidates can be made as a config says.

    Raises:
        InputError: There is no such method, or its prompts or options are not in order.
    """
    METHODS.make(METHODS.spec(settings.method, _drawn(settings)), MethodContext(pack=pack))


def _drawn(settings: Candidates) -> dict[str, Any]:
    """Return how texts are sampled: by a method that samples itself, or through the model."""
    return {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens,
    }


def _keys(
    headlines: Sequence[str], settings: Candidates, iteration: int
) -> dict[str, tuple[str, int]]:
    """Return each candidate's key, with its headline and number."""
    return {
        f"candidate {iteration}.{content_id(headline, prefix='h')}.{number}": (headline, number)
        for headline in headlines
        for number in range(settings.per_headline)
    }
