"""A judge's answer to one criterion, and a panel's: single model calls, and the majority of them.

A judge answers by JSON, true or false (`judge_once`), or by one character, T or F (`judge_letter`).
What is written is the verdict; where it is that one character and the provider gives the
probabilities of the first token, the ratio of T to F is kept.

A reply that is neither is an invalid verdict with its reason. A call that fails raises: a judge's
failure is an error of the sample, never a "false".
"""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from inspect_ai.model import (
    CachePolicy,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
    model_roles,
)
from inspect_ai.util import JSONSchema
from pydantic import Field

from contrafact.errors import InputError
from contrafact.judges.probabilities import answer_masses
from contrafact.judges.replies import answer_in, read_bool, read_letter
from contrafact.judges.verifier import UNDECIDED, Subject, decision_by, is_verifier, reader_of
from contrafact.models.asking import CUT_OFF, answer, cut_off, no_answer
from contrafact.models.requests import SharedSchema, closed_object
from contrafact.records import Verdict
from contrafact.stats.votes import majority

__all__ = [
    "JUDGE_CONFIG",
    "LetterVerdict",
    "all_pass",
    "bound_judges",
    "judge_letter",
    "judge_once",
    "judges_of_role",
    "panel_verdict",
]

_V = TypeVar("_V", bound=Verdict)

JUDGE_CONFIG = GenerateConfig(temperature=0.0)
"""A judge answers the same question the same way."""

PANEL = "panel"
"""What a panel is called where a judge is named."""

TOP_LOGPROBS = 20
"""How many alternatives to the first token are asked for: the most that OpenAI gives."""

MIN_MASS = 0.5
"""The least that T and F together must have of the probability of its token. With less, the
judge was about to say something else altogether, and the two numbers say nothing."""


@cache
def bool_schema(criterion: str) -> ResponseSchema:
    """Return the response schema ``{criterion: {"value": true or false}}``."""
    value = closed_object({"value": JSONSchema(type="boolean")})
    return SharedSchema(name=criterion, json_schema=closed_object({criterion: value}), strict=True)


async def judge_once(
    model: Model,
    prompt: str,
    criterion: str,
    *,
    structured: bool,
    subject: Subject | None = None,
    graded: Sequence[str] = (),
    cache: bool | CachePolicy = False,
) -> Verdict:
    """Ask one judge one criterion about one text.

    A reply that is neither true nor false is an invalid verdict with its reason. A call that fails
    raises: a judge's failure is an error of the sample, never a "false". ``structured`` asks the
    provider to hold the reply to the schema; ``subject`` is what a verifier judges, as data, and
    ``graded`` are the texts that the prompt shows: what of a reply repeats them is no verdict.
    """
    if is_verifier(model):
        return await _verified(Verdict, model, prompt, criterion, subject, cache)
    config = JUDGE_CONFIG
    if structured:
        config = config.model_copy(update={"response_schema": bool_schema(criterion)})
    output = await answer(model, prompt, config, cache)
    invalid = no_answer(output)
    read = read_bool(output.completion, criterion, graded) if invalid is None else None
    return Verdict(
        criterion=criterion,
        passed=read and read.value,
        invalid=read.invalid if read else invalid,
        judge=str(model),
        reply=output.completion,
    )


class LetterVerdict(Verdict):
    """A verdict that may come with the probability it was read from."""

    probability: float | None = Field(
        default=None, description="Of T against F, 0 to 1; none where the provider gave none."
    )
    mass: float | None = Field(
        default=None, description="What T and F together have of the next token's probability."
    )


def letter_of(output: ModelOutput, graded: Sequence[str] = ()) -> dict[str, Any]:
    """Return the T or F of an output, as fields of a `LetterVerdict`.

    What is written counts. Where the answer is that one letter, with the probabilities of its token
    at hand, they are kept; a letter that together with the other had less than `MIN_MASS` of them
    came by chance, and is none.
    """
    read = read_letter(output.completion, graded)
    if answer_in(output.completion).text not in ("T", "F"):
        # Where one token was asked for, more of them would not have been an answer.
        more = output.usage is None or output.usage.output_tokens > 1
        if cut_off(output) and more:
            return {"passed": None, "invalid": CUT_OFF}
        return {"passed": read.value, "invalid": read.invalid}
    fields = {"passed": read.value, "invalid": read.invalid}
    masses = answer_masses(output, read.at, ("T", "F"))
    if masses is None:
        return fields
    mass = min(1.0, sum(masses.values()))
    if mass < MIN_MASS:
        why = f"T and F together have {mass:.0%} of its token's probability"
        fields = {"passed": None, "invalid": why}
    return {**fields, "probability": masses["T"] / sum(masses.values()), "mass": mass}


