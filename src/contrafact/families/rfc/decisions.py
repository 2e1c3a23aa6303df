"""What people decided about rewrites: a file with a published schema (RFC-BENCH, 2.2.3, 2.2.4).

One decision a line: who, what, when, at which stage. The schema ships as ``decisions.schema.json``;
anything that collects decisions (a spreadsheet, a script, a review studio) writes files that follow
it. The function `follow` returns the outcome of the decisions on one pair (post-annotation
handling, 2.2.3, and finalization, 2.2.4); their order in a file does not matter.

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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from contrafact.errors import InputError, value_problem
from contrafact.family.review import Rule, review_steps, rule_for
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
"""For each stage, the stages whose verdicts it rules on; nobody rules on their own (2.2.4)."""
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
        default=None, min_length=1, description="With 'revise', the new text."
    )
    inclusion_probability: float | None = Field(
        default=None,
        gt=0.0,
        le=1.0,
        description="In an audit, the probability with which the item was drawn.",
    )
    round: int = Field(default=1, ge=1, description="Which round of an audit that is repeated.")
    flagged: bool = Field(default=False, description="Whether the person who decided was unsure.")
    review_edited: dict[str, str] = Field(
        default={},
        description="The pair's fields that were changed before the decision, as they are now.",
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
                f"'{self.decision}' is not a decision of {self.stage}: "
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

    JSON Lines, JSON, CSV or Parquet; in CSV an empty cell means that the field is missing, and the
    apostrophe that keeps a cell from being read as a formula is removed.

    Raises:
        InputError: The file cannot be read, or a row does not fit the schema, decides on an unknown
            item, repeats a person's decision at one stage and time, or rules on a dispute in which
            its author took part. The line is named.
    """
    known = None if item_ids is None else set(item_ids)
    name = source_name(path)
    loaded: list[ReviewDecision] = []
    seen: dict[tuple[str, str, str, int, str], int] = {}
    for line, row in read_rows(path, guarded=True):
        try:
            decision = _decision(row, known)
            who = decision.item_id, decision.stage, decision.decided_by
            key = (*who, decision.round, decision.when)
            if key in seen:
                raise InputError(
                    f"'{decision.decided_by}' decides on {decision.item_id} twice at one time "
                    f"(first on line {seen[key]})",
                    hint="leave one of them out",
                )
        except InputError as error:
            raise error.at(name, line) from error
        seen[key] = line
        loaded.append(decision)
    if partial := _ruling_on_itself(loaded, seen.values()):
        raise InputError(partial[1], file=name, line=partial[0], hint=_RULE_APART)
    return loaded


def _decision(row: Mapping[str, Any], known: Collection[str] | None) -> ReviewDecision:
    given = {name: value for name, value in row.items() if value not in (None, "")}
    try:
        decision = ReviewDecision.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        problem = f"{place + ': ' if place else ''}{value_problem(first)}"
        raise InputError(problem, hint="see `contrafact rfc finalize --schema`") from error
    if known is not None and decision.item_id not in known:
        raise InputError(
            f"there is no item '{decision.item_id[:40]}' among the pairs",
            hint="give the file of pairs that was reviewed",
        )
    return decision


_RULE_APART = "leave the ruling out, and let somebody rule who took no part in the dispute"


def _ruling_on_itself(
    decisions: Sequence[ReviewDecision], lines: Iterable[int]
) -> tuple[int, str] | None:
    """Return the line of a ruling on its author's own verdict, and the problem; None if none."""
    took_part: dict[tuple[str, str], dict[ReviewStage, int]] = {}
    numbered = list(zip(decisions, lines, strict=True))
    for decision, line in numbered:
        own = took_part.setdefault((decision.item_id, _folded(decision.decided_by)), {})
        own.setdefault(decision.stage, line)
    for decision, line in numbered:
        own = took_part[decision.item_id, _folded(decision.decided_by)]
        for stage in APART_FROM.get(decision.stage, ()):
            if stage in own:
                return line, (
                    f"'{decision.decided_by}' rules at {decision.stage} on {decision.item_id}, "
                    f"a dispute of their own ({stage}, line {own[stage]})"
                )
    return None


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


State = Literal["retained", "removed", "hard case", "unreviewed"]


@dataclass(frozen=True)
class Fate:
    state: State
    why: str
    by: str
    rewritten: str | None = None
    experts: tuple[ReviewDecision, ...] = ()


PROTOCOL = "rfc-rewrite"
"""The review whose rules apply: ``reviews/rfc-rewrite.toml``, which the review studio runs."""
_OUTCOMES: dict[str, State] = {
    "final": "retained",
    "removed": "removed",
    "hard case": "hard case",
    "unreviewed": "unreviewed",
}
_ANNOTATIONS = ("annotation", "re-annotation")


