"""What people decided about rewrites: a file with a published schema (RFC-BENCH, 2.2.3, 2.2.4).

One decision a line: who, what, when, at which stage. The schema ships as ``decisions.schema.json``;
whatever collects decisions (a spreadsheet, a script, a review studio) writes files that keep it.
What the decisions on one pair come to (post-annotation handling, 2.2.3, and finalization, 2.2.4) is
`follow`, a pure function: the order in which they stand in a file does not matter.

===================  =============================================  ===============================
stage                who                                            decisions
===================  =============================================  ===============================
``expert-review``    expert A, on every rewrite                     pass, fail, revise, remove
``audit``            expert B, on a sample                          pass, fail
``annotation``       two annotators, apart from each other          pass, fail, mis-category
``revision``         expert A, on what all annotators failed        revise, remove
``re-annotation``    the annotators, on what was revised            pass, fail, mis-category
``secondary-review`` expert B with a strict annotator, on disputes  pass, fail, unresolved
``arbitration``      expert A, on what is still in dispute          pass, fail, unresolved
===================  =============================================  ===============================
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from contrafact.errors import InputError, value_problem
from contrafact.files.tables import read_rows, source_name

ReviewStage = Literal[
    "expert-review",
    "audit",
    "annotation",
    "revision",
    "re-annotation",
    "secondary-review",
    "arbitration",
]
ReviewAnswer = Literal["pass", "fail", "mis-category", "revise", "remove", "unresolved"]

ALLOWED: dict[ReviewStage, tuple[ReviewAnswer, ...]] = {
    "expert-review": ("pass", "fail", "revise", "remove"),
    "audit": ("pass", "fail"),
    "annotation": ("pass", "fail", "mis-category"),
    "revision": ("revise", "remove"),
    "re-annotation": ("pass", "fail", "mis-category"),
    "secondary-review": ("pass", "fail", "unresolved"),
    "arbitration": ("pass", "fail", "unresolved"),
}
APART_FROM: dict[ReviewStage, tuple[ReviewStage, ...]] = {
    "secondary-review": ("annotation", "re-annotation"),
    "arbitration": ("annotation", "re-annotation", "secondary-review"),
}
"""Whose own verdicts a stage rules on: nobody decides at it on an item of theirs (2.2.4)."""
REVIEW_STAGES: tuple[ReviewStage, ...] = tuple(ALLOWED)


class ReviewDecision(BaseModel):
    """One person's decision on one rewrite. Further fields are kept as they are."""

    model_config = ConfigDict(
        frozen=True, extra="allow", title="A review decision", str_strip_whitespace=False
    )

    item_id: str = Field(min_length=1, description="The id of the pair, as in the file of pairs.")
    stage: ReviewStage = Field(description="The stage of the review.")
    decided_by: str = Field(min_length=1, description="Who decided: a name, or a role.")
    decision: ReviewAnswer = Field(description="What was decided; each stage has its own answers.")
    when: str = Field(description="The time of the decision, ISO 8601.")
    why: str = Field(default="", description="The reason, in a few words.")
    rewritten: str | None = Field(
        default=None, min_length=1, description="With 'revise', the text as it is to be."
    )
    inclusion_probability: float | None = Field(
        default=None,
        gt=0.0,
        le=1.0,
        description="In an audit, the probability with which the item was drawn.",
    )
    round: int = Field(default=1, ge=1, description="Which round of an audit that is repeated.")
    flagged: bool = Field(default=False, description="Whether whoever decided was not sure.")
    review_edited: dict[str, str] = Field(
        default={},
        description="Fields of the pair that were changed before it was decided on, as they are.",
    )

    @field_validator("when")
    @classmethod
    def _is_time(cls, value: str) -> str:
        datetime.fromisoformat(value)
        return value

    @field_validator("review_edited", mode="before")
    @classmethod
    def _is_object(cls, value: Any) -> Any:
        if value is None:
            return {}
        return json.loads(value) if isinstance(value, str) else value  # a text table's cell

    @field_validator("item_id", "decided_by")
    @classmethod
    def _is_not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is blank")
        return value

    @model_validator(mode="after")
    def _fits_its_stage(self) -> Self:
        if self.decision not in ALLOWED[self.stage]:
            raise ValueError(
                f"'{self.decision}' is no decision of {self.stage}: "
                f"use {', '.join(ALLOWED[self.stage])}"
            )
        if (self.decision == "revise") != (self.rewritten is not None):
            raise ValueError("'rewritten' belongs to a decision 'revise', and only there")
        return self

    @property
    def time(self) -> datetime:
        """When it was decided; a time without a zone counts as UTC."""
        time = datetime.fromisoformat(self.when)
        return time if time.tzinfo else time.replace(tzinfo=UTC)


def load_decisions(path: str | Path, item_ids: Iterable[str] | None = None) -> list[ReviewDecision]:
    """Return the decisions of a file, in its order.

    JSON Lines, JSON, CSV or Parquet; in CSV an empty cell is a field that is not there, and the
    apostrophe that guards a cell from being taken for a formula is none of its text.

    Raises:
        InputError: The file cannot be read, or a row does not keep the schema, decides on an item
            that is not there, repeats a person's decision at one stage and time, or rules on a
            dispute that its own author is part of. The line is named.
    """
    known = None if item_ids is None else set(item_ids)
    name = source_name(path)
    found: list[ReviewDecision] = []
    seen: dict[tuple[str, str, str, int, str], int] = {}
    for line, row in read_rows(path, guarded=True):
        given = {name: value for name, value in row.items() if value not in (None, "")}
        try:
            decision = ReviewDecision.model_validate(given)
        except ValidationError as error:
            raise InputError(
                _problem_of(error),
                file=name,
                line=line,
                hint="see `contrafact rfc finalize --schema`",
            ) from error
        if known is not None and decision.item_id not in known:
            raise InputError(
                f"there is no item '{decision.item_id[:40]}' among the pairs",
                file=name,
                line=line,
                hint="give the file of pairs that was reviewed",
            )
        key = (decision.item_id, decision.stage, decision.decided_by, decision.round, decision.when)
        if key in seen:
            raise InputError(
                f"'{decision.decided_by}' decides on {decision.item_id} twice at one time "
                f"(first on line {seen[key]})",
                file=name,
                line=line,
                hint="leave one of them out",
            )
        seen[key] = line
        found.append(decision)
    if partial := _ruling_on_itself(found, seen.values()):
        raise InputError(partial[1], file=name, line=partial[0], hint=_RULE_APART)
    return found


