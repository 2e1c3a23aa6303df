"""grounded: the article's lead paragraph and earlier related news stand beside the headline.

Not in the paper, where a model is shown the headline alone (FIN-FORCE, section 4). Related news
come from a file (``--news``), found by BM25 among what was published before the headline, within so
many days. Nothing later is shown, and nothing later changes what is
(`contrafact.corpus.related`): a same day counts as later unless both moments are known.
"""

from collections.abc import Mapping, Sequence

from contrafact.corpus.related import Related, moment_of
from contrafact.errors import InputError
from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.families.finforce.verifying import PAIR_TOKENS, option_in
from contrafact.family.method import MethodContext, Option
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import Headline, NewsItem
from contrafact.text.delimit import delimit

__all__ = ["OPTIONS", "Grounded", "method"]

OPTIONS: Mapping[str, Option] = {"items": 3, "days": 30}
"""``items``: how many related news are shown at most. ``days``: how old they may be."""

LEAD_CHARACTERS = 1_200
"""A lead paragraph is cut here; one is seldom longer."""
NEWS_CHARACTERS = 400
"""An item of news, its title and the start of its summary, is cut here."""


class Grounded:
    """One call."""

    shots = 0

    def __init__(self, context: MethodContext):
        options = {**OPTIONS, **context.options}
        self.name = context.name or "grounded"
        self._count = option_in(options, "items", 1, 20)
        self._days = option_in(options, "days", 1, 3650)
        self._template = context.pack.template(
            "finforce/grounded", required={"headline", "lead", "related"}
        )
        news = context.files.get("news")
        self._related = None if news is None else Related(news)
        if context.items and news is None and not any(one.description for one in context.items):
            raise InputError(
                "grounded has nothing to stand on: no headline has a lead paragraph, and there "
                "is no news",
                hint="name a file with --news, or give the headlines a column 'description'",
            )
        dated = [one for one in context.items if one.date and moment_of(one.date)]
        if context.items and news is not None and not dated:
            raise InputError(
                "no headline has a date that can be read, and only earlier news may be shown",
                hint="give the headlines a column 'date', as in 2025-04-18T09:30:00Z",
            )

    def related(self, headline: Headline) -> list[NewsItem]:
        """Return the news that is shown with a headline; none with one that has no date."""
        moment = moment_of(headline.date) if headline.date else None
        if self._related is None or moment is None:
            return []
        # Not the lead: it may be long, and the headline says what it is about.
        return self._related.before(moment, headline.text, days=self._days, count=self._count)

    def prompt(self, headline: Headline, related: Sequence[NewsItem]) -> str:
        """Return the prompt for one headline."""
        shown = [
            {"day": item.date or "", "text": delimit(item.paragraph[:NEWS_CHARACTERS])}
            for item in related
        ]
        lead = delimit((headline.description or "")[:LEAD_CHARACTERS])
        return self._template.render(headline=delimit(headline.text), lead=lead, related=shown)

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        """See `contrafact.family.method.Method`."""
        related = self.related(headline)
        output = await ask(
            self.prompt(headline, related), pair_schema("original_headline", nested=True)
        )
        shown = [{"date": one.date, "title": one.title, "url": one.url} for one in related]
        return read_pair(output, {"related": shown, "lead": bool(headline.description)})

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        return [PlannedCall(self.prompt(headline, self.related(headline)), PAIR_TOKENS)]


def method(context: MethodContext) -> Grounded:
    """Return the method."""
    return Grounded(context)
