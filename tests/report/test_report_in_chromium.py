"""The report in a real Chromium: one page, looked at once from every side."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support.browser import axe_violations

from contrafact.report.build import build_report
from contrafact.report.frames import TaskRuns
from contrafact.text.delimit import visible_text
from contrafact.text.diff import is_scattered, word_diff

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def items(study: Any) -> pd.DataFrame:
    items = study.make_items(headlines=12, systems=study.systems[:3:2])
    items["degenerate"] = None
    items.loc[items.index[3], "degenerate"] = "repeats its input"
    items["calls"], items["tokens"], items["dollars"] = 12.5, 4_321.5, 0.0125
    items["details"] = [{"Channel <b>": "credit \u202e lines"} for _ in items.index]
    return items


@pytest.fixture(scope="module")
def page_path(study: Any, items: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    calls = items[["system", "draw", "sample_id"]].drop_duplicates()
    calls = calls.assign(prompt="</script><script>alert(4)</script>\nline two", reply="\u202e{}")
    runs = TaskRuns("finforce", items, study.make_meta(), calls)
    out = tmp_path_factory.mktemp("chromium")
    return build_report([runs], out, resamples=50) / "report.html"


@pytest.fixture(scope="module")
def opened(chromium: Any, page_path: Path) -> Any:
    said: list[str] = []
    asked: list[str] = []
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_path.as_uri())
    page.wait_for_selector("[role=option]")
    yield page
    assert said == []
    assert {url.split(":")[0] for url in asked} <= {"file", "data", "blob"}
    assert sum(url.startswith("file:") for url in asked) == 1
    context.close()


def shown(text: str) -> str:
    """Return a text as the page shows it: hidden characters by their code points."""
    return visible_text(text).replace("‹", "").replace("›", "")


def settle(page: Any) -> None:
    """Wait until the page has drawn what was asked of it: filters apply with the next frame."""
    page.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def clear(page: Any) -> None:
    page.get_by_role("button", name="Clear filters").click()
    settle(page)


def test_axe_finds_nothing_in_light_and_dark(opened: Any, axe: str) -> None:
    opened.locator(".calls summary").first.click()
    opened.wait_for_selector(".calls pre")
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)
        # The page's policy runs no other script; the tester's own way around it does.
        shown = axe_violations(opened, axe)
        assert shown == [], json.dumps(shown, indent=1)
    opened.emulate_media(color_scheme="light")


def test_no_column_hides_behind_a_scrollbar(opened: Any) -> None:
    for width in (1024, 1280):
        opened.set_viewport_size({"width": width, "height": 900})
        hidden = opened.evaluate(
            "[...document.querySelectorAll('.scroll')]"
            ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel)"
        )
        assert hidden == [], width
        assert opened.evaluate("document.documentElement.scrollWidth") == width


def test_searching_filtering_and_sorting_find_what_one_counts(
    opened: Any, items: pd.DataFrame
) -> None:
    page, status = opened, opened.get_by_role("status")
    assert status.inner_text() == f"{len(items)} of {len(items)} counterfactuals"
    page.get_by_label("Search texts").fill("<SCRIPT>")
    settle(page)
    held = items["headline"].str.contains("<script>") | items["text"].str.contains(
        "<script>", na=False
    )
    assert status.inner_text().startswith(f"{held.sum()} of ")
    clear(page)
    page.get_by_label("Side", exact=True).select_option(label="risk")
    settle(page)
    page.get_by_label("Directional", exact=True).select_option(label="failed")
    failed = items["side"].eq("risk") & items["directionality"].eq(0)
    assert status.inner_text().startswith(f"{failed.sum()} of ")
    clear(page)
    page.get_by_label("Output", exact=True).select_option(label="no answer")
    settle(page)
    assert status.inner_text().startswith("1 of ")
    clear(page)
    page.get_by_label("Sort by", exact=True).select_option(label="Perplexity: Mean, highest first")
    settle(page)
    highest = items.loc[items["perplexity"].idxmax()]
    assert (
        page.locator("[role=option]")
        .first.locator(".start")
        .inner_text()
        .startswith(shown(highest["text"])[:20])
    )
    clear(page)


def test_it_works_by_keyboard_alone(opened: Any, items: pd.DataFrame) -> None:
    page = opened
    settle(page)
    page.get_by_label("Search texts").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "listbox":
            break
    chosen = page.locator("[aria-selected=true]")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "counterfactuals"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("End")
    assert chosen.get_attribute("aria-posinset") == str(len(items))
    page.keyboard.press("ArrowUp")
    assert chosen.get_attribute("aria-posinset") == str(len(items) - 1)
    active = page.evaluate("document.activeElement.getAttribute('aria-activedescendant')")
    assert active == chosen.get_attribute("id")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "detail"
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    assert chosen.get_attribute("aria-posinset") == "1"


def test_marks_are_those_of_python_and_texts_stay_texts(opened: Any, items: pd.DataFrame) -> None:
    page = opened
    settle(page)
    page.get_by_role("listbox").focus()
    page.keyboard.press("Home")
    card = page.locator(".detail .side").first
    for _, row in items.iterrows():
        if not isinstance(row["text"], str):
            assert "Invalid" in card.inner_text()
        elif not is_scattered(parts := word_diff(row["headline"], row["text"])):
            for kind, tag in (("added", "ins"), ("removed", "del")):
                marked = [shown(part.text.strip(" ")) for part in parts if part.kind == kind]
                found = card.locator(f".edit {tag}").all_text_contents()
                assert found == [text for text in marked if text]
        page.keyboard.press("ArrowDown")
    assert page.locator(".detail .side").count() == 2
    assert page.locator(".detail script, .detail img").count() == 0
    assert "credit U+202E lines" in card.inner_text()
    card.locator("summary").click()
    page.wait_for_selector(".calls pre")
    prompt = card.locator("pre").first.inner_text()
    assert prompt == "</script><script>alert(4)</script>\nline two"
    assert "U+202E" in card.locator("pre").last.inner_text()


def test_on_paper_the_chosen_output_stands_alone(opened: Any) -> None:
    page = opened
    settle(page)
    page.emulate_media(media="print")
    assert page.locator("#explorer .detail .side").first.is_visible()
    assert not page.get_by_role("listbox").is_visible()
    page.emulate_media(media="screen")


def test_without_javascript_the_page_says_where_the_outputs_are(
    chromium: Any, page_path: Path
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_path.as_uri())
    assert "items.parquet" in page.locator("#explorer").inner_text()
    context.close()
