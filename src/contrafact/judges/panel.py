"""A panel of judges: the majority of its members' verdicts."""

from collections.abc import Sequence

from contrafact.records import Verdict

__all__ = ["PANEL", "majority"]

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
