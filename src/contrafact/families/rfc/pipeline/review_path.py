"""What the decisions on one rewrite come to: retained, removed, or a hard case.

RFC-BENCH, sections 2.2.3 (post-annotation handling) and 2.2.4 (finalization). A pure function over
the decisions of one item; the order in which they stand in a file does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from contrafact.families.rfc.decisions import ReviewDecision, ReviewStage

__all__ = ["Fate", "State", "follow"]

State = Literal["retained", "removed", "hard case", "unreviewed"]


@dataclass(frozen=True)
class Fate:
    """What became of an item.

    Attributes:
        state: The outcome; ``unreviewed`` where too few people have looked.
        why: The reason.
        by: Who decided, as the ledger writes it.
        rewritten: The text that a revision gave it; none where nobody revised it.
    """

    state: State
    why: str
    by: str
    rewritten: str | None = None


@dataclass
class _Path:
    """The decisions of an item by stage, and the text that the latest revision gave it."""

    at: dict[ReviewStage, list[ReviewDecision]]
    rewritten: str | None = None

    def last(self, stage: ReviewStage) -> ReviewDecision | None:
        """Return the latest decision of a stage."""
        return self.at[stage][-1] if self.at.get(stage) else None

    def votes(self, stage: ReviewStage) -> list[ReviewDecision]:
        """Return the latest decision of each person at a stage."""
        latest = {decision.decided_by: decision for decision in self.at.get(stage, ())}
        return list(latest.values())

    def flagged(self, stage: ReviewStage) -> bool:
        """Return whether somebody was not sure in their latest decision at a stage."""
        return any(vote.flagged for vote in self.votes(stage))

    def end(self, state: State, why: str, by: str) -> Fate:
        return Fate(state, why, by, self.rewritten)


def follow(decisions: Sequence[ReviewDecision], *, annotators: int = 2) -> Fate:
    """Return what the decisions on one item come to.

    Expert review first: a removal is final, a revision changes the text. Then the annotators, and
    whoever audited the item: unanimous passes retain it; a category that all find wrong, which no
    rewriting mends, removes it; unanimous fails send it back for revision, and it is removed if it
    is not revised or fails again; any disagreement, and whatever an annotator has flagged, goes to
    the secondary review, and from there, unless that is unanimous, to arbitration. What arbitration
    leaves unresolved, or nobody has arbitrated, is a hard case.

    Args:
        decisions: All decisions on the item, in any order.
        annotators: How many people have to annotate it.
    """
    path = _Path(_by_stage(decisions))
    expert = path.last("expert-review")
    if expert is not None:
        if expert.decision in ("fail", "remove"):
            return path.end("removed", expert.why or "failed by the expert", _who(expert))
        revisions = [one for one in path.at["expert-review"] if one.decision == "revise"]
        if revisions:
            path.rewritten = revisions[-1].rewritten
            # A batch that the audit returned is reviewed again: what was audited before the text
            # was written anew speaks of another text.
            path.at["audit"] = [
                one for one in path.at.get("audit", ()) if one.time >= revisions[-1].time
            ]
    # An audit is of the text that the expert let through; its verdict counts like a vote.
    votes = path.votes("annotation") + path.votes("audit")
    annotated = len(path.votes("annotation"))
    if annotated < annotators:
        if annotated or any(vote.decision != "pass" for vote in votes):
            return _too_few(path, votes, annotated, annotators)
        return path.end("unreviewed", f"annotated by {annotated} of {annotators}", "rule:finalize")
    if path.flagged("annotation"):
        return _dispute(path, "an annotator is not sure")
    if all(vote.decision == "pass" for vote in votes):
        return path.end("retained", f"passed by all {len(votes)}", _people(votes))
    if any(vote.decision == "pass" for vote in votes):
        return _dispute(path, "the annotators disagree")
    if all(vote.decision == "mis-category" for vote in votes):
        return path.end("removed", "in the wrong category, all say", _people(votes))
    return _again(path, votes, annotators)


def _again(path: _Path, votes: Sequence[ReviewDecision], annotators: int) -> Fate:
    """After a unanimous fail: revision, and everybody's second look."""
    revision = path.last("revision")
    if revision is None:
        return path.end("removed", "failed by all, and not revised", _people(votes))
    if revision.decision == "remove":
        return path.end("removed", revision.why or "failed by all", _who(revision))
    path.rewritten = revision.rewritten
    second = path.votes("re-annotation")
    if len(second) < annotators:
        why = f"revised, and annotated again by {len(second)} of {annotators}"
        return path.end("hard case", why, "rule:finalize")
    if path.flagged("re-annotation"):
        return _dispute(path, "an annotator is not sure of the revision")
    if all(vote.decision == "pass" for vote in second):
        return path.end("retained", "passed by all when revised", _people(second))
    if any(vote.decision == "pass" for vote in second):
        return _dispute(path, "the annotators disagree on the revision")
    return path.end("removed", "failed by all, revised or not", _people(second))


def _dispute(path: _Path, why: str) -> Fate:
    """Adjudication: secondary review, then arbitration (2.2.4)."""
    votes = path.votes("secondary-review")
    answers = {vote.decision for vote in votes}
    if answers == {"pass"}:
        return path.end("retained", "passed by the secondary review", _people(votes))
    if answers == {"fail"}:
        return path.end("removed", _reasons(votes), _people(votes))
    arbiter = path.last("arbitration")
    if arbiter is None:
        seen = "the secondary review has not resolved it" if votes else "nobody has adjudicated"
        return path.end("hard case", f"{why}, and {seen}", "rule:finalize")
    if arbiter.decision == "pass":
        return path.end("retained", "passed by arbitration", _who(arbiter))
    if arbiter.decision == "fail":
        return path.end("removed", arbiter.why or "failed by arbitration", _who(arbiter))
    return path.end("hard case", arbiter.why or "unresolved by arbitration", _who(arbiter))


def _too_few(path: _Path, votes: Sequence[ReviewDecision], annotated: int, annotators: int) -> Fate:
    """Too few annotators; whoever looked and was not content makes it a case in dispute."""
    if all(vote.decision == "pass" for vote in votes):
        why = f"annotated by {annotated} of {annotators}"
        return path.end("unreviewed", why, "rule:finalize")
    return _dispute(path, "somebody failed it, and too few have annotated it")


def _by_stage(
    decisions: Sequence[ReviewDecision],
) -> dict[ReviewStage, list[ReviewDecision]]:
    at: dict[ReviewStage, list[ReviewDecision]] = {}
    for decision in sorted(decisions, key=lambda d: (d.time, d.round, d.decided_by)):
        at.setdefault(decision.stage, []).append(decision)
    return at


def _who(decision: ReviewDecision) -> str:
    return f"person:{decision.decided_by}"


def _people(votes: Sequence[ReviewDecision]) -> str:
    return "person:" + ", ".join(sorted({vote.decided_by for vote in votes}))


def _reasons(votes: Sequence[ReviewDecision]) -> str:
    said = dict.fromkeys(vote.why for vote in votes if vote.why and vote.decision != "pass")
    return "; ".join(said) or "failed"
