"""Several verdicts: a panel's members, the majority of their verdicts, and a text's conjunction."""

from collections.abc import Iterable, Sequence

from inspect_ai.model import Model, model_roles

from contrafact.errors import InputError
from contrafact.records import Verdict

__all__ = ["PANEL", "all_pass", "judges_of_role", "majority"]

PANEL = "panel"


def majority(verdicts: Sequence[Verdict]) -> Verdict:
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
    yes = sum(verdict.passed is True for verdict in verdicts)
    no = sum(verdict.passed is False for verdict in verdicts)
    if yes == no:
        reason = "tie" if yes else "no valid verdict"
        return Verdict(criterion=criterion, passed=None, invalid=reason, judge=PANEL)
    return Verdict(criterion=criterion, passed=yes > no, judge=PANEL)


def all_pass(passed: Iterable[bool | None]) -> bool | None:
    """Return whether all of several verdicts on one text passed.

    One failure decides, whatever the others are. Without one, an invalid verdict (None) leaves it
    open, and so does having no verdict at all.
    """
    verdicts = list(passed)
    if False in verdicts:
        return False
    return None if not verdicts or None in verdicts else True


def judges_of_role() -> list[Model]:
    """Return the models bound to Inspect's ``grader`` role.

    Raises:
        InputError: if none is bound. No model judges itself unasked.
    """
    bound = model_roles().get("grader")
    if bound is None:
        raise InputError(
            "no judge is bound to the role 'grader'",
            hint="name one (--model-role grader=MODEL), or leave judging out (-T judged=false)",
        )
    return list(bound) if isinstance(bound, (list, tuple)) else [bound]
