"""An office for the tests of the workflow: named people who answer what they are given."""

from datetime import timedelta
from typing import ClassVar

import pytest

from contrafact.review.assignment import assign
from contrafact.review.setup import import_items
from contrafact.review.workflow import answer


class Office:
    """A review in which named people answer what they are given."""

    annotated: ClassVar = {
        "pass": {"category_correct": "true", "rewrite_valid": "pass"},
        "fail": {"category_correct": "true", "rewrite_valid": "fail"},
        "mis-category": {"category_correct": "false"},
    }
    event: ClassVar = {
        "event_status": "true",
        "material_relevance": "true",
        "market_category": "Macroeconomic indicators",
    }

    def __init__(self, team, name="rfc-rewrite", items=1, **options):
        self.team, self.now, self.rng = team, team.now, team.rng(3)
        self.state = team.state(name, items, **options)
        self.own = "i0"

    def next(self, who):
        return assign(self.state, who, self.now, self.rng)[0]

    def say(self, who, answers, **options):
        given = self.next(who)
        assert given is not None, f"nothing for {who}"
        where = (given.item, given.stage, given.round)
        self.now += timedelta(minutes=1)
        answer(self.state, who, *where, answers, now=self.now, rng=self.rng, **options)
        return given

    def item(self, name=None):
        return self.state.items[name or self.own]


@pytest.fixture
def office(review_team):
    return lambda *arguments, **options: Office(review_team, *arguments, **options)


@pytest.fixture
def rewritten(office):
    """Makes an office where a rewrite, not audited itself, has been reviewed and annotated."""

    def made_by(votes=("pass", "pass")):
        made = office(items=0)
        items = {name: made.team.item(0) for name in ("i0", "i1")}
        import_items(made.state, items, "Max", made.now)
        for _ in items:
            made.say("Ada", {"review": "pass"})
        audited = made.say("Ben", {"audit": "pass"}).item
        made.own = next(name for name in items if name != audited)
        for who, vote in zip(("Cem", "Dia"), votes, strict=True):
            for _ in items:
                mine = made.next(who).item == made.own
                made.say(who, made.annotated[vote if mine else "pass"])
        return made

    return made_by
