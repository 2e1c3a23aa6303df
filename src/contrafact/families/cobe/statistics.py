"""The check of a file of stories: its violations, notes and statistics.

CoBe, tables 2 to 4. A story that cannot be used is a violation, named by line and key; the others
are counted all the same.

Words, sentences and clauses are counted by spaCy. A word is a token that is neither punctuation nor
space. A clause is a predicate with what belongs to it: the main verb of a sentence, and every verb
below it that has a clause of its own (subject, complement, adverbial, relative and other adnominal
clauses, and verbs joined to one of these).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from contrafact.errors import InputError
from contrafact.families.cobe.data import (
    REPEATED,
    StoryNotes,
    answer_conflicts,
    criteria_of,
    gold_conflicts,
    known_story,
    story_rows,
)
from contrafact.families.cobe.records import DOMAINS, GRAPHS, Story
from contrafact.family.data import DataReport, DataSpec, DataTable, repeats, violations_of
from contrafact.family.published import published_facts
from contrafact.files.tables import Row, source_name
from contrafact.text.parsing import parsed

if TYPE_CHECKING:
    from spacy.tokens import Token

_CLAUSAL = frozenset(
    ("ROOT", "csubj", "csubjpass", "ccomp", "xcomp", "advcl", "relcl", "acl", "parataxis", "pcomp")
)
_PIECE = 20_000
"""The most characters that are parsed at once; longer texts are cut at a sentence's end."""


class Counts(NamedTuple):
    words: int
    sentences: int
    clauses: int


def count_texts(texts: Sequence[str]) -> list[Counts]:
    pieces = [(index, piece) for index, text in enumerate(texts) for piece in _pieces(text)]
    totals = [[0, 0, 0] for _ in texts]
    docs = parsed((piece for _, piece in pieces), batch_size=64)
    for (index, _), doc in zip(pieces, docs, strict=True):
        words = sum(not (t.is_punct or t.is_space) for t in doc)
        sentences = sum(any(t.is_alpha or t.is_digit for t in s) for s in doc.sents)
        clauses = sum(map(_is_clause, doc))
        for column, count in enumerate((words, sentences, clauses)):
            totals[index][column] += count
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


def statistics_of(stories: Sequence[Story]) -> dict[str, float]:
    """Return the figures of table 2, NaN without stories; a ratio is the mean over stories."""
    counts = count_texts([story.text for story in stories])

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values) if values else float("nan")

    return {
        "stories": float(len(stories)),
        "domains": float(len({story.domain for story in stories})),
        "words_per_story": mean([story.words for story in counts]),
        "sentences_per_story": mean([story.sentences for story in counts]),
        "clauses_per_story": mean([story.clauses for story in counts]),
        "clauses_per_sentence": mean(
            [story.clauses / story.sentences if story.sentences else 0.0 for story in counts]
        ),
    }


def _checked(rows: Iterable[Row], name: str) -> DataReport:
    notes = StoryNotes()
    refused: list[InputError] = []
    read = list(story_rows(name, rows, notes, refused=refused.append))
    stories = [story for _, story, _ in read]
    if notes.rows == 0:
        raise InputError("the file holds no rows", file=source_name(name), hint="give at least one")
    across = list(_across(read, refused))
    violations = (*violations_of(refused, "story", notes.duplicates), *across)
    notes.found.pop(REPEATED, None)  # a violation here
    contents: list[str | DataTable] = [
        f"{notes.rows:,} rows, {len(stories):,} stories that can be used."
    ]
    if stories:
        contents += _tables(stories)
    return DataReport(notes.rows, tuple(contents), tuple(violations), tuple(notes.lines()))


def _across(
    read: Sequence[tuple[int, Story, Mapping[str, Any]]], refused: list[InputError]
) -> Iterator[str]:
    """Yield contradictions among stories and answers; problems of single rows go to ``refused``."""
    yield from repeats(
        "story",
        (
            (line, " ".join((story.text, *story.queries, *criteria_of(story).values())))
            for line, story, _ in read
        ),
    )
    yield from gold_conflicts([(line, story) for line, story, _ in read])
    for line, _, row in read:
        try:
            known = known_story(row)
            yield from (f"line {line}: {conflict}" for conflict in answer_conflicts(known))
        except InputError as error:
            refused.append(error.at(None, line))


def _tables(stories: Sequence[Story]) -> Iterable[DataTable]:
    facts = published_facts("contrafact.families.cobe")
    statistics = tuple(
        (name.replace("_", " "), _figure(value), _figure(facts["statistics"].get(name)))
        for name, value in statistics_of(stories).items()
    )
    columns = ("statistic", "found", "published")
    yield DataTable("Statistics (published: CoBe, table 2)", columns, statistics)
    domains = Counter(story.domain for story in stories)
    graphs = Counter(story.graph or "(none)" for story in stories)
    asked = Counter(name for story in stories for name in criteria_of(story))
    modes = Counter(str(mode) for story in stories for mode in story.failure_modes)
    total = len(stories)
    yield _shares("Domains (published: table 3)", domains, total, DOMAINS, facts["domains"])
    yield _shares("Types of graph (published: table 4)", graphs, total, GRAPHS, facts["graphs"])
    yield _shares("Criteria asked", asked, total)
    if modes:
        yield _shares("Failure modes labelled (appendix B.1)", modes, total)


def _shares(
    title: str,
    counts: Counter[str],
    total: int,
    named: Sequence[str] = (),
    published: Mapping[str, float] | None = None,
) -> DataTable:
    """Return how many stories have each name: first ``named``, then the others of the file."""
    rows = []
    for name in [*named, *sorted(set(counts) - set(named))]:
        row: tuple[str, ...] = (name, f"{counts[name]:,}", f"{counts[name] / total:.1%}")
        if published:
            row = (*row, f"{published[name]:.1%}" if name in published else "")
        rows.append(row)
    columns = ("name", "stories", "share", *(("published",) if published else ()))
    return DataTable(title, columns, tuple(rows))


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


SPEC = DataSpec(recognises=lambda row: "Variation text" in row, check=_checked)
"""Files of stories in the paper's schema."""
