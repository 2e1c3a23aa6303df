"""The results of functions: items, scores, a report, and their display in a notebook."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pandas as pd
from markupsafe import Markup

from contrafact.api.tables import Paths, as_given, frame_of, paths_of
from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.files.atomic import write_text
from contrafact.text.delimit import visible_html, visible_text

if TYPE_CHECKING:
    from contrafact.models.estimate import CallEstimate

_T = TypeVar("_T")
"""The type of the table that was given."""

SHOWN = 10
"""The most rows of a table in a notebook; the data frame has all rows."""

_CHARACTERS = 1_000  # the most characters of a text whose edits are marked

_STYLE = (
    "table{border-collapse:collapse;font:14px system-ui,sans-serif}"
    "th,td{padding:.25em .7em;border-bottom:1px solid #ccc;text-align:left;vertical-align:top}"
    "body{font:14px system-ui,sans-serif;margin:1.5em;max-width:75em}"
)


@dataclass(frozen=True, repr=False)
class Page:
    """A page of HTML that opens offline; a notebook shows it in a frame that runs no script."""

    html: str
    path: Path | None = None

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        write_text(fspath(path), self.html)
        return Path(path)

    def __repr__(self) -> str:
        return f"<report: {self.path or f'{len(self.html):,} characters of HTML'}>"

    def _repr_html_(self) -> str:
        style = "width:100%;height:40em;border:1px solid #ccc"
        frame = Markup('<iframe sandbox srcdoc="{}" style="{}"></iframe>')
        return str(frame.format(self.html, style))


@dataclass(frozen=True, repr=False)
class Result(Generic[_T]):
    """The result of a function.

    Attributes:
        title: A short description of the work.
        items: One row per item, in a table of the same type as the data given.
        scores: The figures over all items, one per row: ``estimate`` with its interval (``low``,
            ``high``), or counts.
        notes: Notes for the reader.
        dropped: Rows that are not among the items, each with its ``reason``; empty if there are
            none.
        edits: The edits of the first items, each a label, the text before and the text after; a
            notebook shows them marked.
    """

    title: str
    items: _T
    scores: pd.DataFrame
    notes: Sequence[str] = field(default=())
    dropped: _T = field(default=None, kw_only=True)  # type: ignore[assignment]
    edits: Sequence[tuple[str, str, str]] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Set ``dropped`` to an empty table of the items' type if it is not given."""
        if self.dropped is None:
            none = as_given(self.items, pd.DataFrame(columns=["reason"], dtype=str))
            object.__setattr__(self, "dropped", none)

    def report(self) -> Page:
        """Return the figures and the items as one page of HTML."""
        body = Markup("<h1>{}</h1>{}{}<h2>Items</h2>{}").format(
            self.title, _table(self.table()), _list(self.notes), _table(self.items)
        )
        head = Markup(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta '
            'http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src '
            "'unsafe-inline'\"><title>{}</title><style>{}</style></head><body>{}</body></html>"
        )
        return Page(str(head.format(self.title, Markup(_STYLE), body)))

    def table(self) -> pd.DataFrame:
        """Return the figures formatted with their intervals."""
        columns = ["estimate", "low", "high"]
        if not set(columns) <= set(self.scores.columns):
            return self.scores
        cells = [_figure(*row) for row in self.scores[columns].itertuples(index=False)]
        return self.scores.drop(columns=["low", "high"]).assign(estimate=cells)

    def __repr__(self) -> str:
        shown = self.table().head(SHOWN)
        cells = shown.map(lambda value: visible_text(_cell(value)))
        parts = [self.title, cells.to_string(index=False) if len(cells) else "no figures"]
        return "\n".join([*parts, *self.notes])

    def _repr_html_(self) -> str:
        parts = (visible_html(self.title), _table(self.table(), SHOWN), self._marked())
        return str(Markup("<div><b>{}</b>{}{}{}</div>").format(*parts, _list(self.notes)))

    def _marked(self) -> Markup:
        """Return the edits as HTML, with deletions and insertions marked."""
        if not self.edits:
            return Markup("")
        from contrafact.report.marks import marked_text

        return _table(
            [
                {"edit": what, "text": marked_text(before, after, _CHARACTERS)}
                for what, before, after in self.edits
            ]
        )


