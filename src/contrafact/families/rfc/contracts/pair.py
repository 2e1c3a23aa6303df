"""A pair under check: two texts, aligned word by word."""

from functools import cached_property

from contrafact.families.rfc.labels import Bands
from contrafact.families.rfc.records import Manipulation
from contrafact.models.whitebox.polarity import Polarity
from contrafact.text.alignment import Alignment, Change, Span, Token, align
from contrafact.text.reading import Side, read_once

__all__ = ["Change", "Pair", "Polarity", "Side", "Span", "Token", "read_once"]


class Pair:
    """The original and the rewrite of one manipulation."""

    def __init__(
        self,
        manipulation: Manipulation,
        original: str | Side,
        rewritten: str | Side,
        polarity: Polarity | None = None,
        bands: Bands | None = None,
        title: str = "",
    ) -> None:
        self.manipulation = manipulation
        self.original = original if isinstance(original, Side) else Side(original)
        self.rewritten = rewritten if isinstance(rewritten, Side) else Side(rewritten)
        self.polarity = polarity
        self.bands = bands
        title = " ".join(title.split())
        text = self.original.text
        ends = title.endswith(tuple(".!?:;…")) or text[len(title) :][:1] in (".", "\n")
        self.title_end = len(title) if ends and text.startswith(title) else 0
        """Where the original's title ends; 0 if its row names none."""
        self.readings: dict[object, object] = {}

    @cached_property
    def alignment(self) -> Alignment:
        """The alignment of the texts by words; quantities align whatever their values."""
        return align(self.original.tokens, self.rewritten.tokens)

    @property
    def changes(self) -> list[Change]:
        """The stretches in which the texts differ, in order."""
        return self.alignment.changes

    def tokens(self, change: Change) -> tuple[list[Token], list[Token]]:
        """Return the tokens of a change: the original's and the rewrite's."""
        return (
            self.original.tokens[slice(*change.original)],
            self.rewritten.tokens[slice(*change.rewritten)],
        )

    def spans(self, change: Change) -> tuple[Span | None, Span | None]:
        """Return a change's span in each text, in characters; None where it has no words."""
        return (
            self.original.token_span(change.original),
            self.rewritten.token_span(change.rewritten),
        )

    def texts(self, change: Change) -> tuple[str, str]:
        """Return the words of a change in both texts."""
        a, b = self.spans(change)
        return self.original.excerpt(a), self.rewritten.excerpt(b)

    def goes_with_cause(self, start: int, end: int, *, reach: int = 3, least: int = 1) -> bool:
        """Return whether words near a stretch of the original are changed too, in a causal pair."""
        changed = self._changed_near(self.original, start, end, reach)
        return self.manipulation == "causal" and changed >= least

    def is_of_the_causes(self, old: Span, new: Span) -> bool:
        """Return whether, in a causal pair, the words around stretches of both texts are exchanged.

        Such a figure may belong to the replaced cause; around a figure of the effect words stay.
        """
        after = self._changed_near(self.rewritten, *new, 3)
        return self.goes_with_cause(*old, least=2) and after >= 2

    def _changed_near(self, side: Side, start: int, end: int, reach: int) -> int:
        within = side.span_tokens(start, end)
        near = range(within.start - reach, within.stop + reach)
        changes = self.alignment
        original = side is self.original
        change_of = changes.change_in_original if original else changes.change_in_rewritten
        return sum(change_of(i) is not None for i in near if i not in within)
