"""Stages whose rows are news items."""

from contrafact.corpus.news_items import item_of
from contrafact.files.tables import RowNotes
from contrafact.stages.stage import InputRow, Stage

__all__ = ["NewsStage"]


class NewsStage(Stage):
    """A stage of news items; of rows with the same title and summary, only the first is kept."""

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        row.value = item_of(row.fields, notes, row.line)

    def key(self, row: InputRow) -> str | None:
        """Return the item's id, which is made from title and summary."""
        return str(row.value.id)

    def remark(self, row: InputRow) -> str | None:
        """Return a remark on an item that is a repetition or has only a title; otherwise None."""
        if row.repeats is not None:
            return "left out: title and summary came before"
        return None if row.value.summary.strip() else "with a title and no summary"