_RULE_APART = "leave the ruling out, and have somebody rule who took no part in the dispute"


def _ruling_on_itself(
    decisions: Sequence[ReviewDecision], lines: Iterable[int]
) -> tuple[int, str] | None:
    """Return the line of a ruling by somebody whose own verdict it is about, and what is wrong."""
    took_part: dict[tuple[str, str], dict[ReviewStage, int]] = {}
    numbered = list(zip(decisions, lines, strict=True))
    for one, line in numbered:
        own = took_part.setdefault((one.item_id, _folded(one.decided_by)), {})
        own.setdefault(one.stage, line)
    for one, line in numbered:
        own = took_part[one.item_id, _folded(one.decided_by)]
        for stage in APART_FROM.get(one.stage, ()):
            if stage in own:
                return line, (
                    f"'{one.decided_by}' rules at {one.stage} on {one.item_id}, a dispute of their "
                    f"own ({stage}, line {own[stage]})"
                )
    return None


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


State = Literal["retained", "removed", "hard case", "unreviewed"]


@dataclass(frozen=True)
class Fate:
    """What became of an item."""

    state: State
    why: str
    by: str
    rewritten: str | None = None
    experts: tuple[ReviewDecision, ...] = ()


@dataclass
class _Path:
    """An item's decisions by stage, its text as last revised, and who let that through."""

    at: dict[ReviewStage, list[ReviewDecision]]
    rewritten: str | None = None
    experts: tuple[ReviewDecision, ...] = ()

    def last(self, stage: ReviewStage) -> ReviewDecision | None:
        return self.at[stage][-1] if self.at.get(stage) else None

    def votes(self, stage: ReviewStage) -> list[ReviewDecision]:
        latest = {decision.decided_by: decision for decision in self.at.get(stage, ())}
        return list(latest.values())

    def flagged(self, stage: ReviewStage) -> bool:
        return any(vote.flagged for vote in self.votes(stage))

    def end(self, state: State, why: str, by: str) -> Fate:
        return Fate(state, why, by, self.rewritten, self.experts)


def follow(decisions: Sequence[ReviewDecision], *, annotators: int = 2) -> Fate:
    """Return what the decisions on one item come to.

    Expert review first: a removal is final, a revision changes the text. Then the annotators, and
    whoever audited the item: unanimous passes retain it; a category that all find wrong, which no
    rewriting can fix, removes it; unanimous fails send it back for revision, and it is removed if
    it is not revised or fails again; any disagreement, and whatever an annotator has flagged, goes
    to the secondary review, and from there, unless that is unanimous, to arbitration. What
    arbitration leaves unresolved, or nobody has arbitrated, is a hard case.
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
        written = [one for one in revisions[-1:] if one is not expert]
        path.experts = (*written, expert)
    path.experts += tuple(one for one in path.votes("audit") if one.decision == "pass")
    # An audit is of the text that the expert let through; its verdict counts like a vote.
    votes = path.votes("annotation") + path.votes("audit")
    annotated = len(path.votes("annotation"))
    if annotated < annotators:
        if any(vote.decision != "pass" for vote in votes):
            return _dispute(path, "somebody failed it, and too few have annotated it")
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
    path.rewritten, path.experts = revision.rewritten, (revision,)
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
        path.experts = tuple(votes)
        return path.end("retained", "passed by the secondary review", _people(votes))
    if answers == {"fail"}:
        reasons = dict.fromkeys(vote.why for vote in votes if vote.why)
        return path.end("removed", "; ".join(reasons) or "failed", _people(votes))
    arbiter = path.last("arbitration")
    if arbiter is None:
        seen = "the secondary review has not resolved it" if votes else "nobody has adjudicated"
        return path.end("hard case", f"{why}, and {seen}", "rule:finalize")
    if arbiter.decision == "pass":
        path.experts = (arbiter,)
        return path.end("retained", "passed by arbitration", _who(arbiter))
    if arbiter.decision == "fail":
        return path.end("removed", arbiter.why or "failed by arbitration", _who(arbiter))
    return path.end("hard case", arbiter.why or "unresolved by arbitration", _who(arbiter))


def _by_stage(decisions: Sequence[ReviewDecision]) -> dict[ReviewStage, list[ReviewDecision]]:
    at: dict[ReviewStage, list[ReviewDecision]] = {}
    for decision in sorted(decisions, key=lambda d: (d.time, d.round, d.decided_by)):
        at.setdefault(decision.stage, []).append(decision)
    return at


def _who(decision: ReviewDecision) -> str:
    return f"person:{decision.decided_by}"


def _people(votes: Sequence[ReviewDecision]) -> str:
    return "person:" + ", ".join(sorted({vote.decided_by for vote in votes}))


def published_schema() -> str:
    """Return the schema as it ships: ``decisions.schema.json``."""
    return files("contrafact.families.rfc").joinpath("decisions.schema.json").read_text("utf-8")


def _problem_of(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place + ': ' if place else ''}{value_problem(first)}"
