"""Labelling: one manipulation for each article, or each that fits (RFC-BENCH, 2.2.2, appendix P).

Rules decide clear cases: a candidate that the text does not support is struck out, and a single
candidate that is left is the label. A model may decide the rest, with one label per article.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import typer

from contrafact.console import show_counts
from contrafact.corpus.ledger import LedgerEvent
from contrafact.corpus.news_items import item_of
from contrafact.errors import InputError, Reason
from contrafact.families.rfc.pipeline.stages import stage_fields
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.files.journal import sidecar_path
from contrafact.files.tables import RowNotes
from contrafact.judges.replies import read_label
from contrafact.models.prices import is_paid
from contrafact.stages.stage import (
    APART,
    KEPT,
    REJECTS,
    Asked,
    Failure,
    InputRow,
    RowStage,
    StageOutput,
    StageResult,
    Wrap,
)
from contrafact.text.delimit import delimit
from contrafact.text.quantities import quantities

if TYPE_CHECKING:  # labelling by rules needs no engine, whose import takes more than a second
    from inspect_ai.model import Model

    from contrafact.models.estimate import CallEstimate
    from contrafact.prompts import PromptPack, PromptTemplate

PerArticle = Literal["one", "all"]
NO_CATEGORY = "No-Categorized"
STAGE = "label"

_LABELS: dict[str, str] = {
    **dict(zip(MANIPULATIONS, MANIPULATIONS, strict=True)),
    **dict.fromkeys(("no-categorized", "no_categorized", "no categorized"), NO_CATEGORY),
}


def paragraph_of(fields: Mapping[str, Any]) -> str:
    """Return the paragraph of a row: its title and its summary or text."""
    return item_of(dict(fields)).paragraph


def refuted(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the candidates that an article's text does not support, each with the reason.

    The lists of appendix O are generous: S.2 requires a figure to change, R.4 a causal marker.
    """
    candidates = _candidates(fields)
    found: dict[str, str] = {}
    if "numerical" in candidates and not quantities(paragraph_of(fields)):
        found["numerical"] = "its digits are dates, names or ranks: there is no quantity to change"
    if "causal" in candidates and not _has_connector(fields):
        found["causal"] = "it has a catalyst, but no word that links a cause to an effect"
    return found


def is_open(fields: Mapping[str, Any], per_article: PerArticle) -> bool:
    """Return whether rules leave an article open, for a model to decide.

    With ``one`` these are articles with several candidates, or with none; with ``all``, where
    every candidate makes an item, only articles without candidates.
    """
    standing = set(_candidates(fields)) - refuted(fields).keys()
    return not standing or (len(standing) > 1 and per_article == "one")


def label_template(pack: "PromptPack") -> "PromptTemplate":
    return pack.template("rfc/label", required={"paragraph"})


async def ask_label(paragraph: str, model: "Model", template: "PromptTemplate") -> str:
    from inspect_ai.model import GenerateConfig

    from contrafact.models.asking import answer, kept_reply

    config = GenerateConfig(temperature=0.0)
    output = await answer(model, template.render(paragraph=delimit(paragraph)), config)
    # A bare label is complete, even if the token limit ended the reply.
    whole = output.completion.strip().casefold() in _LABELS
    return output.completion if whole else kept_reply(output)


