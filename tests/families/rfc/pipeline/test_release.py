"""A release holds rewritten text and metadata, and nothing of an original."""

import json
import re
import subprocess

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.corpus.release import Facts, check_facts
from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.release import (
    FIELDS,
    leaks,
    original_hash,
    release,
    row_schema,
)
from contrafact.families.rfc.records import Rewrite
from contrafact.files.atomic import write_folder
from contrafact.stages.stage import InputRow

FACTS = Facts(name="rfc-test", version="1.0.0", license="CC-BY-4.0", date="2026-01-31")
ORIGINAL = (
    "Brackwater Ferries gained 8% on Monday because fares rose on its northern routes, "
    "and the board of the company expects another strong quarter ahead."
)
REWRITES = {
    "flipping": ORIGINAL.replace("gained", "lost")
    .replace("rose", "fell")
    .replace("strong", "weak"),
    "numerical": ORIGINAL.replace("8%", "13%"),
}


def pair(manipulation="flipping", n=1, **more):
    original = ORIGINAL.replace("northern", f"northern number {n}")
    rewritten = REWRITES[manipulation].replace("northern", f"northern number {n}")
    made = Rewrite.of(
        manipulation,
        original,
        rewritten,
        article_id=f"n{n}",
        rewriter="rules",
        ticker="BWF",
        date="2025-05-12",
        url="https://news.example/brackwater-ferries-gained-8-on-monday-because-fares-rose",
    ).model_dump()
    # What earlier stages carry along, all of it full of the original.
    made |= {
        "title": original[:60],
        "summary": original[60:],
        "edits": [{"start": 0, "end": 9, "before": original, "after": "x", "why": "flip"}],
        "evidence": {"flipping": [{"term": original}]},
        "review": f"passed: {original}",
    }
    return InputRow(n - 1, made | more)


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def all_files():
    hard = [pair("numerical", 3, reason="the annotators disagree on: " + ORIGINAL)]
    return release([pair(n=1), pair("numerical", 2)], hard, FACTS).files


def windows(text, n=8):
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def test_no_run_of_eight_words_of_an_original_is_in_any_file():
    given = {
        row.fields["id"]: row.fields
        for row in (pair(n=1), pair("numerical", 2), pair("numerical", 3))
    }
    files = all_files()
    for fields in given.values():
        own = windows(fields["original"]) - windows(fields["rewritten"])
        assert own, "the rewrite changes something"
        for name, text in files.items():
            for row in rows(text) if name.endswith(".jsonl") else [{"text": text}]:
                # An address spells out its title, and is published by the paper's own policy.
                rest = {k: v for k, v in row.items() if k not in ("rewritten", "url")}
                assert not own & windows(json.dumps(rest)), f"{name} gives it away"
                assert fields["original"] not in json.dumps(row, ensure_ascii=False)


def test_a_field_that_would_give_the_original_away_stops_the_release():
    with pytest.raises(InputError, match=r"final\.jsonl:1: the field 'category' would give"):
        release([pair(category=ORIGINAL.upper())], [], FACTS, file="final.jsonl")


@given(st.integers(0, 12), st.integers(8, 14))
def test_leaks_finds_every_run_that_is_long_enough_and_only_those(start, length):
    original = " ".join(f"w{i}" for i in range(30))
    rewritten = original.replace("w15", "other")
    part = " ".join(f"w{i}" for i in range(start, start + length))
    inside = any(i <= 15 < i + 8 for i in range(start, start + length - 7))
    assert bool(leaks(original, rewritten, part.upper())) == inside
    assert not leaks(original, rewritten, " ".join(f"w{i}" for i in range(12, 19)))
    assert not leaks(original, rewritten, rewritten)


