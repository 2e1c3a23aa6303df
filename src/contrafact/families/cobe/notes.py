"""What loading a file of stories met that its user should know of."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["StoryNotes"]


@dataclass
class StoryNotes:
    """What the loader met and the user should know."""

    rows: int = 0
    """Rows read, duplicates among them."""
    duplicates: list[tuple[int, int]] = field(default_factory=list)
    """Rows left out because the very same story came before: (line, line of the first)."""
    domains: Counter[str] = field(default_factory=Counter)
    """Stories per domain that is not one of table 3."""
    free_queries: list[int] = field(default_factory=list)
    """Lines of stories with a query that does not have the form of its phrasing."""
    others: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Line and the criteria of no known kind, which are not asked."""
    blank: list[tuple[int, str]] = field(default_factory=list)
    """Line and name of a criterion, E1 or E2, that is there and empty; it is not asked."""
    long: list[tuple[int, int]] = field(default_factory=list)
    """Line and length of stories of more characters than `contrafact.families.cobe.data.LONG`."""
    keys: Counter[str] = field(default_factory=Counter)
    """Stories per key that the schema does not have."""
    awaiting: int = 0
    """Stories that no person has approved yet."""
    broken: list[int] = field(default_factory=list)
    """Lines with half a character (a lone surrogate), replaced by U+FFFD."""

    def lines(self) -> list[str]:
        """Return one sentence for each thing that the user should know; empty if all was well."""
        said = []
        if self.duplicates:
            shown = _some(line for line, _ in self.duplicates)
            said.append(f"{len(self.duplicates)} repeated stories left out ({shown})")
        said += [
            f"{number} x the domain '{name}', which is not one of table 3"
            for name, number in self.domains.items()
        ]
        if self.free_queries:
            said.append(
                f"{len(self.free_queries)} stories with queries in free form "
                f"({_some(self.free_queries)})"
            )
        for line, texts in self.others.items():
            said += [f"line {line}: a criterion of no known kind, not asked: {t!r}" for t in texts]
        said += [f"line {line}: {name} is empty and not asked" for line, name in self.blank]
        said += [
            f"line {line}: 'Variation text' has {size:,} characters; a model may not read it whole"
            for line, size in self.long
        ]
        said += [f"{number} x the key '{key}', passed over" for key, number in self.keys.items()]
        if self.awaiting:
            said.append(f"{self.awaiting} stories await a person's approval")
        if self.broken:
            said.append(
                f"{len(self.broken)} stories with broken characters, replaced by U+FFFD "
                f"({_some(self.broken)})"
            )
        return said


def _some(lines: Iterable[int]) -> str:
    numbers = list(lines)
    shown = ", ".join(map(str, numbers[:6])) + (", …" if len(numbers) > 6 else "")
    return f"line{'s' if len(numbers) > 1 else ''} {shown}"
