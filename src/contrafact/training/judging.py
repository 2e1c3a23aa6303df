"""Scores for candidates: by the model itself, by any Inspect model, or by the family's checks.

A reply that cannot be read as an answer gets 0 points without a call of the judge. An unreadable
reply of the judge is counted and left out of the average; it is never a score.
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from inspect_ai.model import GenerateConfig

from contrafact.errors import InputError
from contrafact.files.journal import Journal
from contrafact.judges.replies import answer_in
from contrafact.models.asking import answer, failure_cause, kept_reply
from contrafact.models.opening import open_model
from contrafact.models.whitebox.weights import CausalModel
from contrafact.training.context import Advance, TrainingContext
from contrafact.training.generation import Candidate, generate_replies
from contrafact.training.preferences import ScoredCandidate

_HIGHEST = 10  # the most points of an answer
_AT_ONCE = 16
_SCORE = re.compile(
    r"(?<!not )\bscore\b[\s*_`\"']*[:=][\s*_`\"']*(-?\d+(?:\.\d+)?)"
    r"(?!\w|\s*(?:%|[-–,./]\s*(?!10\b)\d|(?:or|to)\s+-?\d|out of (?!10\b|ten\b)))",  # of 10, if any
    re.IGNORECASE,
)


def read_score(reply: str, graded: str = "") -> tuple[float | None, str | None]:
    """Return the points in a judge's reply, from 0 to 10, or None and the reason."""
    read = answer_in(reply, [graded])
    if read.invalid:
        return None, read.invalid
    scores = {float(number) for number in _SCORE.findall(read.text)}
    if not scores:
        return None, "no 'score: …' in the reply"
    if len(scores) > 1:
        return None, "several different scores"
    score = scores.pop()
    if not 0 <= score <= _HIGHEST:
        return None, f"a score of {score:g}, not 0 to {_HIGHEST}"
    return score, None


def score_candidates(
    context: TrainingContext,
    candidates: Sequence[Candidate],
    model: Callable[[], CausalModel],
    journal: Journal,
    advance: Advance = lambda _: None,
) -> tuple[list[ScoredCandidate], Counter[str]]:
    """Return the candidates with scores, and counts of the reasons of unreadable judge replies.

    Args:
        model: A function that loads the trained model, if it judges itself.
        journal: The journal that keeps the judge's replies.
    """
    spec = context.spec
    read = [spec.read(candidate.reply.text, candidate.reply.ended) for candidate in candidates]
    answers = [reply.answer for reply in read]
    samples: dict[str, list[float]] = defaultdict(list)
    reasons: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    if context.config.judge.by == "checks":
        checked = spec.check([candidate.item for candidate in candidates], read)
        scored = zip(candidates, checked, strict=True)
        samples |= {candidate.key: [check.score] for candidate, check in scored}
        advance(len(candidates))
    else:
        asked = {
            f"{candidate.key} judged {sample}": context.prompts.score(candidate.item, answer)
            for candidate, answer in zip(candidates, answers, strict=True)
            if answer is not None
            for sample in range(context.config.judge.samples)
        }
        if context.config.judge.by == "self":
            written = generate_replies(
                model(),
                asked,
                settings=context.config.judge,
                seed=context.config.seed,
                journal=journal,
                advance=advance,
            )
            replies = {key: reply.text for key, reply in written.items()}
        else:
            replies = _by_inspect(context, journal, asked, advance)
        graded = {candidate.key: candidate.reply.text for candidate in candidates}
        for key, reply in replies.items():
            name = key.rpartition(" judged ")[0]
            score, reason = read_score(reply, graded[name])
            if score is None:
                reasons[reason or ""] += 1
                unread[name] += 1
            else:
                samples[name].append(score)
    return [
        ScoredCandidate(
            item=candidate.item,
            text=candidate.reply.text,
            ended=candidate.reply.ended,
            valid=answer is not None,
            score=fmean(scores)
            if (scores := samples[candidate.key])
            else (0.0 if answer is None else None),
            samples=tuple(scores),
            unreadable=unread[candidate.key],
        )
        for candidate, answer in zip(candidates, answers, strict=True)
    ], reasons


def _by_inspect(
    context: TrainingContext, journal: Journal, prompts: Mapping[str, str], advance: Advance
) -> dict[str, str]:
    """Return the replies of an Inspect model; each sample has its own seed."""
    settings = context.config.judge
    model = open_model(settings.by, transport={})
    seeds = {key: number % settings.samples for number, key in enumerate(prompts)}

    async def reply(key: str) -> str:
        config = GenerateConfig(
            temperature=settings.temperature,
            top_p=settings.top_p,
            max_tokens=settings.max_tokens,
            seed=context.config.seed + seeds[key],
        )
        return kept_reply(await answer(model, prompts[key], config))

    work = journal.fill(prompts, reply, at_once=_AT_ONCE, each=lambda _: advance(1))
    for failure in asyncio.run(work).values():
        raise InputError(
            f"the judge '{settings.by}' failed: {failure_cause(failure)}",
            hint="repeat the command to go on: received answers are kept",
        ) from failure
    return {key: journal.known[key] for key in prompts}
