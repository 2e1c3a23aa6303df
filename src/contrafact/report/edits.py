"""An edit as markup: what was taken out struck through, what was put in underlined."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from contrafact.report.visible import inner_html
from contrafact.text.diff import DiffPart

__all__ = ["marked"]

_TAGS = {"same": "{}", "removed": "<del>{}</del>", "added": "<ins>{}</ins>"}


def marked(
    parts: Sequence[DiffPart], kinds: tuple[str, ...] = ("same", "removed", "added")
) -> Markup:
    """Return the parts of a word-level difference as markup.

    Args:
        parts: As ``word_diff`` returns them.
        kinds: Which parts to show; without "added" it is the text before the edit, without
            "removed" the text after it.
    """
    return Markup("").join(_pieces([part for part in parts if part.kind in kinds]))


def _pieces(parts: Sequence[DiffPart]) -> Iterator[Markup]:
    for part in parts:
        # Spaces around words stay outside, so that marks begin and end where words do.
        words = part.text.strip(" ")
        before, after = part.text.startswith(" "), part.text.endswith(" ")
        yield Markup(" ") if before else Markup("")
        yield Markup(_TAGS[part.kind]).format(inner_html(words)) if words else Markup("")
        yield Markup(" ") if after and words else Markup("")
