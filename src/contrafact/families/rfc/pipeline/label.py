"""Labelling: one manipulation for each article, or each that fits (RFC-BENCH, 2.2.2, appendix P).

Rules decide what is clear: a candidate that the text cannot carry is struck out, and one that is
left alone is the label. What rules leave open a model may decide, with one label an article.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from contrafact.bulk.stage import APART, KEPT, REJECTS, InputRow, StageOutput
from contrafact.corpus.ledger import LedgerEvent
from contrafact.errors import InputError
from contrafact.judges.replies import read_label
from contrafact.records import MANIPULATIONS, NewsItem
from contrafact.text.delimit import delimit
from contrafact.text.quantities import quantities

if TYPE_CHECKING:  # labelling by rules needs no engine, whose import takes more than a second
    from inspect_ai.model import Model

    from contrafact.prompts import PromptPack, PromptTemplate

__all__ = ["PerArticle", "ask_label", "label_rows", "label_template", "open_rows", "paragraph_of"]

PerArticle = Literal["one", "all"]
NO_CATEGORY = "No-Categorized"
STAGE = "label"

_LABELS: dict[str, str] = {
    **dict(zip(MANIPULATIONS, MANIPULATIONS, strict=True)),
    **dict.fromkeys(("no-categorized", "no_categorized", "no categorized"), NO_CATEGORY),
}


def paragraph_of(fields: Mapping[str, Any]) -> str:
    """Return the paragraph of a row: its ``text`` if it has one, else title and summary."""
    text = fields.get("text")
    if isinstance(text, str) and text.strip():
        return " ".join(text.split())
    return NewsItem.of(str(fields["title"]), str(fields.get("summary") or "")).paragraph


def refuted(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the candidates that an article's text cannot carry, each with the reason.

    Lists (appendix O) are generous: S.2 wants a figure to change, R.4 an explicit causal marker.
    """
    candidates = _candidates(fields)
    found: dict[str, str] = {}
    if "numerical" in candidates and not quantities(paragraph_of(fields)):
        found["numerical"] = "its digits are dates, names or ranks: there is no quantity to change"
    if "causal" in candidates and not _has_connector(fields):
        found["causal"] = "it has a catalyst and no word that says what was caused by what"
    return found


def open_rows(rows: Sequence[InputRow], per_article: PerArticle) -> list[InputRow]:
    """Return the rows that rules leave open, for a model to decide.

    With ``one`` these are articles with several candidates, or with none; with ``all``, where
    every candidate makes an item, only those with none.
    """
    found = []
    for row in rows:
        standing = set(_candidates(row.fields)) - refuted(row.fields).keys()
        if not standing or (len(standing) > 1 and per_article == "one"):
            found.append(row)
    return found


def label_template(pack: "PromptPack") -> "PromptTemplate":
    """Return the prompt that asks for a label, checked."""
    return pack.template("rfc/label", required={"paragraph"})


async def ask_label(paragraph: str, model: "Model", template: "PromptTemplate") -> str:
    """Return the model's reply about an article's paragraph."""
    from inspect_ai.model import GenerateConfig

    from contrafact.models.asking import answer, kept_reply

    config = GenerateConfig(temperature=0.0)
    output = await answer(model, template.render(paragraph=delimit(paragraph)), config)
    # A label alone is whole, also where the limit ended it.
    whole = output.completion.strip().casefold() in _LABELS
    return output.completion if whole else kept_reply(output)