def follow(decisions: Sequence[ReviewDecision], *, annotators: int = 2) -> Fate:
    """Return the outcome of the decisions on one item, by the rules of the review `PROTOCOL`.

    Decisions made outside the studio may lack some that the rules wait for: then `_exception` says
    where the item goes. Only a person's last decision at a stage counts.
    """
    at: dict[str, list[ReviewDecision]] = {}
    for decision in sorted(decisions, key=lambda d: (d.time, d.round, d.decided_by)):
        at.setdefault(decision.stage, []).append(decision)
    revision = next(
        (o for o in reversed(at.get("expert-review", ())) if o.decision == "revise"), None
    )
    if revision is not None:
        # A batch that the audit returned is reviewed again: audits from before the revision are
        # about another text.
        at["audit"] = [audit for audit in at.get("audit", ()) if audit.time >= revision.time]
    stage, dispute = "expert-review", ""
    text, experts, voters = None, list[ReviewDecision](), list[ReviewDecision]()
    while True:
        step, here = review_steps(PROTOCOL)[stage], _standing(at, stage)
        votes = [*here, *(vote for other in step.counts for vote in _standing(at, other))]
        voters = votes or voters
        exception = _exception(stage, votes, len(here), annotators, dispute)
        flagged = any(vote.flagged for vote in here)
        rule = exception or rule_for(step.rules, [v.decision for v in votes], flagged=flagged)
        text, experts = _stands(stage, rule.to, here, revision, text, experts)
        if rule.to in _OUTCOMES:
            undone = rule is exception and rule.to in ("unreviewed", "hard case")
            people = ", ".join(sorted({vote.decided_by for vote in voters}))
            by = "rule:finalize" if undone else f"person:{people}"
            return Fate(_OUTCOMES[rule.to], _why(rule, stage, here), by, text, tuple(experts))
        if rule.to == "disagreement":
            dispute = rule.why
        elif rule.to == "arbitration":
            dispute += f", and {rule.why if here else 'nobody has adjudicated'}"
        stage = rule.to


def _why(rule: Rule, stage: str, votes: Sequence[ReviewDecision]) -> str:
    """Return the reasons of the people who decided, else the rule's."""
    if rule.to == "final" or stage in _ANNOTATIONS:
        return rule.why
    return "; ".join(dict.fromkeys(vote.why for vote in votes if vote.why)) or rule.why


def _stands(
    stage: str,
    to: str,
    here: list[ReviewDecision],
    revision: ReviewDecision | None,
    text: str | None,
    experts: list[ReviewDecision],
) -> tuple[str | None, list[ReviewDecision]]:
    """Return the text after a stage (2.2.3), and the experts' decisions that support it."""
    goes_on = to not in _OUTCOMES
    if stage == "expert-review" and goes_on:
        earlier = [] if revision is None or revision in here else [revision]
        return None if revision is None else revision.rewritten, [*earlier, *here]
    if stage == "audit":
        return text, [*experts, *(decision for decision in here if decision.decision == "pass")]
    if stage == "revision" and goes_on:
        return here[-1].rewritten, here
    return text, here if to == "final" and stage not in _ANNOTATIONS else experts


def _exception(
    stage: str, votes: Sequence[ReviewDecision], here: int, annotators: int, dispute: str
) -> Rule | None:
    """Return the rule for an item that the protocol's rules do not cover; None if they do.

    ``here`` is the number of votes at the stage itself, ``dispute`` the reason for adjudication.
    """
    if stage == "expert-review" and any(vote.decision == "fail" for vote in votes):
        return Rule(to="removed", why="failed by the expert")
    if stage == "annotation" and here < annotators:
        if any(vote.decision != "pass" for vote in votes):
            return Rule(to="disagreement", why="somebody failed it, and too few have annotated it")
        return Rule(to="unreviewed", why=f"annotated by {here} of {annotators}")
    if stage == "revision" and not here:
        return Rule(to="removed", why="failed by all, and not revised")
    if stage == "re-annotation" and here < annotators:
        return Rule(to="hard case", why=f"revised, and annotated again by {here} of {annotators}")
    if stage == "arbitration" and not here:
        return Rule(to="hard case", why=dispute)
    return None


def _standing(at: Mapping[str, Sequence[ReviewDecision]], stage: str) -> list[ReviewDecision]:
    """Return a stage's decisions that count: each person's last, or the last if one decides."""
    made = at.get(stage, ())
    if stage in ("expert-review", "revision", "arbitration"):
        return list(made[-1:])
    return list({decision.decided_by: decision for decision in made}.values())


def published_schema() -> str:
    return files("contrafact.families.rfc").joinpath("decisions.schema.json").read_text("utf-8")
