"""The dataset card of a release: a README with the fields that dataset hubs read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from contrafact.records import MANIPULATIONS

__all__ = ["Counts", "card"]


@dataclass(frozen=True)
class Counts:
    """What a card says in figures: rows and hard cases per manipulation, articles, days.

    ``shared_articles`` are those with several rewrites.
    """

    pairs: Mapping[str, int]
    hard: Mapping[str, int]
    articles: int
    shared_articles: int
    first_day: str | None
    last_day: str | None
    rewriters: Mapping[str, int]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], hard: Sequence[Mapping[str, Any]]) -> "Counts":
        """Return the counts of released rows."""
        articles = Counter(row["article_id"] for row in (*rows, *hard))
        days = sorted(row["date"] for row in (*rows, *hard) if row["date"])
        writers = sorted({row["rewriter"] for row in (*rows, *hard)})
        return cls(
            pairs={m: sum(row["manipulation"] == m for row in rows) for m in MANIPULATIONS},
            hard={m: sum(row["manipulation"] == m for row in hard) for m in MANIPULATIONS},
            articles=len(articles),
            shared_articles=sum(number > 1 for number in articles.values()),
            first_day=days[0] if days else None,
            last_day=days[-1] if days else None,
            rewriters={w: sum(r["rewriter"] == w for r in (*rows, *hard)) for w in writers},
        )


def card(
    *,
    name: str,
    version: str,
    license: str | None,
    fields: Mapping[str, str],
    counts: Counts,
    canary: str,
    private: bool,
) -> str:
    """Return the card as Markdown with a YAML header."""
    environment = ImmutableSandboxedEnvironment(
        autoescape=False, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["cell"] = _cell
    return environment.from_string(_CARD).render(
        name=name,
        version=version,
        license=license,
        fields=fields,
        counts=counts,
        categories=MANIPULATIONS,
        meaning=_MEANING,
        canary=canary,
        private=private,
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


_MEANING = {
    "numerical": "quantities changed; direction, names and dates kept",
    "flipping": "direction or judgement turned round; names, dates and figures kept",
    "sentiment": "tone made stronger in the same direction; facts kept",
    "causal": "the stated cause replaced; the effect kept",
}

_CARD = """\
---
pretty_name: {{ name | tojson }}
language: [en]
license: {{ (license or "other") | tojson }}
task_categories: [text-classification]
tags: [misinformation, finance, counterfactual, artificial]
configs:
  - config_name: default
    data_files: pairs.jsonl
{% if counts.hard.values() | sum %}
  - config_name: hard_cases
    data_files: hard_cases.jsonl
{% endif %}
---

# {{ name }} {{ version }}

{% if private %}
**Private copy: it holds the text of third parties' articles. Do not publish it or pass it on.**

{% endif %}
**Every text in `rewritten` is artificial misinformation.** It was made from a news paragraph by one
small manipulation, for research on detecting such text. What it says is not so. Do not quote it as
news, and do not train models on it that are to write news.

| manipulation | what was done | pairs | hard cases |
| --- | --- | ---: | ---: |
{% for category in categories %}
| `{{ category }}` | {{ meaning[category] }} | {{ counts.pairs[category] }} | \
{{ counts.hard[category] }} |
{% endfor %}

{{ counts.pairs.values() | sum }} pairs and {{ counts.hard.values() | sum }} hard cases from \
{{ counts.articles }} articles\
{% if counts.first_day %}, {{ counts.first_day }} to {{ counts.last_day }}{% endif %}.
Written by: {% for writer, number in counts.rewriters.items() %}\
{{ writer }} ({{ number }}){{ ", " if not loop.last }}{% endfor %}.
Hard cases are pairs on which people did not come to a clear verdict, or which people passed and the
rules of the manipulation fail; they are no part of the main set.

## What is not in it

{% if private %}
This copy has the originals, for whoever made it. The published one has not.
{% else %}
No original text: articles belong to their publishers. Whoever may use them can fetch them by `url`,
or bring their own, and has each compared with `original_sha256`:

    contrafact rfc hydrate pairs.jsonl --out pairs-with-originals.jsonl

{% if counts.shared_articles %}
{{ counts.shared_articles }} \
{{ "article has" if counts.shared_articles == 1 else "articles have" }} several rewrites here, \
which leave different words
as they were: laid beside each other, they tell most of the original.
{% endif %}
{% endif %}

## Fields

| field | |
| --- | --- |
{% for field, told in fields.items() %}
| `{{ field }}` | {{ told | cell }} |
{% endfor %}

`schema.json` is the JSON schema of a row, `croissant.json` the metadata in Croissant, `SHA256SUMS`
the checksums (`sha256sum -c SHA256SUMS`).

## How to use it

- *Detection*: one paragraph, is it manipulated? The label `true` means unmanipulated, `false`
  manipulated; the unmanipulated half is the originals.
- *Diagnosis*: original and rewrite side by side, which manipulation?
- Rows of one `article_id` belong together: keep them on one side of every split, and resample
  articles, not rows, for intervals.
- Rewrites by rules leave traces of their making. Report what a classifier of surface features
  reaches beside any model's score.

## Canary

Every row carries this string, so that a corpus which holds the dataset can be found:

    {{ canary }}

## Licence

{% if license %}
{{ license }}, for what was added. \
{% else %}
None was given. \
{% endif %}
The manipulated paragraphs derive from articles whose rights are with their publishers.
"""
