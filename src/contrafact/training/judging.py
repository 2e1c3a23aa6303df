"""Scores for candidates: by the model itself, by any Inspect model, or by the built-in checks.

FIN-FORCE, appendix B.2 and table 13. A reply that cannot be read as two counterfactuals has 0
points whoever judges, and nobody is asked about it. A judge's reply that cannot be read is counted
and left out of the average; it is never a score.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Protocol

from contrafact.errors import InputError
from contrafact.models.asking import failure_cause
from contrafact.models.whitebox.noise import Sampling
from contrafact.models.whitebox.weights import CausalModel
from contrafact.training.checks import check_pairs
from contrafact.training.config import JudgeSettings
from contrafact.training.dialogue import Dialogue, pair_of, read_answer, read_score
from contrafact.training.preferences import Scored
from contrafact.training.stages import Journal
from contrafact.training.together import do_together
from contrafact.training.writing import Reply, Said, write_replies

__all__ = ["Candidate", "Judge", "by_inspect", "by_self", "score_candidates"]

_AT_ONCE = 16


@dataclass(frozen=True)
class Candidate:
    """A reply about a headline, to be scored."""

    key: str
    headline: str
    reply: Reply


class Judge(Protocol):
    """Answers prompts that ask for points."""

    def __call__(self, prompts: Mapping[str, str], said: Said) -> Mapping[str, str]:
        """Return the reply to each prompt, by its key."""
        ...


def score_candidates(
    candidates: Sequence[Candidate],
    dialogue: Dialogue,
    settings: JudgeSettings,
    judge: Judge | None,
    said: Said = lambda _: None,
) -> tuple[list[Scored], Counter[str]]:
    """Return the candidates with their scores, and why judge's replies could not be read.

    Args:
        candidates: The candidates.
        dialogue: The prompts.
        settings: How many scores are averaged.
        judge: Who answers; none for the built-in checks.
        said: Called with how many more scores there are.
    """
    read = [read_answer(one.reply.text, ended=one.reply.ended) for one in candidates]
    pairs = [pair_of(generation) for generation in read]
    if judge is None:
        points = check_pairs([one.headline for one in candidates], read)
        said(len(candidates))
        return [
            _scored(one, pair is not None, point.score, (point.score,), 0)
            for one, pair, point in zip(candidates, pairs, points, strict=True)
        ], Counter()
    prompts = {
        f"{one.key} judged {sample}": dialogue.ask_score(one.headline, pair)
        for one, pair in zip(candidates, pairs, strict=True)
        if pair is not None
        for sample in range(settings.samples)
    }
    replies = judge(prompts, said)
    samples: dict[str, list[float]] = defaultdict(list)
    reasons: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    for key, reply in replies.items():
        candidate = key.rpartition(" judged ")[0]
        score, reason = read_score(reply)
        if score is None:
            reasons[reason or ""] += 1
            unread[candidate] += 1
        else:
            samples[candidate].append(score)
    made = []
    for one, pair in zip(candidates, pairs, strict=True):
        own = samples.get(one.key, [])
        score = 0.0 if pair is None else (fmean(own) if own else None)
        made.append(_scored(one, pair is not None, score, tuple(own), unread[one.key]))
    return made, reasons


def by_self(causal: CausalModel, settings: JudgeSettings, *, seed: int, journal: Journal) -> Judge:
    """Return the model itself as the judge.

    Args:
        causal: The model.
        settings: How it is sampled.
        seed: Seed of its noise.
        journal: Where its replies are kept.
    """

    def judge(prompts: Mapping[str, str], said: Said) -> Mapping[str, str]:
        replies = write_replies(
            causal,
            prompts,
            seed=seed,
            sampling=Sampling(settings.temperature, settings.top_p),
            max_tokens=settings.max_tokens,
            journal=journal,
            said=said,
        )
        return {key: reply.text for key, reply in replies.items()}

    return judge


def by_inspect(settings: JudgeSettings, *, seed: int, journal: Journal) -> Judge:
    """Return any Inspect model as the judge; answers that came are kept when a call fails.

    Args:
        settings: The model's name and how it is sampled.
        seed: A seed for services that take one; each sample has its own.
        journal: Where its replies are kept.
    """
    from inspect_ai.model import GenerateConfig, get_model

    def judge(prompts: Mapping[str, str], said: Said) -> Mapping[str, str]:
        try:
            model = get_model(settings.by)
        except Exception as error:
            raise InputError(
                f"the judge '{settings.by}' cannot be had: {failure_cause(error)}",
                hint="name it as Inspect does, or say self or checks",
            ) from error

        async def one(number: int, key: str) -> None:
            config = GenerateConfig(
                temperature=settings.temperature,
                top_p=settings.top_p,
                max_tokens=settings.max_tokens,
                seed=seed + number % settings.samples,
            )
            try:
                output = await model.generate(prompts[key], config=config)
            except Exception as error:
                raise InputError(
                    f"the judge '{settings.by}' failed: {failure_cause(error)}",
                    hint="repeat the command to go on: answers that came are kept",
                ) from error
            journal.keep(key, output.completion)
            said(1)

        todo = [(number, key) for number, key in enumerate(prompts) if key not in journal]
        said(len(prompts) - len(todo))
        do_together((partial(one, *each) for each in todo), at_once=_AT_ONCE)
        return {key: journal[key] for key in prompts}

    return judge


def _scored(
    one: Candidate, valid: bool, score: float | None, samples: tuple[float, ...], unread: int
) -> Scored:
    return Scored(
        headline=one.headline,
        text=one.reply.text,
        ended=one.reply.ended,
        valid=valid,
        score=score,
        samples=samples,
        unreadable=unread,
    )
