"""A manager's way in a real Chromium: from an empty studio to the files of what was decided."""

import csv
import json
import re

import pandas as pd
import pytest

PASSWORD = "otter lantern gravel 7"
pytestmark = pytest.mark.slow


@pytest.fixture
def manager(served, open_tab):
    """An empty studio, and its manager's tab."""
    studio = served()
    studio.account("Max", manager=True)
    tab = open_tab(studio.base)
    tab.sign_in("Max")
    tab.studio = studio
    return tab


def go(tab, act):
    """Do what leads to another page."""
    with tab.page.expect_navigation():
        act()


def downloaded(tab, label, folder):
    """Click on a link to a file, and return where the browser put it."""
    with tab.page.expect_download() as coming:
        tab.page.get_by_label(label, exact=True).click()
    path = folder / coming.value.suggested_filename
    coming.value.save_as(path)
    return path


def open_review(tab, name, project):
    tab.page.goto("/manage")
    tab.page.get_by_label("Its name").fill(name)
    tab.page.get_by_label("What is asked").select_option(project)
    go(tab, tab.page.get_by_role("button", name="Open the review").click)


def import_items(tab, path):
    tab.page.get_by_label("A file of any rfc, finforce or cobe command").set_input_files(path)
    go(tab, tab.page.get_by_role("button", name="Import items").click)


def written(path, items):
    path.write_text("".join(json.dumps({"id": k} | v) + "\n" for k, v in items.items()))
    return path


def test_from_an_empty_studio_to_the_exports(manager, open_tab, review_team, tmp_path):
    page = manager.page
    open_review(manager, "edits", "cobe-rating")
    page.get_by_role("link", name="Import the items").click()
    items = {f"i{n}": review_team.item(n) for n in range(3)}
    import_items(manager, written(tmp_path / "items.jsonl", items))
    assert "3 of 3 items are new." in page.inner_text("[role=status]")

    raters = ("Ada", "Ben", "Cem")
    page.get_by_role("link", name="Now invite the people").click()
    page.get_by_label("Their names").fill("\n".join(raters))
    page.locator("form.wide").get_by_label("rater").check()
    go(manager, page.get_by_role("button", name="Add, and make links").click)
    links = page.locator(".link").all_inner_texts()
    assert len(links) == 3 and page.get_by_role("button", name="Copy the link of Ada").count() == 1
    for name, link in zip(raters, links, strict=True):
        tab = open_tab(manager.base)
        tab.page.goto(link)
        tab.page.get_by_label("Password").fill(PASSWORD)
        tab.page.get_by_label("The same again").fill(PASSWORD)
        go(tab, tab.page.get_by_role("button", name="Set the password").click)
        # Who joins one review alone is led there.
        assert tab.page.url.endswith("/r/edits")
        tab.page.goto("/r/edits/work")
        for number in range(3):
            tab.press("2" if (name, number) == ("Cem", 2) else "1", "Enter")
        ended = "All done" if name == "Cem" else "Nothing for you now"
        assert ended in tab.page.inner_text("h1")

    go(manager, lambda: page.goto("/manage/r/edits/figures"))
    progress = page.get_by_role("region", name="Progress, as a table").inner_text()
    assert re.search(r"^ended: final\s+[23]\b", progress, re.MULTILINE), progress
    assert "3 items, 3 raters, 9 ratings." in page.inner_text("main")

    page.goto("/manage/r/edits")
    assert "All items have ended" in page.inner_text("main")
    lines = downloaded(manager, "Decisions as jsonl", tmp_path).read_text().splitlines()
    shown = [json.loads(line) for line in lines]
    assert sorted((row["item_id"], row["decided_by"]) for row in shown) == sorted(
        (item, name) for item in items for name in raters
    )
    assert sum(row["decision"] == "No" for row in shown) == 1
    with downloaded(manager, "Decisions as csv", tmp_path).open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 9
    assert len(pd.read_parquet(downloaded(manager, "Decisions as parquet", tmp_path))) == 9
    history = downloaded(manager, "History as jsonl", tmp_path).read_text().splitlines()
    assert len(history) == manager.studio.store.read("edits", lambda state: state.seq)
    page.goto("/manage/log")
    log = page.inner_text("table")
    assert "exported" in log and "edits: decisions.parquet" in log and "items.jsonl" in log


def test_a_closed_stage_gives_nothing_out(manager, open_tab):
    studio, page = manager.studio, manager.page
    studio.review("ours", "cobe-rating", items=2)
    cem = open_tab(manager.base)
    cem.sign_in("Cem")
    page.goto("/manage/r/ours")
    go(manager, page.get_by_role("button", name="Close", exact=False).first.click)
    cem.page.goto("/r/ours/work")
    assert "Nothing for you now" in cem.page.inner_text("h1")
    go(manager, page.get_by_role("button", name="Open", exact=False).first.click)
    cem.page.goto("/r/ours/work")
    assert cem.page.locator("input[name=item]").count()