def label_rows(
    rows: Sequence[InputRow],
    *,
    per_article: PerArticle = "all",
    replies: Mapping[str, str] | None = None,
    failures: Mapping[str, str] | None = None,
    model: str | None = None,
    file: str | None = None,
) -> StageOutput:
    """Return the labels of articles."""
    result = StageOutput(counts=Counter({f"kept as {name}": 0 for name in MANIPULATIONS}))
    for row in rows:
        _check_candidates(row, file)
        try:
            reasons = refuted(row.fields)
        except InputError as error:
            raise error.at(file, row.line) from error
        standing = [name for name in _candidates(row.fields) if name not in reasons]
        for name, why in reasons.items():
            _drop(result, row, name, "rule:label", why)
            result.counts["candidates struck out"] += 1
        if len(standing) == 1 or (standing and per_article == "all"):
            why = "its only candidate" if len(standing) == 1 else "a candidate that stands"
            for name in standing:
                _keep(result, row, name, "rule", why)
            continue
        reply = (replies or {}).get(str(row.fields["id"]))
        if reply is not None:
            _by_model(result, row, standing, reply, model or "unnamed")
            continue
        doubt = f"several candidates ({', '.join(standing)})" if standing else "no candidate"
        failed = (failures or {}).get(str(row.fields["id"]))
        why = f"{doubt}, and {failed or 'no model was asked'}"
        _set_apart(result, row, None, "rule:label", why)
    return result


def _candidates(fields: Mapping[str, Any]) -> list[str]:
    return [name for name in MANIPULATIONS if name in (fields.get("candidates") or ())]


def _check_candidates(row: InputRow, file: str | None) -> None:
    given = row.fields.get("candidates")
    if not isinstance(given, list) or not all(name in MANIPULATIONS for name in given):
        raise InputError(
            f"its candidates are not a list of manipulations: {str(given)[:60]}",
            file=file,
            line=row.line,
            hint="give a file that `contrafact rfc bucket` wrote",
        )


def _has_connector(fields: Mapping[str, Any]) -> bool:
    evidence = fields.get("evidence")
    matches = evidence.get("causal") if isinstance(evidence, dict) else None
    if not isinstance(matches, list):
        return True  # a row without evidence is not refuted by it
    return any(isinstance(match, dict) and match.get("list") == "connector" for match in matches)


def _by_model(
    result: StageOutput, row: InputRow, standing: Sequence[str], reply: str, model: str
) -> None:
    reading = read_label(reply, tuple(_LABELS), [paragraph_of(row.fields)])
    label = _LABELS[reading.value] if reading.value else None
    by = f"model:{model}"
    if label is None:
        _set_apart(result, row, None, by, f"the model's reply has no label ({reading.invalid})")
    elif label == NO_CATEGORY:
        _set_apart(result, row, NO_CATEGORY, by, "the model finds that no manipulation fits")
    elif standing and label not in standing:
        why = f"the model says {label}, which is none of its candidates ({', '.join(standing)})"
        _set_apart(result, row, None, by, why)
    else:
        why = "the model's choice of its candidates" if standing else "the model's label"
        _keep(result, row, label, by, why)
        for name in standing:
            if name != label:
                why = f"the model chose {label}, and an article is to have one label"
                _drop(result, row, name, by, why)
                result.counts["candidates not chosen"] += 1


def _drop(result: StageOutput, row: InputRow, manipulation: str, by: str, why: str) -> None:
    own = {"manipulation": manipulation, "reason": why}
    _put(result, REJECTS, row, own, "dropped", by, why)


def _keep(result: StageOutput, row: InputRow, manipulation: str, by: str, why: str) -> None:
    own = {"manipulation": manipulation, "labelled_by": by}
    _put(result, KEPT, row, own, "kept", "rule:label" if by == "rule" else by, why)
    result.counts[f"kept as {manipulation}"] += 1


def _set_apart(result: StageOutput, row: InputRow, label: str | None, by: str, why: str) -> None:
    _put(result, APART, row, {"label": label, "reason": why}, "dropped", by, why)
    result.counts[NO_CATEGORY if label else "left open"] += 1


def _put(
    result: StageOutput,
    table: str,
    row: InputRow,
    own: Mapping[str, str | None],
    decision: str,
    by: str,
    why: str,
) -> None:
    kind, article = own.get("manipulation"), str(row.fields["id"])
    event = LedgerEvent.of(STAGE, article, decision, by, why, manipulation=kind)
    result.add(table, row.index, {**row.fields, **own}, event)
