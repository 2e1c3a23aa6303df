"""The written stories of the package: they prove themselves, and held-out answers are encoded."""

import base64
import json
import zlib

import pytest

from contrafact.corpus.datasets import data_source
from contrafact.errors import InputError
from contrafact.families.cobe import data
from contrafact.families.cobe.data import encoded, load_known, load_stories, opened_row
from contrafact.families.cobe.records import DOMAINS, GRAPHS
from contrafact.families.cobe.settings import CobeOptions
from contrafact.families.cobe.task import RUN
from contrafact.families.cobe.write.answers import check_written
from contrafact.family.settings import RunSettings
from contrafact.files.tables import read_rows

PUBLIC, HELD = (data_source(name).path for name in ("cobe-written", "cobe-written/held-out"))


@pytest.mark.parametrize("path", [PUBLIC, HELD], ids=["public", "held-out"])
def test_every_story_and_every_answer_proves_itself(path):
    rows = [opened_row(row) for _, row in read_rows(path)]
    assert len(rows) >= 50 and {row["Domain"] for row in rows} == {*DOMAINS}
    assert {row["Graph type"] for row in rows} == {*GRAPHS}
    assert [problem for row in rows for problem in check_written(row)] == []
    assert len(load_known(path)) == len(load_stories(path)) == len(rows)


def test_halves_share_no_core_set_and_held_out_answers_cannot_be_read_as_text():
    cores = [{story.core_set_id for story in load_stories(path)} for path in (PUBLIC, HELD)]
    assert not cores[0] & cores[1]
    text = HELD.read_text(encoding="utf-8")
    for known in load_known(HELD):
        shown = [json.dumps(one.text, ensure_ascii=False) for one in (*known.right, *known.wrong)]
        assert json.dumps(known.story.text, ensure_ascii=False) in text
        assert not any(one in text for one in shown)


def test_what_is_encoded_is_read_back_and_anything_else_is_refused():
    keys = {"Representative answer": "It rained, so they stayed.", "Right answers": []}
    row = {"Variation text": "It was dry.", "Encoded": encoded(keys)}
    assert opened_row(row) == {"Variation text": "It was dry.", **keys}
    deep = base64.b85encode(data._masked(zlib.compress(b"[" * 200_000))).decode()
    for bad in (
        deep,
        "",
        "x",
        encoded(keys)[:-9],
        7,
        encoded({"a": "0" * 3_000_000}),
        encoded([1]),
    ):
        with pytest.raises(InputError, match="'Encoded' cannot be decoded"):
            opened_row({"Encoded": bad})


def test_a_run_takes_it_by_its_name(quick_contrafact, tmp_path):
    quick_contrafact(
        "run", "cobe", "--data", "cobe-written", "--model", "embedded/smollm2-135m", "--limit", "1",
        "--max-tokens", "8", "--judge", "proof", "--out", "run", code=0,
    )  # fmt: skip
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["data"]["source"] == "cobe-written@1.0.0"
    assert manifest["settings"]["framing"] == ["plain"]


@pytest.mark.parametrize(
    ("model", "alike"),
    [("openai/pen-5", True), ("hub/Pen4-large", True), ("openai/pencil-5", False), ("a/eye", True)],
)
def test_a_model_named_like_who_wrote_or_read_the_stories_is_said(tmp_path, model, alike):
    row = opened_row(next(iter(read_rows(PUBLIC)))[1])
    row["Proof"] |= {"writer": "openai/pen-4", "senses": [{"reader": "b/eye-2", "sense": "sane"}]}
    (tmp_path / "own.jsonl").write_text(json.dumps(row))
    settings = RunSettings(
        task="cobe", models=(model,), data=tmp_path / "own.jsonl", options=CobeOptions()
    )
    _, notes = RUN.settled(settings)
    assert [note.startswith(f"{model}: of one kind") for note in notes] == [True] * alike


@pytest.mark.parametrize(
    "call",
    [
        ("cobe", "prove", "cobe-written/held-out"),
        ("cobe", "study", "sample", "cobe-written", "--sheet", "reading", "--out", "sheet.csv"),
        ("exam", "--family", "cobe", "--data", "cobe-written", "--judge", "proof", "--estimate"),
    ],
)
def test_other_commands_take_it_by_its_name_too(quick_contrafact, call):
    out = ("--out", "exam.json") if call[0] == "exam" else ()
    quick_contrafact(*call, *out, code=0)
