import pytest

from contrafact.corpus.anonymise import Anonymiser, kept_names
from contrafact.records import NewsItem

ITEMS = [
    NewsItem.of(
        "Veltra names Maria Keller as chief executive",
        "Mr. Daniel Osborne, who has led the pump maker since 2011, hands over to Keller in May.",
        ticker="VLTX",
        date="2025-05-02",
    ),
    NewsItem.of("Goldman Sachs raises its target for Veltra", "Analysts see orders rising."),
    NewsItem.of("Investors welcome Maria Keller’s plan", "Shares of the company gained 4%."),
]


@pytest.fixture(scope="module")
def done():
    anonymiser = Anonymiser()
    return anonymiser, list(anonymiser.run(ITEMS))


def test_a_person_has_one_placeholder_throughout_the_set(done):
    anonymiser, (first, _, third) = done
    assert anonymiser.persons["maria keller"] in first.item.title
    assert anonymiser.persons["maria keller"] in first.item.summary  # "Keller" alone
    assert anonymiser.persons["maria keller"] in third.item.title
    assert anonymiser.persons["daniel osborne"] in first.item.summary
    assert "Mr. [PERSON" in first.item.summary
    assert "Keller" not in first.item.paragraph + third.item.paragraph
    assert len(set(anonymiser.persons.values())) == len(anonymiser.persons)


def test_firms_that_are_named_like_people_stay(done):
    _, (_, second, _) = done
    assert second.item == ITEMS[1]
    assert second.replaced == ()
    assert "goldman sachs" in kept_names()


def test_every_replacement_is_reported_where_it_stood(done):
    for before, after in zip(ITEMS, done[1], strict=True):
        for name in ("title", "summary"):
            text = getattr(before, name)
            for change in reversed([c for c in after.replaced if c.field == name]):
                assert text[change.start : change.end] == change.before
                text = text[: change.start] + change.after + text[change.end :]
            assert text == getattr(after.item, name)
        assert all(change.item_id == before.id for change in after.replaced)


def test_what_is_left_of_an_item_is_the_same_but_its_id_is_its_new_contents(done):
    _, (first, *_) = done
    assert (first.item.ticker, first.item.date) == ("VLTX", "2025-05-02")
    assert first.item.id == NewsItem.of(first.item.title, first.item.summary).id != ITEMS[0].id


def test_names_can_be_kept_on_demand():
    (first, *_) = Anonymiser(keep=["Daniel Osborne"]).run(ITEMS[:1])
    assert "Daniel Osborne" in first.item.summary
    assert "Maria Keller" not in first.item.title