async def judge_letter(
    model: Model,
    prompt: str,
    criterion: str,
    *,
    logprobs: bool = True,
    subject: Subject | None = None,
    graded: Sequence[str] = (),
    cache: bool | CachePolicy = False,
) -> LetterVerdict:
    """Ask one judge one criterion about one text, to be answered by T or F; see `judge_once`.

    ``logprobs`` asks for probabilities.
    """
    if is_verifier(model):
        return await _verified(LetterVerdict, model, prompt, criterion, subject, cache)
    config = JUDGE_CONFIG
    if logprobs:
        config = config.merge(GenerateConfig(logprobs=True, top_logprobs=TOP_LOGPROBS))
    if str(model).startswith(("embedded/", "whitebox/")):
        # It does not reason, so that its first token is all there is to read, and it would not
        # stop by itself. Others may need tokens to reason with before they answer.
        config = config.merge(GenerateConfig(max_tokens=1))
    output = await answer(model, prompt, config, cache)
    invalid = no_answer(output, cut=False)
    letter = letter_of(output, graded) if invalid is None else {"passed": None, "invalid": invalid}
    return LetterVerdict(criterion=criterion, judge=str(model), reply=output.completion, **letter)


async def _verified(
    kind: type[_V],
    model: Model,
    prompt: str,
    criterion: str,
    subject: Subject | None,
    cache: bool | CachePolicy,
) -> _V:
    # Outside an evaluation there is no log that a call would stand in.
    direct = bound_judges.get() and not reader_of(model)
    decide = getattr(model.api, "decide", None) if direct else None
    if decide is None:
        decision = await decision_by(model, prompt, criterion, subject, cache=cache)
    else:
        decision = decide(criterion, subject or {})
    invalid = f"{UNDECIDED}: {decision.reason}" if decision.passed is None else None
    return kind(
        criterion=criterion,
        passed=decision.passed,
        invalid=invalid,
        judge=str(model),
        reply=decision.reason,
        read=decision.read,
        **({"probability": decision.probability} if kind is LetterVerdict else {}),
    )


def panel_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the panel's verdict on one criterion: the majority of the valid members.

    A tie is invalid, and so is a panel without one valid member. A panel of one is its member.

    Raises:
        ValueError: if there is no verdict, or the verdicts are on different criteria.
    """
    if not verdicts:
        raise ValueError("a panel needs at least one verdict")
    criterion = verdicts[0].criterion
    if any(verdict.criterion != criterion for verdict in verdicts):
        raise ValueError("a panel votes on one criterion at a time")
    if len(verdicts) == 1:
        return verdicts[0]
    valid = [verdict.passed for verdict in verdicts if verdict.passed is not None]
    passed = majority(valid)
    reason = None if passed is not None else "tie" if valid else "no valid verdict"
    return Verdict(criterion=criterion, passed=passed, invalid=reason, judge=PANEL)


def all_pass(passed: Iterable[bool | None]) -> bool | None:
    """Return whether all of several verdicts on one text passed.

    One failure decides, whatever the others are. Without one, an invalid verdict (None) leaves it
    open, and so does having no verdict at all.
    """
    verdicts = list(passed)
    if False in verdicts:
        return False
    return None if not verdicts or None in verdicts else True


bound_judges: ContextVar[Sequence[Model] | None] = ContextVar("bound_judges", default=None)
"""The judges where a scorer is called outside an evaluation, which has roles of its own."""


def judges_of_role() -> list[Model]:
    """Return the models bound to Inspect's ``grader`` role, or in `bound_judges`.

    It raises `InputError` if none is bound: no model judges itself unasked.
    """
    # Rich, by which Inspect shows an error, then leaves the frames out: what is wrong is one line.
    _rich_traceback_guard = True
    bound = bound_judges.get() or model_roles().get("grader")
    if not bound:
        raise InputError(
            "no judge is bound to the role 'grader'",
            hint="name one (--model-role grader=MODEL), or leave judging out (-T judged=false)",
        )
    return [bound] if isinstance(bound, Model) else list(bound)
