"""What is in a file of stories: what is wrong with it, what is odd, and its statistics.

CoBe, tables 2 to 4. Nothing is left out: a story that cannot be used is a violation, named by line
and key, and the others are counted all the same.

Words, sentences and clauses are counted by spaCy. A word is a token that is neither punctuation nor
space. A clause is a predicate with what belongs to it: the main verb of a sentence, and every verb
below it that has a clause of its own (subject, complement, adverbial, relative and other adnominal
clauses, and verbs joined to one of these).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.families.cobe.data import StoryNotes, criteria_of, story_rows
from contrafact.families.cobe.published import published_facts
from contrafact.family.data import DataReport, DataSpec, DataTable
from contrafact.files.tables import Row, source_name
from contrafact.records import DOMAINS, GRAPHS, Story
from contrafact.text.parsing import parsed

if TYPE_CHECKING:
    from spacy.tokens import Token

__all__ = [
    "SPEC",
    "Counts",
    "Share",
    "Statistic",
    "StoryReport",
    "check_stories",
    "count_texts",
    "statistics_of",
]

_CLAUSAL = frozenset(
    ("ROOT", "csubj", "csubjpass", "ccomp", "xcomp", "advcl", "relcl", "acl", "parataxis", "pcomp")
)
_PIECE = 20_000
"""Characters that are parsed at once; a longer text is cut at the end of a sentence."""


@dataclass(frozen=True)
class Counts:
    """What one text holds."""

    words: int
    sentences: int
    clauses: int


def count_texts(texts: Sequence[str]) -> list[Counts]:
    """Return the words, sentences and clauses of each text."""
    pieces = [(place, piece) for place, text in enumerate(texts) for piece in _pieces(text)]
    totals = [[0, 0, 0] for _ in texts]
    docs = parsed((piece for _, piece in pieces), batch_size=64)
    for (place, _), doc in zip(pieces, docs, strict=True):
        words = sum(not (t.is_punct or t.is_space) for t in doc)
        sentences = sum(any(t.is_alpha or t.is_digit for t in s) for s in doc.sents)
        clauses = sum(map(_is_clause, doc))
        for at, count in enumerate((words, sentences, clauses)):
            totals[place][at] += count
    return [Counts(*total) for total in totals]


def _is_clause(token: "Token") -> bool:
    if token.dep_ == "conj":
        return token.pos_ in ("VERB", "AUX") and _is_clause(token.head)
    if token.dep_ == "ROOT":
        return not (token.is_punct or token.is_space)
    return token.dep_ in _CLAUSAL and token.pos_ in ("VERB", "AUX")


def _pieces(text: str) -> list[str]:
    text = text.encode("utf-8", "replace").decode()
    pieces = []
    while len(text) > _PIECE:
        end = max(text.rfind(mark, 0, _PIECE) for mark in (". ", "! ", "? ", "\n"))
        end = end + 1 if end > 0 else _PIECE
        pieces.append(text[:end])
        text = text[end:]
    return [*pieces, text]


@dataclass(frozen=True)
class Statistic:
    """One figure of table 2.

    Attributes:
        name: What it is.
        found: In this file; NaN where there is no story.
        published: As printed; None where nothing is.
    """

    name: str
    found: float
    published: float | None = None


@dataclass(frozen=True)
class Share:
    """How many stories have a domain, a type of graph, a criterion or a failure mode.

    Attributes:
        name: Which.
        count: Stories.
        share: Of all stories, 0 to 1.
        published: The share as printed; None where nothing is.
    """

    name: str
    count: int
    share: float
    published: float | None = None


@dataclass(frozen=True)
class StoryReport:
    """What `check_stories` found.

    Attributes:
        rows: Rows read.
        stories: Stories that can be used, each once.
        violations: One sentence for every row that cannot, with its line and key.
        notes: One sentence for everything that is odd.
        statistics: Table 2.
        domains: Table 3, then domains of the file's own.
        graphs: Table 4, then how many stories name none.
        criteria: How many stories ask each criterion.
        failure_modes: How many stories are labelled with each mode.
    """

    rows: int
    stories: int
    violations: list[str]
    notes: list[str]
    statistics: list[Statistic] = field(default_factory=list)
    domains: list[Share] = field(default_factory=list)
    graphs: list[Share] = field(default_factory=list)
    criteria: list[Share] = field(default_factory=list)
    failure_modes: list[Share] = field(default_factory=list)


def check_stories(path: str | Path, rows: Iterable[Row] | None = None) -> StoryReport:
    """Return what is in a file of stories.

    Args:
        path: The file.
        rows: Its rows, where they are at hand; read from the file if not given.

    Raises:
        InputError: The file itself cannot be read, or holds no rows.
    """
    notes = StoryNotes()
    refused: list[InputError] = []
    found = story_rows(path, notes, rows=rows, refused=refused.append)
    stories = [story for _, story, _ in found]
    if notes.rows == 0:
        raise InputError("the file holds no rows", file=source_name(path), hint="give at least one")
    violations = [
        f"line {error.line}: {error.problem}" + (f"; {error.hint}" if error.hint else "")
        for error in refused
    ]
    facts = published_facts()
    asked = Counter(name for story in stories for name in criteria_of(story))
    modes = Counter(str(mode) for story in stories for mode in story.failure_modes)
    domains = Counter(story.domain for story in stories)
    graphs = Counter(story.graph or "(none)" for story in stories)
    total = len(stories)
    return StoryReport(
        rows=notes.rows,
        stories=total,
        violations=violations,
        notes=notes.lines(),
        statistics=statistics_of(stories),
        domains=_shares(domains, DOMAINS, total, facts.domains),
        graphs=_shares(graphs, GRAPHS, total, facts.graphs),
        criteria=_shares(asked, sorted(asked), total, {}),
        failure_modes=_shares(modes, sorted(modes), total, {}),
    )


def statistics_of(stories: Sequence[Story]) -> list[Statistic]:
    """Return the figures of table 2, with those printed in the paper.

    Clauses per sentence is the mean over stories of each one's own ratio.
    """
    counts = count_texts([story.text for story in stories])
    printed = published_facts().statistics

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values) if values else float("nan")

    def ratio(one: Counts) -> float:
        return one.clauses / one.sentences if one.sentences else 0.0

    found = {
        "stories": float(len(stories)),
        "domains": float(len({story.domain for story in stories})),
        "words_per_story": mean([one.words for one in counts]),
        "sentences_per_story": mean([one.sentences for one in counts]),
        "clauses_per_story": mean([one.clauses for one in counts]),
        "clauses_per_sentence": mean([ratio(one) for one in counts]),
    }
    return [Statistic(name, value, printed.get(name)) for name, value in found.items()]


def _shares(
    counts: Counter[str], named: Sequence[str], total: int, published: dict[str, float]
) -> list[Share]:
    names = [*named, *sorted(set(counts) - set(named))]
    return [
        Share(name, counts[name], counts[name] / total if total else 0.0, published.get(name))
        for name in names
    ]


def _recognises(row: Mapping[str, Any]) -> bool:
    return "Variation text" in row


def _checked(rows: Iterable[Row], name: str) -> DataReport:
    report = check_stories(name, rows)
    contents: list[str | DataTable] = [
        f"{report.rows:,} rows, {report.stories:,} stories that can be used."
    ]
    if report.stories:
        statistics = [
            (one.name.replace("_", " "), _figure(one.found), _figure(one.published))
            for one in report.statistics
        ]
        columns = ("statistic", "found", "published")
        title = "Statistics (published: CoBe, table 2)"
        contents.append(DataTable(title, columns, tuple(statistics)))
        for title, shares in (
            ("Domains (published: table 3)", report.domains),
            ("Types of graph (published: table 4)", report.graphs),
            ("Criteria asked", report.criteria),
            ("Failure modes labelled (appendix B.1)", report.failure_modes),
        ):
            if shares:
                contents.append(_share_table(title, shares))
    return DataReport(report.rows, tuple(contents), tuple(report.violations), tuple(report.notes))


def _share_table(title: str, shares: Sequence[Share]) -> DataTable:
    published = any(one.published is not None for one in shares)
    rows = []
    for one in shares:
        printed = "" if one.published is None else f"{one.published:.1%}"
        own = (one.name, f"{one.count:,}", f"{one.share:.1%}")
        rows.append((*own, printed) if published else own)
    columns = ("name", "stories", "share", *(("published",) if published else ()))
    return DataTable(title, columns, tuple(rows))


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


SPEC = DataSpec(recognises=_recognises, check=_checked)
"""Files of stories in the paper's schema."""
