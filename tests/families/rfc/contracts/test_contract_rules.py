"""Rules as they are declared: their order, their table in the docs, those of other packages."""

from itertools import count
from pathlib import Path
from runpy import run_path

import pytest

from contrafact.errors import InputError
from contrafact.families.rfc.contracts import (
    CONTRACTS,
    Options,
    check_pair,
    check_pairs,
    fail,
    load_rules,
    rule,
)
from contrafact.families.rfc.contracts.pair_check import contract
from contrafact.families.rfc.contracts.rules import TOPICS, rules_in
from contrafact.families.rfc.records import MANIPULATIONS

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs"
PAGE = DOCS / "contracts.md"
with_table = run_path(str(ROOT / "tools" / "contract_tables.py"))["with_table"]
PAIR = ("Tern & Vale shares rose 5% on Monday.", "Tern & Vale shares fell 5% on Monday.")
HEAD = """
from contrafact.families.rfc.contracts import fail, review, rule

@rule("first", about="wording")
def first(pair):
    \"\"\"Nothing is a first.\"\"\"
    yield fail("first", "the first")
"""
MORE = """
@rule("second", "third", about="names", manipulations=("flipping",))
def second(pair, *, most=1):
    \"\"\"Nothing is a second.\"\"\"
    yield review("third", "the third")
"""


NUMBERS = count(1)  # an import is for good, so that each test has a package of its own


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that writes a package that can be imported, and returns its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(**modules: str) -> str:
        folder = tmp_path / f"house{next(NUMBERS)}"
        folder.mkdir()
        for name, source in {"__init__": "", **modules}.items():
            (folder / f"{name}.py").write_text(source)
        return folder.name

    return write


def test_the_table_in_the_docs_is_that_of_the_rules():
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page, "run: python tools/contract_tables.py docs/contracts.md"
    for rules in CONTRACTS.values():
        for one in rules:
            assert all(f"`{name}`" in page for name in one.ids)
            assert one.statement.replace("``", "`") in page


def test_the_tables_of_errors_in_the_docs_are_current():
    page = (DOCS / "contract-errors.md").read_text(encoding="utf-8")
    assert with_table(page) == page, "run: python tools/contract_tables.py docs/contract-errors.md"


def test_a_page_without_markers_or_with_half_of_them_is_refused():
    with pytest.raises(InputError, match="lacks '<!-- rules: begin"):
        with_table("# Rules\n")
    with pytest.raises(InputError, match="lacks '<!-- facts: end"):
        with_table("# Facts\n<!-- facts: begin -->\n")


def test_findings_are_listed_by_topic_and_the_first_rules_ask_for_a_rewrite():
    for name in MANIPULATIONS:
        topics = [TOPICS.index(one.about) for one in CONTRACTS[name]]
        assert topics == sorted(topics)
        assert [one.ids for one in CONTRACTS[name]][:2] == [("blank",), ("identical",)]


def test_a_blank_rewrite_is_all_that_is_found_of_it():
    check = check_pair("numerical", "Shares rose 5%.", "…")
    assert [found.rule for found in check.violations] == ["blank"] and not check.review


def test_rules_of_a_module_join_a_check_that_names_them_and_no_other(package):
    rules = load_rules(f"{package(two=HEAD + MORE)}.two")
    assert [one.ids for one in rules] == [("first",), ("second", "third")]
    assert not check_pair("flipping", *PAIR).violations
    check = check_pair("flipping", *PAIR, options=Options(rules=rules))
    assert [found.message for found in check.violations] == ["the first"]
    assert "the third" in [found.message for found in check.review]
    row = {"manipulation": "causal", "original": PAIR[0], "rewritten": PAIR[1]}
    (causal,) = check_pairs([row], options=Options(rules=rules))
    assert "first" in {found.rule for found in causal.violations}
    assert "third" not in {found.rule for found in causal.review}
    assert not set(rules) & set(CONTRACTS["flipping"])


def test_one_function_and_a_package_whose_modules_hold_rules_can_be_named(package):
    house = package(two=HEAD + MORE, __init__="from .two import first")
    (one,) = load_rules(f"{house}.two:second")
    assert one.ids == ("second", "third")
    assert [found.ids for found in load_rules(house)] == [("first",), ("second", "third")]
    assert [found.ids for found in load_rules(f"{house}:first")] == [("first",)]


def test_a_rule_named_twice_or_ours_is_run_once(package):
    rules = load_rules(f"{package(one=HEAD)}.one")
    assert len(contract("flipping", rules + rules)) == len(CONTRACTS["flipping"]) + 1
    ours = load_rules("contrafact.families.rfc.contracts.times")
    assert contract("flipping", ours) == CONTRACTS["flipping"]
    assert rules_in("contrafact.families.rfc.contracts.tim") == ()


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("nowhere.rules", r"the rule 'nowhere.rules' cannot be imported .*No module"),
        ("", r"the rule '' cannot be imported"),
        ("house.broken", r"the rule 'house\d+.broken' cannot be imported \(SyntaxError"),
        ("house.raises", r"cannot be imported \(RuntimeError: not today\)"),
        ("house.empty", r"'house\d+.empty' has no rule"),
        ("house.empty:x", r"'house\d+.empty:x' has no rule"),
        ("house.one:x", r"'house\d+.one:x' has no rule"),
    ],
)
def test_what_cannot_be_imported_or_holds_no_rule_is_one_line(package, path, problem):
    house = package(
        broken="def", raises="raise RuntimeError('not today\\nor ever')", empty="x = 1", one=HEAD
    )
    with pytest.raises(InputError, match=problem) as caught:
        load_rules(path.replace("house", house))
    assert len(str(caught.value).splitlines()) == 1


def test_an_id_that_a_rule_does_not_declare_is_named(package):
    house = package(one=HEAD.replace('yield fail("first"', 'yield fail("furst"'))
    with pytest.raises(InputError, match=r"one:first found 'furst'"):
        check_pair("flipping", *PAIR, options=Options(rules=load_rules(f"{house}.one")))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("raise KeyError('tone')", r"one:first fails \(KeyError: 'tone'\)"),
        ("yield 1 / 0", r"one:first fails \(ZeroDivisionError: division by zero\)"),
        ("yield 'first'", r"one:first fails \(AttributeError"),
        ("return None", r"one:first fails \(TypeError"),
    ],
)
def test_a_rule_of_another_package_that_fails_is_named_in_one_line(package, body, problem):
    house = package(one=HEAD.replace('yield fail("first", "the first")', body))
    with pytest.raises(InputError, match=problem) as caught:
        check_pair("flipping", *PAIR, options=Options(rules=load_rules(f"{house}.one")))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("ids", "settings", "problem"),
    [
        ((), {"about": "text"}, "needs ids"),
        (("No Id",), {"about": "text"}, "kebab-case, not 'No Id'"),
        (("id",), {"about": "weather"}, "is about one of presence, text"),
        (("id",), {"about": "text", "manipulations": ("tilted",)}, "known manipulations"),
    ],
)
def test_a_wrong_declaration_is_refused_where_it_stands(ids, settings, problem):
    with pytest.raises(ValueError, match=problem):
        rule(*ids, **settings)


def test_a_rule_states_itself_and_stays_a_function():
    def undocumented(pair):
        yield fail("id", "x")

    with pytest.raises(ValueError, match="undocumented has no docstring"):
        rule("id", about="text")(undocumented)
    undocumented.__doc__ = "It says so."
    assert rule("id", about="text")(undocumented) is undocumented
