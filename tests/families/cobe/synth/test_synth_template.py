"""A mistake in a template is reported with file and key."""

import pytest

from contrafact.errors import InputError
from contrafact.families.cobe.synth.template import load_templates, read_template

GOOD = """\
number = 1
domain = "Engineering"
graph = "chain"
words = { town = "town", tool = ["saw", "drill"] }
[told]
rain.yes = ["rain <fell|fallen> on {town}", "the rain"]
rain.no = ["the sky over {town} <stayed> clear", "the clear sky"]
flood.yes = ["the cellar <filled>", "the water in the cellar"]
flood.no = ["the cellar <stayed> dry", "the dry cellar"]
bill.low = "a new {tool} <cost> only {n} dollars"
bill.high = "a new {tool} <cost> {n} dollars"
bill.numbers = { low = [10, 30, 10], high = [50, 90, 10] }
bill.what = "the price of a {tool}"
[latent]
drain.yes = "the drain was clear"
drain.no = "the drain was blocked"
[causes]
flood = "rain and not drain"
bill = "flood"
"""


def test_a_good_template_is_read(tmp_path):
    path = tmp_path / "wet.toml"
    path.write_text(GOOD)
    template = read_template(path)
    assert template.id == "wet"
    assert template.signs == {
        ("rain", "flood"): 1, ("drain", "flood"): -1, ("flood", "bill"): 1,
    }  # fmt: skip
    words = {"town": "Ashmere", "tool": "saw"}
    assert template.stated["rain"].clauses["yes"].realized(words) == "rain fell on Ashmere"
    assert template.stated["rain"].clauses["yes"].supposed(words) == "rain had fallen on Ashmere"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("number = 1", 'number = "one"', "'number' is not a whole number"),
        ("number = 1", "", "'number' is missing"),
        ("Engineering", "Cooking", "'domain' is 'Cooking', which is not among"),
        ('graph = "chain"', 'graph = "fork"', "'graph' is 'fork', but the causes make it 'chain'"),
        ('town = "town"', 'town = "towns"', "'words.town' is 'towns', no list"),
        ("{town}", "{city}", "'told.rain.yes' has the slot {city}"),
        (", \"the rain\"]", "]", "'told.rain' has a noun phrase for one value and none"),
        ("<filled>", "filled", "'told.flood.yes' has no verb in <…>"),
        ("<filled>", "<had|had> water", "'told.flood.yes' has the word 'had'"),
        ("<filled>", "<filled> <up>", "'told.flood.yes' has more than one verb"),
        ("rain <fell|fallen> on", "rain <fell|fallen>. on", "'told.rain.yes' has a mark"),
        ("only {n} dollars", "little", "'told.bill.low' needs {n} once"),
        ("high = [50, 90, 10]", "high = [20, 90, 10]", "'told.bill.numbers' of low and high"),
        ("high = [50, 90, 10]", "high = [50, 60, 10]", "'told.bill.numbers.high' needs at least"),
        ("high = [50, 90, 10]", "high = [50, 90]", "'told.bill.numbers.high' is not [least"),
        ('bill.what = "the price of a {tool}"', "", "'told.bill' is told as low and high with"),
        ('drain.no = "the drain was blocked"', "", "'latent.drain.no' is missing"),
        ("flood = \"rain", "flod = \"rain", "'causes.flod' names no told variable"),
        ('bill = "flood"', 'bill = "flod"', "'causes' 'bill' depends on 'flod', which is not"),
        ('bill = "flood"', 'bill = "flood or"', "'causes.bill' 'flood or' cannot be read"),
        ('bill = "flood"', 'bill = "flood > 1"', "'causes.bill' 'flood > 1' is not made of names"),
        ('bill = "flood"', 'bill = "flood and rain or not flood and not rain"', "one way"),
        ("the drain was blocked", "the cellar filled", "reads like 'told.flood.yes'"),
        ("[latent]", "[hidden]", "'hidden' is not known"),
        ("number = 1", "number == 1", "is not readable as TOML"),
    ],
)  # fmt: skip
def test_a_mistake_names_file_and_key(tmp_path, before, after, message):
    assert before in GOOD
    path = tmp_path / "wet.toml"
    path.write_text(GOOD.replace(before, after, 1))
    with pytest.raises(InputError) as error:
        read_template(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_two_templates_with_one_number_are_refused(tmp_path):
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).write_text(GOOD)
    with pytest.raises(InputError, match=r"has the number of .*one\.toml"):
        load_templates(tmp_path)


def test_a_folder_without_templates_is_reported(tmp_path):
    with pytest.raises(InputError, match="has no templates"):
        load_templates(tmp_path)
