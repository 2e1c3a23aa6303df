"""Numbers with decimal commas, and texts that rules do not read."""

import re

import pytest

from contrafact.families.finforce.data import bundled_headlines
from contrafact.families.rfc.contracts import check_pair
from contrafact.families.rfc.pipeline.rewrite import assignment_of, rewrite_by_rules
from contrafact.text.degenerate import foreign_language
from contrafact.text.quantities import quantities, render

FOREIGN = {
    "es": (
        "El beneficio neto subió un 12,4 % hasta 1.250 millones de euros en el tercer trimestre.",
        "La empresa despedirá a 450 trabajadores en sus plantas del norte.",
    ),
    "fr": (
        "Le bénéfice net a progressé de 8,5 % à 350 millions d'euros au troisième trimestre.",
        "L'entreprise supprimera 450 postes dans ses usines du nord.",
    ),
    "de": (
        "Der Umsatz stieg im dritten Quartal um 12,4 Prozent auf 1,25 Milliarden Euro.",
        "Das Unternehmen streicht 450 Stellen in seinen Werken im Norden.",
    ),
    "it": (
        "L'utile netto è salito del 12,4% a 1,25 miliardi di euro nel terzo trimestre.",
        "L'azienda taglierà 450 posti nei suoi stabilimenti del nord.",
    ),
    "pt": (
        "O lucro líquido subiu 12,4% para 1,25 mil milhões de euros no terceiro trimestre.",
        "A empresa vai despedir 450 trabalhadores nas fábricas do norte.",
    ),
}


@pytest.mark.parametrize(
    ("text", "value", "changed"),
    [
        ("12,4 percent", 12.4, "18,6 percent"),
        ("2,5 million", 2.5e6, "3,8 million"),
        ("0,125 euros", 0.125, "0,188 euros"),
        ("EUR 1.234,5 million", 1.2345e9, "EUR 1.851,8 million"),
        ("816 000,5 euros", 816_000.5, "1 224 000,8 euros"),
        ("12,345 units", 12_345, "18,518"),
        ("12,50,000 rupees", 1.25e6, "18,75,000 rupees"),
    ],
)
def test_a_number_keeps_its_notation(text: str, value: float, changed: str) -> None:
    (found,) = quantities(f"It was {text} in all")
    assert found.value == pytest.approx(value)
    assert render(found, value * 1.5) == changed


def test_a_list_of_numbers_is_not_one_with_a_decimal_comma() -> None:
    assert not quantities("see tables 1,2,3 and (4,5,6)")


def test_an_unchanged_number_with_a_decimal_comma_fails() -> None:
    check = check_pair(
        "numerical",
        "Revenue rose 12,4 percent to $96 million in the quarter.",
        "Revenue rose 12,4 percent to $27 million in the quarter.",
    )
    assert check.passed is False
    assert [found.message for found in check.violations] == ["'12,4 percent' is not changed"]


def test_three_digits_beside_decimal_commas_are_undecided() -> None:
    original = "Revenue rose 12,4 percent to $1,250 million in the quarter."
    check = check_pair("numerical", original, original.replace("12,4", "20,4").replace("1,", "2,"))
    assert check.passed is None
    assert [found.rule for found in check.review] == ["comma-unclear"]


@pytest.mark.parametrize("text", [text for texts in FOREIGN.values() for text in texts])
@pytest.mark.parametrize("manipulation", ["numerical", "flipping"])
def test_other_languages_are_undecided(text: str, manipulation: str) -> None:
    check = check_pair(manipulation, text, re.sub(r"\d", "7", text, count=1))  # type: ignore[arg-type]
    assert check.passed is None
    assert [found.rule for found in check.review] == ["other-language"]


@pytest.mark.parametrize(("code", "texts"), FOREIGN.items())
def test_the_rewriter_says_that_it_does_not_read_a_language(
    code: str, texts: tuple[str, ...]
) -> None:
    for text in texts:
        row = assignment_of({"title": text, "manipulation": "numerical"}, 1)
        outcome = rewrite_by_rules(row, seed=1, attempts=3)
        said = outcome.undecided or outcome.reason
        assert f"not in English (likeliest language: {code})" in said


def test_headlines_full_of_names_are_english() -> None:
    headlines = [row.text for row in bundled_headlines()]
    headlines += ["Tarn Bay, Inc. (NASDAQ:TBAY) CTO Sells $72,000.00 in Stock"]
    assert len(headlines) > 10
    assert not [text for text in headlines if foreign_language(text)]
