"""From Inspect's samples to the per-item table of ``cobe``.

One row per story, phrasing and draw that ended with a score; a sample that ended in an error has
none, and the run reports it. The columns, in this order:

=====================  ================================================================
``system``             the system's name in tables, as the caller gives it
``model``              Inspect's name of the model
``method``             the solver: ``plain``, ``few-shot``, ``in-place``,
                       ``abduct-act-predict``, or an import path
``framing``            how the request was put: ``plain``, ``stated:1``, …; None where a file of
                       outputs does not say
``shots``              examples per prompt (int)
``judge``              names of the judges joined by " + ", or None where nobody judged
``draw``               the epoch, from 1 (int)
``sample_id``          the story's id, as in ``307v8``
``block``              the core story that it varies, or the block that it was drawn in, as in
                       ``307``; intervals cluster by it
``phrasing``           ``A``, ``B`` or ``C``: which of the story's three queries was asked
``domain``             the story's domain, in the file's spelling
``graph``              the story's type of graph (one of ``families.cobe.records.GRAPHS``), or None
``failure_modes``      the failure modes (appendix B.1) that the story is labelled with: their
                       numbers in rising order, joined by spaces ("1 6"); "" where none is
``cause_told``         1.0 where the story tells a cause of what is supposed, 0.0 where of nothing
                       that is supposed, NaN where no proof says what causes what
``story``              the scenario as it happened
``query``              the query as it was asked, without the framing
``text``               the response that was judged, or None where it was invalid
``invalid_reason``     why the response was invalid, or None
``degenerate``         why it is no edit though it can be read: it repeats the story, an example,
                       a line of the prompt, another story, or is in another language; or None
``E1`` … ``E5``        1.0 passed, 0.0 failed; NaN where the criterion was not asked, its
                       verdict was invalid, or nobody judged
``E1_invalid`` …       why the verdict was invalid, or None
``E1_probability`` …   the judge's probability of T against F, 0 to 1 (of a panel, the mean
                       over the members that gave one); NaN where there is none
``correct``            1.0 where every criterion asked passed; 0.0 where one failed, also if
                       another's verdict is invalid; NaN otherwise (no verdict of failure and an
                       invalid one, an invalid response, nobody judged)
``answer``             the representative answer, or None
``unchanged``          the text of E1, or None; ``changed`` E2, ``numerical`` E4, ``latent`` E5
``by_grammar`` …       how many criteria a verifier decided on what its grammar read, ``by_reader``
                       on what a reader read, ``by_nobody`` not at all; no such columns without one
=====================  ================================================================

Nothing is dropped or fixed here. A criterion was asked where its value is a number or its
``_invalid`` holds a reason. In the strict form what is invalid counts as wrong: ``correct`` of NaN
as 0, in all rows that a judge saw or whose response was invalid, and so does a degenerate response.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from inspect_ai.log import EvalSample

from contrafact.families.cobe.data import CRITERION_NAMES, cause_told
from contrafact.families.cobe.methods import framing_of
from contrafact.families.cobe.records import Story
from contrafact.family.task import number, score_metadata
from contrafact.judges.verifier import is_verifier

READ_BY = ("grammar", "reader", "nobody")
"""Who read a response for a verifier's verdict."""
SCORER = "edit"
"""The scorer's name in logs, after the package's name."""

ITEM_COLUMNS: tuple[str, ...] = (
    *("system", "model", "method", "framing", "shots", "judge", "draw", "sample_id", "block"),
    *("phrasing", "domain", "graph", "failure_modes", "cause_told", "story", "query"),
    *("text", "invalid_reason", "degenerate"),
    *CRITERION_NAMES,
    *(f"{name}_invalid" for name in CRITERION_NAMES),
    *(f"{name}_probability" for name in CRITERION_NAMES),
    *("correct", "answer", "unchanged", "changed", "numerical", "latent"),
)
"""The columns of a row, in order, as the module's docstring describes them."""


def item_rows(log_samples: Iterable[EvalSample], **facts: str | int | None) -> list[dict[str, Any]]:
    """Return the rows of one log's samples, in their order, with the keys of `ITEM_COLUMNS`.

    ``facts``: ``system``, ``model``, ``method``, ``shots``, ``judge``, the same in all rows.
    """
    rows = []
    method, framing = framing_of(str(facts["method"]))
    for sample in log_samples:
        if sample.error is not None or not (scored := score_metadata(sample, SCORER)):
            continue
        story = Story.model_validate(sample.metadata["story"])
        row: dict[str, Any] = {
            **facts,
            "method": method,
            "framing": framing,
            "draw": sample.epoch,
            "sample_id": story.id,
            "block": str(story.core_set_id),
            "phrasing": sample.metadata["phrasing"],
            "domain": story.domain,
            "graph": story.graph,
            "failure_modes": " ".join(map(str, sorted(story.failure_modes))),
            "cause_told": number(cause_told(story)),
            "story": story.text,
            "query": sample.metadata["query"],
            "text": scored["text"],
            "invalid_reason": scored["invalid"],
            "degenerate": scored.get("degenerate"),
            "correct": number(scored.get("correct")),
            "answer": story.answer or None,
            "unchanged": story.unchanged or None,
            "changed": story.changed or None,
            "numerical": story.numerical,
            "latent": story.latent,
        }
        verdicts = scored.get("verdicts") or {}
        for name in CRITERION_NAMES:
            row |= _verdict(name, verdicts.get(name, {}))
        row = {column: row[column] for column in ITEM_COLUMNS}
        rows.append(row | _read_by(verdicts))
    return rows


def _read_by(verdicts: Mapping[str, Any]) -> dict[str, int]:
    """Return how many criteria verifiers decided by each way of reading; empty if none judged."""
    votes = [
        vote for both in verdicts.values() for vote in both["members"] if is_verifier(vote["judge"])
    ]
    read = Counter(vote.get("read") or "nobody" for vote in votes)
    return {f"by_{name}": read[name] for name in READ_BY} if votes else {}


def _verdict(name: str, verdict: Mapping[str, Any]) -> dict[str, Any]:
    panel = verdict.get("panel", {})
    return {
        name: number(panel.get("passed")),
        f"{name}_invalid": panel.get("invalid"),
        f"{name}_probability": number(verdict.get("probability")),
    }
