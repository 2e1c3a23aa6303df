"""`--prompts NAME`: a bundled pack runs, is told by its name, and runs again from its config."""

import json

import pandas as pd
import pytest

RUN = ("run", "finforce", "--method", "zero-shot", "--limit", "1", "--fluency-model", "none", "-y")


def test_a_run_with_a_named_pack_is_told_from_one_without(quick_contrafact, tmp_path, service):
    asked = (*RUN, "--model", service.model)
    environment = service.environment
    quick_contrafact(*asked, "--out", "plain", code=0, env=environment)
    quick_contrafact(*asked, "--prompts", "stated", "--out", "told", code=0, env=environment)
    packs = [
        json.loads((tmp_path / run / "manifest.json").read_text())["pack"]
        for run in ("plain", "told")
    ]
    assert [pack["name"] for pack in packs] == ["default", "stated"]
    assert packs[0]["templates"] != packs[1]["templates"]
    assert "prompts: stated" in (tmp_path / "told" / "config.yaml").read_text().splitlines()
    again = ("run", "--config", "told/config.yaml", "--out", "again", "-y")
    quick_contrafact(*again, code=0, env=environment)
    repeated = json.loads((tmp_path / "again" / "manifest.json").read_text())
    assert repeated["pack"] == packs[1]
    quick_contrafact("report", "plain", "told", "--out", "report", code=0)
    systems = pd.read_csv(tmp_path / "report" / "tables" / "overall.csv")["system"].unique()
    assert len(systems) == 2 and str(systems[1]) == f"{systems[0]} [stated]"
    page = (tmp_path / "report" / "report.html").read_text()
    assert (
        "The prompts of the pack &#39;stated&#39;" in page
        or "The prompts of the pack 'stated'" in page
    )


def test_packs_are_listed_and_exported_by_name(quick_contrafact):
    listed = quick_contrafact("prompts", "list", code=0).stdout
    assert "stated: the default pack but for cobe/edit, finforce/generate" in listed
    quick_contrafact("prompts", "export", "mine", "--pack", "stated", code=0)
    wrong = quick_contrafact("prompts", "export", "other", "--pack", "start", code=2)
    assert "no prompt pack is named 'start'; name default or stated" in wrong.stderr


@pytest.mark.parametrize("given", ["start", "Stated", "packs/stated"])
def test_a_pack_that_is_not_there_is_an_error(quick_contrafact, given):
    run = quick_contrafact(*RUN, "--model", "mockllm/model", "--prompts", given)
    assert run.returncode == 2
    assert f"{given}: no such folder of prompts, and no pack of that name" in run.stderr
