"""Claims with labels of their own: read as people have them, asked for their labels, scored."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from contrafact.errors import InputError
from contrafact.families.rfc.claims import Claim
from contrafact.families.rfc.data import PairNotes, items_of, load_data
from contrafact.families.rfc.methods import methods_of
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings, ShotOptions
from contrafact.judges.replies import read_label
from contrafact.models.asking import Ask

LABELS = ("True", "False", "NEI")
THREE = ("true", "false", "not enough information")


def published(number=12, labels=LABELS):
    """Rows as the COLING 2025 challenge has them, of our own writing."""
    return [
        {
            "ID": f"FMD_{n}",
            "url": "https://facts.example/1",
            "claim": f"Velmont Valves paid a dividend of {n + 1} cents a share.",
            "posted": "02/01/2016",
            "sci_digest": [],
            "justification": "It was in the papers.",
            "issues": ["taxes"],
            "image_data": [],
            "label": labels[n % len(labels)],
            "evidence": "The company's report.",
        }
        for n in range(number)
    ]


def write(path, rows):
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".parquet":
        pd.DataFrame(rows)[["claim", "label"]].to_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["f.json", "f.jsonl", "f.csv", "f.parquet"])
def test_the_challenge_s_rows_are_claims_that_cluster_by_row(tmp_path, name):
    notes = PairNotes()
    claims = load_data(write(tmp_path / name, published()), notes)
    assert all(isinstance(one, Claim) for one in claims)
    assert [one.label for one in claims] == list(THREE) * 4
    items = items_of("rfc-detect", claims)
    assert len({item.cluster for item in items}) == len(items) == 12
    assert {item.labels for item in items} == {THREE}
    assert "4 x 'NEI' read as 'not enough information'" in notes.lines()


def test_data_without_the_third_label_ask_for_two(tmp_path):
    rows = [{"claim": row["claim"], "label": row["label"] == "True"} for row in published(6)]
    items = items_of("rfc-detect", load_data(write(tmp_path / "f.jsonl", rows)))
    assert {item.labels for item in items} == {("true", "false")}
    (call,) = methods_of("rfc-detect").make("plain", context(items)).plan(items[0])
    assert "not enough" not in call.prompt


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"label": "mostly true"}, "'mostly true' is no label"),
        ({"label": 1}, "'1' is no label"),
        ({"label": ""}, "the label is missing"),
        ({"claim": None}, "the claim is missing"),
        ({"ID": "FMD_0"}, "that of another claim, on line 1"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_by_its_line(tmp_path, bad, message):
    first, second = published(2)
    with pytest.raises(InputError, match=message) as caught:
        load_data(write(tmp_path / "f.jsonl", [first, {**second, **bad}]))
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("NEI", "not enough information"),
        ("Not enough info.", "not enough information"),
        ("Label: Not enough information", "not enough information"),
        ("False", "false"),
        ("It is not true", None),
        ("true, or not enough information", None),
    ],
)
def test_three_labels_are_read_as_strictly_as_two(reply, label):
    assert read_label(reply, THREE).label == label
    if label and label != "false":
        assert read_label(reply, THREE[:2]).label is None


def context(items, **given):
    settings = RunSettings(task="rfc-detect", options=ShotOptions(shots=given.pop("shots", 0)))
    return MethodContext(settings, items=[item.pair for item in items], **given)


def claims(**given):
    return items_of("rfc-detect", [Claim(id=f"c{n}", rewritten=f"Claim {n}.", label=THREE[n % 3])
                                   for n in range(6)], **given)  # fmt: skip


@pytest.mark.parametrize("name", ["plain", "stepwise", "reflect"])
def test_every_method_asks_exactly_the_labels_of_the_data(name):
    items = claims()
    for call in methods_of("rfc-detect").make(name, context(items)).plan(items[0]):
        assert "true, false or not enough information" in call.prompt
        assert "<claim>Claim 0.</claim>" in call.prompt
        assert "tamper" not in call.prompt and "<paragraph>" not in call.prompt


def test_what_claims_cannot_have_is_refused_in_one_line():
    items = claims()
    for name, given, message in (
        ("plain", {"shots": 2}, "there are none of claims"),
        ("plain:question=paper", {}, "the paper's question"),
    ):
        with pytest.raises(InputError, match=message):
            methods_of("rfc-detect").make(name, context(items, **given))


def test_a_model_in_this_process_is_held_to_all_three_labels():
    made = methods_of("rfc-detect").make("plain", context(claims()))
    output = ModelOutput.from_content("mockllm/model", "true")
    output.usage = ModelUsage(input_tokens=9, output_tokens=9, total_tokens=18)
    ask = Ask(get_model("mockllm/model", custom_outputs=[output]))
    assert made.constrained(ask, claims()[0]) is ask


def test_scored_answers_have_the_figures_of_scikit_learn_over_valid_and_strict(
    quick_contrafact, tmp_path
):
    rng = np.random.default_rng(4)
    rows = published(60)
    said = [str(rng.choice([*LABELS, row["label"], row["label"], "cannot say"])) for row in rows]
    given = [
        {"ID": row["ID"], "claim": row["claim"], "label": row["label"], "prediction": one}
        for row, one in zip(rows, said, strict=True)
    ]
    write(tmp_path / "answers.csv", given)
    found = quick_contrafact("score", "rfc-detect", "answers.csv", "--out", "run")
    assert found.returncode == 0, found.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert items["manipulation"].isna().all() and items["original"].isna().all()
    assert items["predicted"].isna().sum() == said.count("cannot say") > 0
    task = json.loads((tmp_path / "run" / "results.json").read_text())
    figures = pd.DataFrame(task["figures"]).set_index(["measure", "form"])["estimate"]
    valid = items[items["predicted"].notna()]
    gold, predicted = valid["gold"].tolist(), valid["predicted"].tolist()
    assert figures["accuracy", "valid"] == pytest.approx(accuracy_score(gold, predicted))
    assert figures["f1", "valid"] == pytest.approx(f1_score(gold, predicted, average="macro"))
    assert figures["mcc", "valid"] == pytest.approx(matthews_corrcoef(gold, predicted))
    right = items["predicted"].eq(items["gold"]).mean()
    assert figures["accuracy", "strict"] == pytest.approx(right)
    assert "pairwise_accuracy" not in set(pd.DataFrame(task["figures"])["measure"])
    tables = {path.stem for path in (tmp_path / "run" / "tables").iterdir()}
    assert "confusion" in tables and "by_manipulation" not in tables
    page = (tmp_path / "run" / "report.html").read_text()
    assert "not enough information" in page


def test_columns_of_other_names_and_a_file_of_labels_alone(quick_contrafact, tmp_path):
    rows = [
        {"query": row["claim"], "answer": row["label"], "said": row["label"]}
        for row in published(9)
    ]
    write(tmp_path / "q.csv", rows)
    named = ("--columns", "claim=query", "--columns")
    asked = ("run", "rfc-detect", "--method", "majority", "--data", "q.csv", "--out", "run")
    found = quick_contrafact(*asked, *named, "label=answer")
    assert found.returncode == 0, found.stderr
    assert len(pd.read_parquet(tmp_path / "run" / "items.parquet")) == 9
    scored = ("score", "rfc-detect", "q.csv", "--out", "scored", *named)
    found = quick_contrafact(*scored, "gold=answer,label=said")
    assert found.returncode == 0, found.stderr
    items = pd.read_parquet(tmp_path / "scored" / "items.parquet")
    assert items["predicted"].eq(items["gold"]).all()
    found = quick_contrafact("data", "check", "q.csv", *named, "label=answer")
    assert found.returncode == 0 and "9 claims that can be used" in found.stdout
    # One label beside a claim may be the right one: it is not scored against itself.
    write(tmp_path / "data.csv", published(3))
    found = quick_contrafact("score", "rfc-detect", "data.csv", "--out", "none")
    assert found.returncode == 2 and "call the answer 'prediction'" in found.stderr


def test_a_judge_and_diagnosis_have_no_use_for_claims(quick_contrafact, tmp_path):
    write(tmp_path / "f.jsonl", published(3))
    judged = quick_contrafact(
        "run", "rfc-detect", "--model", "x/y", "--judge", "x/z",
        "--data", "f.jsonl", "--out", "run",
    )  # fmt: skip
    assert judged.returncode == 2 and "--judge has no use" in judged.stderr
    other = quick_contrafact(
        "run", "rfc-diagnose", "--method", "majority", "--data", "f.jsonl", "--out", "run"
    )
    assert other.returncode == 2 and "f.jsonl:1" in other.stderr
    assert not (tmp_path / "run").exists()
