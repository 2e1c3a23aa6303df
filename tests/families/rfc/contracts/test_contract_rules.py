"""Rules as they are declared: their order, their table in the docs."""

from pathlib import Path
from runpy import run_path

import pytest

from contrafact.errors import InputError
from contrafact.families.rfc.contracts import (
    CONTRACTS,
    check_pair,
    fail,
    rule,
)
from contrafact.families.rfc.contracts.rules import TOPICS
from contrafact.families.rfc.records import MANIPULATIONS

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs"
PAGE = DOCS / "contracts.md"
with_table = run_path(str(ROOT / "tools" / "contract_tables.py"))["with_table"]
PAIR = ("Tern & Vale shares rose 5% on Monday.", "Tern & Vale shares fell 5% on Monday.")


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


def test_a_rule_states_itself_and_stays_a_function():
    def undocumented(pair):
        yield fail("id", "x")

    with pytest.raises(ValueError, match="undocumented has no docstring"):
        rule("id", about="text")(undocumented)
    undocumented.__doc__ = "It says so."
    assert rule("id", about="text")(undocumented) is undocumented