@dataclass(frozen=True, repr=False)
class Run(Result[pd.DataFrame]):
    """The result of a run: its items, figures and folder.

    Attributes:
        verdicts: Every judge's own verdicts; empty if nothing was judged.
        failures: Samples that ended in an error, with their causes; empty if none did.
        usage: Calls and tokens by model.
    """

    folder: Path = Path()
    task: str = ""
    verdicts: pd.DataFrame = field(kw_only=True)
    failures: pd.DataFrame = field(kw_only=True)
    usage: pd.DataFrame = field(kw_only=True)

    def report(self, *, with_published: bool = False, exam: Paths = (), labels: Paths = ()) -> Page:
        """Write the report into the run's folder, and return its page.

        Args:
            with_published: Whether to show the paper's rows below the run's own.
            exam: Files of exams of its judges; judged rates are shown corrected by them.
            labels: Files of people's labels of some items.

        Raises:
            InputError: There is nothing to report, or an exam or a label fits no judge of the run.
        """
        from contrafact.family.exam_file import read_exams
        from contrafact.report.build import build_report
        from contrafact.report.frames import read_labels, read_tasks

        exams, labelled = read_exams(paths_of(exam)), paths_of(labels)
        page = self.folder / "report.html"
        if with_published or exams or labelled or not page.exists():
            build_report(
                read_tasks([self.folder]),
                self.folder,
                with_published=with_published,
                exams=exams,
                labels=read_labels(labelled) if labelled else None,
            )
        return Page(page.read_text(encoding="utf-8"), page)

    def table(self) -> pd.DataFrame:
        """Return the main figures as text: one row per system, one column per measure."""
        lines: dict[str, dict[str, str]] = {}
        if not self.scores.empty:
            figures = self.scores.set_index(["system", "measure", "form"])
            for system in dict.fromkeys(self.scores["system"]):
                line = lines[system] = {"system": system}
                for shown in task_named(self.task).report.load().terminal:
                    key = (system, shown.measure, shown.form)
                    if key in figures.index:
                        values = figures.loc[key, ["estimate", "low", "high"]]
                        line[shown.heading] = _figure(
                            *values, scale=shown.scale, digits=shown.digits
                        )
        return pd.DataFrame([*lines.values()]) if lines else self.scores


@dataclass(frozen=True, repr=False)
class Estimate(Result[pd.DataFrame]):
    """An estimate of a run's calls, tokens and cost; no model was called.

    Attributes:
        paid_calls: The number of calls that cost money.
        dollars: The approximate cost in US dollars, as far as prices are known; ``notes`` names
            models without a price.
    """

    calls: int = 0
    paid_calls: int = 0
    tokens: int = 0
    dollars: float = 0.0


def refuse_many(calls: int) -> None:
    raise InputError(
        f"this needs about {calls:,} paid calls",
        hint="add yes=True to make them, or estimate=True to see their cost",
    )


def make_estimate(what: str, rows: "Sequence[CallEstimate]") -> Estimate:
    from contrafact.models.estimate import NOT_COUNTED, paid_calls, unpriced

    frame = pd.DataFrame([vars(row) for row in rows])
    frame["dollars"] = [None if row.dollars is None else float(row.dollars) for row in rows]
    totals: dict[str, Any] = {
        "calls": sum(row.calls for row in rows),
        "paid_calls": paid_calls(rows),
        "tokens": sum(row.input_tokens + row.output_tokens for row in rows),
        "dollars": float(sum(row.dollars for row in rows if row.dollars is not None)),
    }
    unknown = unpriced(rows)
    notes = [NOT_COUNTED, *([f"no price is known for {', '.join(unknown)}"] if unknown else [])]
    return Estimate(
        f"{what}: estimate, before the first call", frame, pd.DataFrame([totals]), notes, **totals
    )


def _figure(
    estimate: Any, low: Any, high: Any, *, scale: float = 1, digits: int | None = None
) -> str:
    def text(value: float) -> str:
        value *= scale
        return (f"{value:.3g}" if digits is None else f"{value:.{digits}f}").replace("-", "−")

    values = [math.nan if value is None else float(value) for value in (estimate, low, high)]
    if math.isnan(values[0]):
        return "–"
    if any(map(math.isnan, values)):
        return text(values[0])
    return f"{text(values[0])} ({text(values[1])} to {text(values[2])})"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(given: Any, most: int | None = None) -> Markup:
    """Return a table as escaped HTML with hidden characters shown and at most ``most`` rows."""
    if len(given) == 0:
        return Markup("")
    frame = frame_of(given)  # items may be in the caller's type of table
    shown = frame.head(most or len(frame)).map(_html).rename(columns=visible_html)
    with pd.option_context("display.max_colwidth", None):
        table = Markup(shown.to_html(index=False, escape=False, border=0))
    left = len(frame) - len(shown)
    return table + (Markup("<p>and {} more rows</p>").format(f"{left:,}") if left else "")


def _html(value: Any) -> Markup:
    return value if isinstance(value, Markup) else visible_html(_cell(value))


def _list(notes: Sequence[str]) -> Markup:
    points = Markup("").join(Markup("<li>{}</li>").format(visible_html(note)) for note in notes)
    return Markup("<ul>{}</ul>").format(points) if notes else points
