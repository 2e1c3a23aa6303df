"""What a single text contradicts itself in: the one reader for validators, detector and rewriter.

`contradictions` takes a text and returns what cannot be true at once in it, each with a reason and
a place. RFC-BENCH, appendix R.1 (logical or financial contradictions fail) and S.2, items 4 and 8.
"""

from collections import Counter
from collections.abc import Iterator

from contrafact.families.rfc.contracts import figure_contradictions as figures
from contrafact.families.rfc.contracts import statement_contradictions as statements
from contrafact.families.rfc.contracts.consistency import Contradiction
from contrafact.families.rfc.contracts.pair import Pair, Side, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, rule

__all__ = ["Contradiction", "contradiction", "contradictions", "contradictions_of"]


def contradictions(text: str) -> list[Contradiction]:
    """Return what contradicts itself in a text, in order of place.

    The first sentence counts as a headline where it is short enough. An empty list says that
    nothing was found, not that the text is true.
    """
    return contradictions_of(Side(text))


@read_once
def contradictions_of(side: Side) -> list[Contradiction]:
    """Return what contradicts itself in a side of a pair; see `contradictions`."""
    every = [
        *figures.moves(side),
        *figures.changes(side),
        *figures.paths(side),
        *figures.points(side),
        *figures.impossible(side),
        *figures.parts(side),
        *statements.results(side),
        *statements.extremes(side),
        *statements.ratings(side),
        *statements.comparisons(side),
        *statements.bounds(side),
        *statements.alternatives(side),
        *statements.headline(side),
        *statements.verdicts(side),
        *figures.world(side),
    ]
    found: list[Contradiction] = []
    for one in every:
        # What two readings see in one place is one contradiction.
        if not any(one.start < other.end and other.start < one.end for other in found):
            found.append(one)
    return sorted(found, key=lambda c: (c.start, c.end))


@rule("contradiction", about="consistency", paper="R.1; S.2, 8")
def contradiction(pair: Pair) -> Iterator[Finding]:
    """The rewrite is as consistent with itself as its original: no "lowered from $90 to $96", no
    "missed" above what was expected, no "fewer than" a smaller figure, no fall to a record high,
    no downgrade to a better rating, no headline that its story denies, no level on the wrong side
    of its bound, no points that make another percentage.
    """
    found = contradictions_of(pair.rewritten)
    if not found:
        return
    had = Counter(one.rule for one in contradictions_of(pair.original))
    for one in found:
        if had[one.rule]:
            had[one.rule] -= 1
        else:
            yield fail("contradiction", one.message, None, one.span)
