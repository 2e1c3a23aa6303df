"""The verdict of one judge on one criterion, and the majority verdict of a panel.

A judge answers with true or false in JSON (`judge_once`), or with one letter, T or F
(`judge_letter`). The written answer is the verdict; if it is one letter and the provider returns
the probabilities of the first token, the ratio of T to F is kept.

Any other reply is an invalid verdict with its reason. A call that fails raises: a judge's failure
is an error of the sample, never a "false".
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
from contrafact.models.opening import IN_PROCESS
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
"""Settings under which a judge gives the same answer to the same question."""

PANEL = "panel"
"""The name of a panel in place of a judge's name."""

TOP_LOGPROBS = 20
"""The number of alternatives to the first token that are requested: OpenAI's maximum."""

MIN_MASS = 0.5
"""The least probability that T and F together must have at the answer's token. With less, the
judge was about to say something else, and the two numbers mean nothing."""


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

    ``structured`` asks the provider to enforce the schema; ``subject`` holds the data that a
    verifier judges. ``graded`` are the texts that the prompt shows: parts of a reply that repeat
    them are not read as verdicts.
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
        default=None, description="The probability of T against F; None if unknown."
    )
    mass: float | None = Field(
        default=None, description="The probability of T and F together at the answer's token."
    )


def letter_of(output: ModelOutput, graded: Sequence[str] = ()) -> dict[str, Any]:
    """Return the T or F in an output, as fields of a `LetterVerdict`.

    The written letter counts. If the answer is only the letter, and its token's probabilities are
    known, they are kept; if T and F together had less than `MIN_MASS`, the letter came by chance
    and is invalid.
    """
    read = read_letter(output.completion, graded)
    if answer_in(output.completion).text not in ("T", "F"):
        # With a limit of one token, a longer reply was never possible.
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
    """Ask one judge one criterion about one text, to be answered with T or F; see `judge_once`.

    ``logprobs`` asks the provider for probabilities.
    """
    if is_verifier(model):
        return await _verified(LetterVerdict, model, prompt, criterion, subject, cache)
    config = JUDGE_CONFIG
    if logprobs:
        config = config.merge(GenerateConfig(logprobs=True, top_logprobs=TOP_LOGPROBS))
    if str(model).startswith(IN_PROCESS):
        # It does not reason, so that only its first token is read, and it would not
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
    # Outside an evaluation there is no log to record the call in.
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

    A tie is invalid, and so is a panel without a valid member. A panel of one is that judge.

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

    Return False if any failed; otherwise None if any is invalid (None) or there are none.
    """
    verdicts = list(passed)
    if False in verdicts:
        return False
    return None if not verdicts or None in verdicts else True


bound_judges: ContextVar[Sequence[Model] | None] = ContextVar("bound_judges", default=None)
"""The judges of a scorer that is called outside an evaluation, where there are no roles."""


def judges_of_role() -> list[Model]:
    """Return the models bound to Inspect's ``grader`` role, or in `bound_judges`.

    Raise an `InputError` if none is bound: no model judges itself unless told to.
    """
    # Rich, with which Inspect shows errors, then omits the frames: the message is one line.
    _rich_traceback_guard = True
    bound = bound_judges.get() or model_roles().get("grader")
    if not bound:
        raise InputError(
            "no judge is bound to the role 'grader'",
            hint="name one (--model-role grader=MODEL), or leave judging out (-T judged=false)",
        )
    return [bound] if isinstance(bound, Model) else list(bound)
