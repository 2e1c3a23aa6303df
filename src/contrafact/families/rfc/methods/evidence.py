"""evidence: earlier news and the company's own earlier paragraphs, which an answer has to cite.

Evidence retrieval is what RFC-BENCH, section 4, asks for. What is shown is found by BM25 and is
of an earlier day than the item (`contrafact.families.rfc.methods.memory.Background`). The answer
quotes what it rests on; each citation is checked to exist: its number, and its words in that text.
An answer that cites what is not there is invalid, and so is ``false`` that cites nothing. Where the
paragraph contradicts itself, or the world, a note says so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from contrafact.families.rfc.answers import REASONS_TOKENS, Answer, read_answer
from contrafact.families.rfc.contracts.contradictions import contradictions
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import FALSE, strip_reasoning
from contrafact.families.rfc.methods.memory import ITEM_CHARACTERS, Background
from contrafact.families.rfc.prompting import OneCall
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.text.delimit import delimit

__all__ = ["NEWS", "OWN", "Citation", "Evidence", "check_citations", "citations", "method"]

OWN = 2
"""How many of the company's own earlier paragraphs are shown, at most."""

NEWS = 3
"""How many other earlier paragraphs are shown, at most."""

PARAGRAPH = "P"
"""What the paragraph itself is cited as."""

_CITATION = re.compile(
    r"\[(?P<source>\d{1,2}|P)(?:\s*:\s*[\"“](?P<quote>[^\"”\]]{1,400})[\"”])?\s*\]"
)


@dataclass(frozen=True)
class Citation:
    """What an answer rests on.

    Attributes:
        source: The number of an earlier paragraph, from 1, or ``P`` for the paragraph itself.
        quote: The words quoted from it; empty if none are.
    """

    source: str
    quote: str


def citations(reply: str) -> list[Citation]:
    """Return what a reply cites, in order: ``[2: "the words"]``, or ``[2]``."""
    return [Citation(m["source"], m["quote"] or "") for m in _CITATION.finditer(reply)]


def check_citations(found: Sequence[Citation], shown: Sequence[str], paragraph: str) -> str | None:
    """Return what is wrong with citations; None where all of them exist.

    Args:
        found: The citations.
        shown: The earlier paragraphs, in the order of their numbers.
        paragraph: The paragraph itself.
    """
    for one in found:
        if one.source != PARAGRAPH and not 1 <= int(one.source) <= len(shown):
            return f"cites [{one.source}], which is not there"
        text = paragraph if one.source == PARAGRAPH else shown[int(one.source) - 1]
        if _plain(one.quote) not in _plain(text):
            return f"quotes words that [{one.source}] does not have"
    return None


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w%$€£]+", " ", text.casefold()).split())


class Evidence:
    """One call, with numbered evidence."""

    def __init__(self, context: MethodContext):
        self.name = context.name or "evidence"
        self._call = OneCall(
            self.name,
            context,
            template="-evidence",
            reasons=True,
            more=frozenset({"evidence", "notes"}),
        )
        self.shots = self._call.shots
        self._background = Background(context.items, context.files.get("background"))

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        """See `contrafact.family.method.Method`."""
        shown = self.evidence(item)
        output = await ask(self._prompt(item, shown, draw))
        cited = citations(strip_reasoning(output.completion)[0])
        problem = check_citations(cited, shown, item.shown)
        trace = {
            "evidence": shown,
            "citations": [[one.source, one.quote] for one in cited],
            "citations_exist": problem is None,
        }
        answer = read_answer(output, item, reasons=True, trace=trace)
        if answer.predicted == FALSE and not cited:
            problem = "false, and cites nothing"
        if answer.predicted is None or problem is None:
            return answer
        return replace(answer, predicted=None, invalid=problem, probabilities=None)

    def evidence(self, item: Item) -> list[str]:
        """Return the earlier paragraphs that are shown: the company's own first."""
        own: list[str] = []
        if item.pair.ticker:
            own = self._background.before(item, OWN, ticker=item.pair.ticker)
        others = [t for t in self._background.before(item, OWN + NEWS) if t not in own]
        return [text[:ITEM_CHARACTERS] for text in (*own, *others[:NEWS])]

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        return [PlannedCall(self._prompt(item, self.evidence(item), 1), REASONS_TOKENS)]

    def _prompt(self, item: Item, shown: Sequence[str], draw: int) -> str:
        notes = [delimit(one.message) for one in contradictions(item.shown)]
        return self._call.prompt(item, draw, evidence=list(map(delimit, shown)), notes=notes)


def method(context: MethodContext) -> Evidence:
    """Return the method."""
    return Evidence(context)
