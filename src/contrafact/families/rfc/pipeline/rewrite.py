"""The rewriting stage: rows with a manipulation in, pairs out (RFC-BENCH, section 2.2.2).

A rewriter proposes, the edit contract decides: a proposal that breaks it is made again, at most so
many times, and the row is dropped with its violations as the reason if none passes. What becomes
of a row depends on the input, the settings and the seed alone, so that a rewriting that was
interrupted and resumed ends in the very same bytes: its versions on the row itself, and which of
them is taken on the other rows.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, get_args

from contrafact.corpus.ledger import LedgerEvent, write_stage
from contrafact.corpus.news_items import item_of
from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.matching import matched
from contrafact.files.tables import read_rows, source_name
from contrafact.records import MANIPULATIONS, Edit, Manipulation, NewsItem, Rewrite
from contrafact.workers import end_with_parent

__all__ = [
    "Assignment",
    "Outcome",
    "Proposal",
    "assignment_of",
    "decided",
    "decision",
    "load_assignments",
    "matched_outcomes",
    "refused",
    "rewrite_all_by_rules",
    "rewrite_one_by_rules",
    "seed_of",
    "write_pairs",
]

# Rows that one task of a worker holds: long enough to hide the cost of handing them over, short
# enough that a killed rewriting loses seconds.
_CHUNK = 16
_NEWS = {"id", "title", "headline", "summary", "description", "manipulation", "input_item"}


@dataclass(frozen=True)
class Assignment:
    """One row of the input: an article and the manipulation that it is to get.

    Attributes:
        line: The row's line in its file, from 1.
        item: The article.
        manipulation: What to do to it.
        fields: The row as it was read.
    """

    line: int
    item: NewsItem
    manipulation: Manipulation
    fields: dict[str, Any]


@dataclass(frozen=True)
class Proposal:
    """One try at a rewrite."""

    rewritten: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of one row.

    Attributes:
        rewritten: The rewrite that passed its contract; none where the row is dropped.
        edits: Its edit log.
        attempts: How many proposals were made.
        reason: Why the row is dropped, in a few words.
        violations: What the best of the refused proposals broke.
        versions: All that passed, where there are several: a build takes one of them.
    """

    rewritten: str | None = None
    edits: tuple[Edit, ...] = ()
    attempts: int = 1
    reason: str = ""
    violations: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)
    versions: tuple[Proposal, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as the journal keeps it."""
        return {
            "rewritten": self.rewritten,
            "edits": [edit.model_dump() for edit in self.edits],
            "attempts": self.attempts,
            "reason": self.reason,
            "violations": list(self.violations),
            "versions": [
                {"rewritten": one.rewritten, "edits": [edit.model_dump() for edit in one.edits]}
                for one in self.versions
            ],
        }

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> "Outcome":
        """Return the outcome that the journal kept."""

        def log(edits: Sequence[Any]) -> tuple[Edit, ...]:
            return tuple(Edit.model_validate(edit) for edit in edits)

        versions = tuple(
            Proposal(v["rewritten"], log(v["edits"])) for v in value.get("versions", ())
        )
        violations = tuple(value["violations"])
        edits = log(value["edits"])
        return cls(**{**value, "edits": edits, "violations": violations, "versions": versions})


def load_assignments(path: str | Path) -> list[Assignment]:
    """Return the rows of a file of labelled articles.

    Raises:
        InputError: a row has no title, or no manipulation or an unknown one, or repeats another;
            the message names the line.
    """
    name = source_name(path)
    found: list[Assignment] = []
    lines: dict[tuple[str, str], int] = {}
    for line, fields in read_rows(path):
        try:
            one = assignment_of(fields, line)
        except InputError as error:
            raise InputError(error.problem, file=name, line=line, hint=error.hint) from error
        key = (one.item.id, one.manipulation)
        if first := lines.get(key):
            raise InputError(
                f"the same article and manipulation as in line {first}",
                file=name,
                line=line,
                hint="leave one of them out",
            )
        lines[key] = line
        found.append(one)
    if not found:
        raise InputError("the file holds no rows", file=name, hint="give at least one row")
    return found


def assignment_of(fields: dict[str, Any], line: int) -> Assignment:
    """Return the assignment that a row holds.

    Raises:
        InputError: It has no title, or no manipulation or an unknown one.
    """
    item = item_of(fields, line=line)
    label = fields.get("manipulation")
    if label not in MANIPULATIONS:
        raise InputError(
            "no manipulation" if label is None else f"unknown manipulation {label!r}",
            hint=f"label it one of {', '.join(get_args(Manipulation))} (see `rfc label`)",
        )
    return Assignment(line, item, label, fields)


def seed_of(seed: int, item_id: str, manipulation: str, attempt: int) -> int:
    """Return the seed of one try: all that is random in it comes from this number."""
    text = f"{seed}\x1f{item_id}\x1f{manipulation}\x1f{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def decided(
    manipulation: Manipulation, original: str, proposal: Proposal
) -> tuple[Mapping[str, Any], ...]:
    """Return the violations of the manipulation's contract in a proposal; empty if it passes."""
    from contrafact.families.rfc.contracts import check_pair

    check = check_pair(manipulation, original, proposal.rewritten)
    return tuple(violation.as_row() for violation in check.violations)


def rewrite_one_by_rules(assignment: Assignment, *, seed: int, attempts: int) -> Outcome:
    """Rewrite one row by rule: proposals are tried until one passes its contract.

    Where the rules list the versions of a text, they are all tried, up to so many attempts, and
    what passes is kept for `matched_outcomes` to choose from.
    """
    from contrafact.families.rfc.pipeline.rules import NoRewrite, versions_by_rules

    original, manipulation = assignment.item.paragraph, assignment.manipulation
    tried: dict[str, tuple[Mapping[str, Any], ...]] = {}
    passed: list[Proposal] = []
    reason = ""
    made = 0
    while made < attempts and not passed:
        result = versions_by_rules(
            original, manipulation, seed_of(seed, assignment.item.id, manipulation, made + 1)
        )
        if isinstance(result, NoRewrite):
            reason = reason or result.reason
            if not tried:  # where one variant has no rewrite at all, hardly another has
                break
            made += 1
            continue
        for one in result[: attempts - made]:
            made += 1
            if one.rewritten in tried:
                continue
            proposal = Proposal(one.rewritten, one.edits)
            violations = decided(manipulation, original, proposal)
            tried[one.rewritten] = violations
            if not violations:
                passed.append(proposal)
    if passed:
        first, versions = passed[0], tuple(passed) if len(passed) > 1 else ()
        return Outcome(first.rewritten, first.edits, made, versions=versions)
    if not tried:
        return Outcome(reason=reason)
    return refused(list(tried.values()), attempts)


def matched_outcomes(
    assignments: Sequence[Assignment], outcomes: Sequence[Outcome]
) -> list[Outcome]:
    """Return the outcomes with one version each, by which rewrites resemble originals most.

    Each manipulation is matched by itself, over all rows given (`matching.matched`).
    """
    found = [replace(outcome, versions=()) for outcome in outcomes]
    for manipulation in MANIPULATIONS:
        places = [
            at
            for at, (one, outcome) in enumerate(zip(assignments, outcomes, strict=True))
            if one.manipulation == manipulation and outcome.versions
        ]
        taken = matched(
            [assignments[at].item.paragraph for at in places],
            [[version.rewritten for version in outcomes[at].versions] for at in places],
        )
        for at, version in zip(places, taken, strict=True):
            chosen = outcomes[at].versions[version]
            found[at] = replace(found[at], rewritten=chosen.rewritten, edits=chosen.edits)
    return found


def refused(tried: Sequence[tuple[Mapping[str, Any], ...]], attempts: int) -> Outcome:
    """Return the outcome of a row none of whose proposals passed: the best one's violations."""
    best = min(tried, key=len)
    rules = ", ".join(dict.fromkeys(str(violation["rule"]) for violation in best))
    return Outcome(attempts=attempts, reason=f"breaks its contract: {rules}", violations=best)


def rewrite_all_by_rules(
    assignments: Sequence[Assignment],
    positions: Sequence[int],
    *,
    seed: int,
    attempts: int,
    workers: int = 1,
) -> Iterator[tuple[int, Outcome]]:
    """Yield the outcome of each of the rows at ``positions``, as they are done.

    The order is that of completion; outcomes do not depend on the number of workers.
    """
    chunks = [positions[i : i + _CHUNK] for i in range(0, len(positions), _CHUNK)]
    if workers <= 1 or len(chunks) <= 1:
        for position in positions:
            yield (
                position,
                rewrite_one_by_rules(assignments[position], seed=seed, attempts=attempts),
            )
        return
    # Spawned, not forked: the parent has threads (a progress bar, BLAS) that a fork would cut off.
    with ProcessPoolExecutor(
        min(workers, len(chunks)), mp_context=get_context("spawn"), initializer=end_with_parent
    ) as pool:
        futures = {
            pool.submit(_rewrite_chunk, [assignments[i] for i in chunk], seed, attempts): chunk
            for chunk in chunks
        }
        try:
            for future in as_completed(futures):
                yield from zip(futures[future], future.result(), strict=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _rewrite_chunk(assignments: list[Assignment], seed: int, attempts: int) -> list[Outcome]:
    return [rewrite_one_by_rules(one, seed=seed, attempts=attempts) for one in assignments]


def write_pairs(
    out: Path,
    assignments: Sequence[Assignment],
    outcomes: Sequence[Outcome],
    *,
    rewriter: str,
) -> None:
    """Write the pairs, what was dropped, and the ledger, in the order of the input.

    Args:
        out: The file of pairs; the other two stand next to it.
        assignments: The rows.
        outcomes: The outcome of each.
        rewriter: ``rules``, or ``model:`` and the model's name.
    """
    pairs: list[dict[str, Any]] = []
    dropped: list[dict[str, Any]] = []
    events: list[LedgerEvent] = []
    for assignment, outcome in zip(assignments, outcomes, strict=True):
        row, event = decision(assignment, outcome, rewriter=rewriter)
        (dropped if outcome.rewritten is None else pairs).append(row)
        events.append(event)
    write_stage(out, pairs, events, dropped=dropped)


def decision(
    assignment: Assignment, outcome: Outcome, *, rewriter: str
) -> tuple[dict[str, Any], LedgerEvent]:
    """Return the pair of a row, or how it is dropped, and the ledger's event.

    Args:
        assignment: The row.
        outcome: What became of it.
        rewriter: ``rules``, or ``model:`` and the model's name.
    """
    item = assignment.item
    if outcome.rewritten is None:
        violations = [dict(violation) for violation in outcome.violations]
        why = {"stage": "rewrite", "reason": outcome.reason, "violations": violations}
        row = {**assignment.fields, "attempts": outcome.attempts, **why}
    else:
        row = _pair(assignment, outcome, rewriter)
    event = LedgerEvent(
        item_id=item.id if outcome.rewritten is None else row["id"],
        article_id=item.id,
        manipulation=assignment.manipulation,
        stage="rewrite",
        decision="dropped" if outcome.rewritten is None else "kept",
        by=rewriter if rewriter.startswith("model:") else "rule:rewrite",
        why=outcome.reason or f"its contract holds at try {outcome.attempts}",
    )
    return row, event


def _pair(assignment: Assignment, outcome: Outcome, rewriter: str) -> dict[str, Any]:
    item = assignment.item
    pair = Rewrite.of(
        assignment.manipulation,
        item.paragraph,
        outcome.rewritten or "",
        article_id=item.id,
        rewriter=rewriter,
        edits=outcome.edits,
        attempts=outcome.attempts,
        ticker=item.ticker,
        date=item.date,
        url=item.url,
        category=item.category,
    ).model_dump(mode="json")
    carried = {
        name: value
        for name, value in assignment.fields.items()
        if name not in pair and name not in _NEWS
    }
    return pair | carried