def test_every_row_keeps_the_schema_and_is_marked_as_artificial():
    files = all_files()
    check = jsonschema.Draft202012Validator(json.loads(files["schema.json"]))
    found = rows(files["pairs.jsonl"]) + rows(files["hard_cases.jsonl"])
    assert len(found) == 3
    for row in found:
        check.validate(row)
        assert list(row) == list(FIELDS)
        assert (row["artificial"], row["label"]) == (True, "false")
        assert row["canary"] in files["README.md"]
        assert row["original_sha256"] not in (None, original_hash(row["rewritten"]))
    assert not check.is_valid(found[0] | {"original": ORIGINAL})
    assert json.loads(files["schema.json"]) == row_schema()


def test_the_card_counts_what_is_there_and_has_a_yaml_head():
    import yaml

    text = all_files()["README.md"]
    head = yaml.safe_load(text.split("---")[1])
    assert head["license"] == "CC-BY-4.0"
    assert [c["data_files"] for c in head["configs"]] == ["pairs.jsonl", "hard_cases.jsonl"]
    assert "2 pairs and 1 hard cases from 3 articles" in text
    assert "artificial misinformation" in text


def test_croissant_metadata_are_valid_and_lead_to_the_rows(tmp_path):
    import mlcroissant

    made = release([pair(n=1), pair("numerical", 2, date="Q3 FY24")], [], FACTS)
    assert "2025-05-12 to 2025-05-12" in made.files["README.md"]
    write_folder(tmp_path / "r", made.files)
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "r" / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors and not dataset.metadata.ctx.issues.warnings
    read = list(dataset.records("pairs"))
    assert [row["pairs/manipulation"].decode() for row in read] == ["flipping", "numerical"]
    assert [row["pairs/date"].decode() for row in read] == ["2025-05-12", "Q3 FY24"]
    assert read[0]["pairs/rewritten"].decode() == pair(n=1).fields["rewritten"]


def test_the_folder_is_whole_its_sums_are_right_and_it_is_never_overwritten(tmp_path):
    folder = tmp_path / "release"
    made = release([pair(n=1)], [], FACTS)
    write_folder(folder, made.files)
    sums = subprocess.run(
        ["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, check=False
    )
    assert sums.returncode == 0
    assert {p.name for p in folder.iterdir()} == set(made.files)
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    write_folder(folder, made.files)
    assert before == {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    with pytest.raises(InputError, match="holds something else"):
        write_folder(folder, release([pair(n=2)], [], FACTS).files)
    assert [p.name for p in tmp_path.iterdir()] == ["release"], "no draft is left"


def test_the_same_pairs_give_the_same_bytes_and_another_version_another_canary():
    assert all_files() == all_files()
    one = release([pair()], [], FACTS)
    other = release([pair()], [], Facts(name="rfc-test", version="1.0.1"))
    assert one.canary != other.canary


def test_articles_with_several_rewrites_are_counted_since_together_they_tell_the_original():
    both = [pair("flipping", 1), pair("numerical", 1), pair("numerical", 2)]
    made = release(both, [], FACTS)
    assert made.shared_articles == 1
    assert "1 article has several rewrites" in made.files["README.md"]
    assert "several rewrites" not in release(both[1:], [], FACTS).files["README.md"]


def test_a_pair_is_not_in_both_sets():
    with pytest.raises(InputError, match="is among the hard cases too"):
        release([pair()], [pair()], FACTS)


def test_facts_that_no_metadata_can_hold_are_refused():
    for wrong in (
        ("../up", "1.0.0"),
        ("", "1.0.0"),
        ("fine", "one"),
        ("fine", "1.0.0", None, None, "31/01/2026"),
    ):
        with pytest.raises(InputError):
            check_facts(Facts(**dict(zip(Facts.model_fields, wrong, strict=False))))


def test_the_card_says_what_no_people_have_reviewed():
    rows = [pair(n=1, review="unreviewed"), pair(n=2)]
    said = "**1 of the pairs were not reviewed by people.**"
    assert said in release(rows, [], FACTS).files["README.md"]
    assert "reviewed by people" not in release(rows[1:], [], FACTS).files["README.md"]