@dataclass(frozen=True)
class LabelStage(RowStage):
    """``rfc label``: bucketed articles in, one row per article and manipulation out.

    If a model is named, it decides the articles that rules leave open.
    """

    per_article: PerArticle = "all"
    model: str | None = None
    prompts: str | None = None
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    name: str = "`rfc label`"
    noun: ClassVar[str] = "articles"
    sidecars: ClassVar[tuple[str, ...]] = (APART,)
    keeps_failures: ClassVar[bool] = True

    @property
    def asked(self) -> Asked | None:
        return None if self.model is None else Asked(self.model, self.max_connections)

    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"per-article": self.per_article}
        return facts if self.model is None else facts | self._model_facts()

    def answer_facts(self) -> dict[str, Any]:
        return self._model_facts()

    def _model_facts(self) -> dict[str, Any]:
        from contrafact.prompts import open_pack

        pack = open_pack(self.prompts)
        label_template(pack)
        return {"model": self.model, "prompts": pack.used_hash}

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        row.fields = stage_fields(row.fields, ("title",))
        candidates = row.fields.get("candidates")
        if not isinstance(candidates, list) or not all(one in MANIPULATIONS for one in candidates):
            raise InputError(
                f"its candidates are not a list of manipulations: {str(candidates)[:60]}",
                hint="give a file that `contrafact rfc bucket` wrote",
            )

    def key(self, row: InputRow) -> str | None:
        return str(row.fields["id"])

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> "list[CallEstimate]":
        from contrafact.models.estimate import CallEstimate

        model, calls = str(self.model), sum(is_open(row.fields, self.per_article) for row in rows)
        return [CallEstimate(model, "subject", calls, 0, 0, None, is_paid(model))]

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        model, template = None, None
        if self.model is not None:
            from contrafact.models.opening import call_config, open_model
            from contrafact.prompts import open_pack

            template = label_template(open_pack(self.prompts))
            config = call_config(self.max_connections, **self.bounds)
            model = wrap(open_model(self.model, config=config))

        async def label(output: StageOutput, row: InputRow) -> None:
            reply = None
            if model is not None and template is not None and is_open(row.fields, self.per_article):
                reply = await ask_label(paragraph_of(row.fields), model, template)
            self.add(output, row, reply)

        return label

    def failed(self, output: StageOutput, failure: Failure) -> None:
        self.add(output, failure.row, failed=failure.error.problem)

    def add(
        self, output: StageOutput, row: InputRow, reply: str | None = None, *, failed: str = ""
    ) -> None:
        """Add the labels of an article, by rules and by a model's reply, if there is one."""
        reasons = refuted(row.fields)
        standing = [name for name in _candidates(row.fields) if name not in reasons]
        for name, why in reasons.items():
            _drop(output, row, name, "rule:label", Reason("struck-out", why))
            output.counts["candidates struck out"] += 1
        if len(standing) == 1 or (standing and self.per_article == "all"):
            why = "its only candidate" if len(standing) == 1 else "a supported candidate"
            for name in standing:
                _keep(output, row, name, "rule", Reason("candidate", why))
        elif reply is not None:
            _by_model(output, row, standing, reply, f"model:{self.model}")
        else:
            doubt = f"several candidates ({', '.join(standing)})" if standing else "no candidate"
            why = f"{doubt}, and {failed or 'no model was asked'}"
            _set_apart(output, row, None, "rule:label", Reason("open", why))

    def show(self, result: StageResult) -> None:
        """Print how many articles have which label, and why candidates were struck out."""
        typer.echo(f"{result.out}: {result.rows[KEPT]:,} items of {result.given:,} articles")
        show_counts({**{f"kept as {name}": 0 for name in MANIPULATIONS}, **result.counts})
        if apart := result.rows[APART]:
            typer.echo(f"{sidecar_path(result.out, APART)}: {apart:,} articles without a label")


def _candidates(fields: Mapping[str, Any]) -> list[str]:
    return [name for name in MANIPULATIONS if name in (fields.get("candidates") or ())]


def _has_connector(fields: Mapping[str, Any]) -> bool:
    evidence = fields.get("evidence")
    matches = evidence.get("causal") if isinstance(evidence, dict) else None
    if not isinstance(matches, list):
        return True  # a row without evidence is not refuted by it
    return any(isinstance(match, dict) and match.get("list") == "connector" for match in matches)


def _by_model(
    made: StageOutput, row: InputRow, standing: Sequence[str], reply: str, by: str
) -> None:
    reading = read_label(reply, tuple(_LABELS), [paragraph_of(row.fields)])
    label = _LABELS[reading.value] if reading.value else None
    if label is None:
        why = f"the model's reply has no label ({reading.invalid})"
        _set_apart(made, row, None, by, Reason("no-label", why))
    elif label == NO_CATEGORY:
        why = "the model finds that no manipulation fits"
        _set_apart(made, row, NO_CATEGORY, by, Reason("none-fits", why))
    elif standing and label not in standing:
        why = f"the model says {label}, which is not one of its candidates ({', '.join(standing)})"
        _set_apart(made, row, None, by, Reason("no-candidate", why))
    else:
        why = "the model's choice of its candidates" if standing else "the model's label"
        _keep(made, row, label, by, Reason("chosen", why))
        for name in (name for name in standing if name != label):
            why = f"the model chose {label}, and an article is to have one label"
            _drop(made, row, name, by, Reason("not-chosen", why))
            made.counts["candidates not chosen"] += 1


def _drop(output: StageOutput, row: InputRow, manipulation: str, by: str, why: Reason) -> None:
    dropped = {**row.fields, "manipulation": manipulation, "reason": why.text}
    output.add(REJECTS, row.index, dropped, _event(row, "dropped", by, why, manipulation))


def _keep(output: StageOutput, row: InputRow, manipulation: str, by: str, why: Reason) -> None:
    kept = {**row.fields, "manipulation": manipulation, "labelled_by": by}
    by = "rule:label" if by == "rule" else by
    output.add(KEPT, row.index, kept, _event(row, "kept", by, why, manipulation))
    output.counts[f"kept as {manipulation}"] += 1


def _set_apart(output: StageOutput, row: InputRow, label: str | None, by: str, why: Reason) -> None:
    apart = {**row.fields, "label": label, "reason": why.text}
    output.add(APART, row.index, apart, _event(row, "dropped", by, why))
    output.counts[NO_CATEGORY if label else "left open"] += 1


def _event(
    row: InputRow, decision: str, by: str, why: Reason, manipulation: str | None = None
) -> LedgerEvent:
    article = str(row.fields["id"])
    return LedgerEvent.of(STAGE, article, decision, by, why, manipulation=manipulation)
