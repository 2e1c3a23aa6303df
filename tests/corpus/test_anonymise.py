import pytest

from contrafact.corpus.anonymise import (
    Anonymiser,
    names_of,
    public_figures,
    read_figures,
)
from contrafact.errors import InputError
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


def titles(*texts, **options):
    anonymiser = Anonymiser(**options)
    done = list(anonymiser.run([NewsItem.of(text) for text in texts]))
    return anonymiser, [one.item.title for one in done], [one.doubts for one in done]


@pytest.mark.parametrize("spacy", [True, False], ids=["with spaCy", "without spaCy"])
@pytest.mark.parametrize(
    ("headline", "anonymous"),
    [
        ("Yellen to push development banks", "[PERSON 1] to push development banks"),
        ("Warship sails since Biden-Xi meet", "Warship sails since [PERSON 1]-[PERSON 2] meet"),
        ("Biden-Harris aid for a grid", "[PERSON 1]-[PERSON 2] aid for a grid"),
        ("Lagarde: more tightening is needed", "[PERSON 1]: more tightening is needed"),
        ("Polls open in key test of Erdogan’s pull", "Polls open in key test of [PERSON 1]’s pull"),
        ("India's Modi opens factory", "India's [PERSON 1] opens factory"),
        ("YELLEN CONFIRMS SOFT LANDING", "[PERSON 1] CONFIRMS SOFT LANDING"),
        ("Governor Ilmarinen quits over loans", "Governor [PERSON 1] quits over loans"),
        ("Fed's Abernathy says rates may wait", "Fed's [PERSON 1] says rates may wait"),
        ("SNB's Jordan sees upward risk", "SNB's [PERSON 1] sees upward risk"),
        ("MPC#39;s Ravindra Bhalekar sees risks", "MPC#39;s [PERSON 1] sees risks"),
        ("Rival hires Samantha Okonkwo as chief", "Rival hires [PERSON 1] as chief"),
        ("Anna Street Ilmarinen sells shares", "[PERSON 1] sells shares"),
        ("Boss Anna Maria Ilmarinen leaves", "Boss [PERSON 1] leaves"),
    ],
)
def test_public_figures_and_people_in_office_are_replaced(headline, anonymous, spacy, monkeypatch):
    if not spacy:
        monkeypatch.setattr("contrafact.corpus.anonymise.installed", lambda module: False)
    assert titles(headline)[1] == [anonymous]


@pytest.mark.parametrize(
    "headline",
    [
        "Xi'an factories reopen after lockdown",
        "Kuehne + Nagel lifts outlook on freight rates",
        "Justice Department sues Ticketmaster and owner",
        "JPMorgan CEO Issues Alert on Deposit Flight",
        "Anheuser-Busch sells brewery",
        "Charles River Laboratories buys rival",
        "Royal Mail shares fall 3 Pence",
        "S&P lifts outlook in May",
    ],
)
def test_words_that_only_look_like_names_of_people_stay(headline):
    assert titles(headline)[1] == [headline]


def test_a_figure_has_one_placeholder_whatever_form_the_name_has():
    _, found, _ = titles("Joe Biden to sign bill", "Biden signs bill", "Joseph Biden flies home")
    assert all("[PERSON 1]" in text for text in found)


def test_a_relative_of_a_figure_is_somebody_else():
    anonymiser, found, _ = titles("Biden signs bill", "Caroline Biden sues paper")
    assert found == ["[PERSON 1] signs bill", "[PERSON 2] sues paper"]
    assert list(anonymiser.persons) == ["joe biden", "caroline biden"]


def test_what_is_not_sure_is_left_and_listed_with_its_reason_and_place():
    _, (text,), (doubts,) = titles("Cohen & Steers lifts its dividend")
    assert text == "Cohen & Steers lifts its dividend"
    (doubt,) = doubts
    assert (doubt.name, doubt.done, doubt.field, doubt.start) == ("Cohen", "left", "title", 0)
    assert "Steve Cohen" in doubt.why
    assert doubt.context.startswith("Cohen & Steers")
    assert titles("Cohen & Steers lifts its dividend", also=["Cohen"])[1] == [
        "[PERSON 1] & Steers lifts its dividend"
    ]


def test_a_users_list_adds_names_and_a_line_without_one_is_told(tmp_path):
    own = tmp_path / "names.txt"
    own.write_text("# our own\n\nOona Brightwater* | O. Brightwater\n")
    figures = public_figures().joined(read_figures(own))
    assert titles("Brightwater bets on yen", figures=figures)[1] == ["[PERSON 1] bets on yen"]
    assert titles("Brightwater bets on yen")[1] == ["Brightwater bets on yen"]
    own.write_text("Oona Brightwater*\n***\n")
    with pytest.raises(InputError, match="is no name") as told:
        read_figures(own)
    assert told.value.line == 2


def test_every_figure_of_the_list_is_replaced_by_every_form_of_the_name():
    figures = public_figures()
    for form, person in figures.forms.items():
        if len(form) > 1:
            name = " ".join(word.capitalize() for word in form)
            (one,) = names_of(f"{name} visits the mill", figures)
            assert (one.person, one.text) == (person, name)
