"""Training a verifier: items, shares, real steps on a small encoder, its card, and its verdicts."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contrafact.cli.main import main
from contrafact.errors import InputError
from contrafact.families.cobe.exam import drawn_known
from contrafact.families.cobe.learning import LESSONS, lesson_items
from contrafact.families.cobe.synth.prove import Reader
from contrafact.family import learning_specs
from contrafact.judges.surface import LeakItem
from contrafact.training.verifier.config import Shares, load_verifier_config, presets
from contrafact.training.verifier.items import SHARES, Asked, matched, share_of
from contrafact.training.verifier.measure import Surface, figures_of, temperature_of
from contrafact.training.verifier.run import describe_items, train_verifier

SPECS = learning_specs()
COMPANIES = [
    f"{first}{second}"
    for first in ("Tern", "Osk", "Brant", "Dun", "Vel", "Pell")
    for second in ("mar", "holm", "wick", "mora", "dale", "ford", "gate", "by")
]
WORSE, BETTER = ("sinks", "slumps", "loses"), ("soars", "jumps", "gains")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str


def contrafact(*arguments: str) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["contrafact", *arguments])
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    return Ended(int(code or 0), out.getvalue(), err.getvalue())


def write_pairs(path: Path, count: int) -> Path:
    """Write headlines whose counterfactuals differ in one word."""
    rng = np.random.default_rng(4)
    rows = []
    for at in range(count):
        name = COMPANIES[at % len(COMPANIES)]
        risk, chance = WORSE[rng.integers(3)], BETTER[rng.integers(3)]
        rows.append(
            {
                "headline": f"{name} opens plant {at}",
                "risk_counterfactual": f"{name} {risk} on plant",
                "opportunity_counterfactual": f"{name} {chance} on plant",
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an encoder of one layer, which has read some news; it has no output layer."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("encoder") / "model"
    asked = "it turns this news for the worse better can follow without"
    words = [*asked.split(), "contradicting", "opens"]
    words += ["plant", "on", ":", "the", *WORSE, *BETTER, *map(str, range(10))]
    words += [name.lower() for name in COMPANIES]
    vocabulary = {
        word: at
        for at, word in enumerate(dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words]))
    }
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.normalizer = normalizers.Lowercase()
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=64,
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.2,
        pad_token_id=0,
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    rng = Random(0)
    for step in range(260):
        # A few words at first, then more and more of those around them.
        kept = min(1.0, max(0.0, (step - 60) / 160))

        def some(text: str, kept: float = kept) -> str:
            known = {"worse", "better", *WORSE, *BETTER}
            return " ".join(w for w in text.split() if w in known or rng.random() < kept)

        asked, texts, labels = [], [], []
        for _ in range(64):
            name, worse, sinks = rng.choice(COMPANIES), rng.random() < 0.5, rng.random() < 0.5
            side = "worse" if worse else "better"
            asked.append(some(f"it turns this news for the {side} : {name} opens plant 7"))
            texts.append(some(f"{name} {rng.choice(WORSE if sinks else BETTER)} on plant"))
            labels.append(int(worse is sinks))
        fed = tokenizer(asked, texts, padding=True, return_tensors="pt")
        model(**fed, labels=torch.tensor(labels)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.bert.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_config(folder: Path, model: Path, **changes: Any) -> Path:
    write_pairs(folder / "pairs.jsonl", 200)
    made: dict[str, Any] = {
        "model": str(model),
        "sources": {"finforce": {"count": 200, "data": "pairs.jsonl"}},
        "shares": {"validation": 0.2, "held_out": 0.3},
        "length": 64,
        "measured": 120,
        "stages": [
            {
                "criteria": ["finforce/directionality"],
                "items": 400,
                "epochs": 3,
                "batch": 16,
                "effective_batch": 16,
                "learning_rate": 2e-3,
                "final_learning_rate": 1e-3,
                "warm_up_steps": 5,
                "evaluate_every": 10,
                "patience": 90,
                "validate_on": 60,
            }
        ],
    }
    made |= changes
    path = folder / "verifier.yaml"
    path.write_text(yaml.safe_dump(made), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training whose held-out items are other companies' of the same file."""
    folder = tmp_path_factory.mktemp("trained")
    specs = {"finforce": replace(SPECS["finforce"], crossed=None)}
    config = load_verifier_config(str(write_config(folder, encoder)), specs)
    outcome = train_verifier(config, specs, folder / "run", say=lambda line: None)
    assert outcome.usable == ("finforce/directionality",)
    assert outcome.verifier is not None
    return folder / "run"


# Items


def test_lessons_say_of_a_text_what_the_proofs_wordings_say():
    rng = Random(3)
    counted: Counter[tuple[str, bool]] = Counter()
    for known in drawn_known(24, 5):
        reader = Reader((known.story.proof or {})["wordings"])
        for item in lesson_items(known, rng):
            (lesson, holds), *_ = item.verdicts.items()
            stated = reader.read(item.text).values
            if lesson == "trouble":  # what is true in a drawn story is trouble
                assert list(stated.values()) == [{holds}], item.text
                counted[lesson, holds] += 1
                continue
            asked = reader.read(item.asked[lesson]).values
            same = [stated.get(name) == values for name, values in asked.items()]
            if lesson in ("denied", "none"):
                same = [not one for one in same]
            assert all(same) is holds, (lesson, item.text, item.asked)
            counted[lesson, holds] += 1
    assert {lesson for lesson, _ in counted} == set(LESSONS)
    assert min(counted.values()) > 20


@given(st.lists(st.sampled_from("abcdefghij"), min_size=1), st.integers(0, 99))
def test_no_value_of_a_group_is_learned_from_and_measured_on(values, seed):
    table = share_of(values, Shares(), np.random.default_rng(seed))
    assert table.keys() == set(values)
    if len(table) > 1:
        assert all(not {"train", "held-out"} <= set(shares) for shares in table.values())
        assert {"train", "held-out"} <= {one for shares in table.values() for one in shares}
    if len(table) > 2:
        assert {one for shares in table.values() for one in shares} == set(SHARES)


@given(
    st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=60),
    st.integers(0, 9),
)
def test_matched_items_hold_as_often_as_not_at_every_length(made, seed):
    items = [
        Asked("f/c", LeakItem("word " * words, ("", ""), {}, {"c": holds}, "b", {}), "asked")
        for words, holds in made
    ]
    kept = matched(items, seed=seed)
    sides = Counter((len(one.item.text.split()) // 4, one.holds) for one in kept)
    assert all(sides[band, True] == sides[band, False] for band, _ in sides)
    every = Counter((words // 4, holds) for words, holds in made)
    fewest = sum(min(every[band, True], every[band, False]) for band in {b for b, _ in every})
    assert len(kept) == 2 * fewest


def test_no_story_of_an_exam_of_the_same_seed_is_learned_from():
    learned = {item.about[0] for item in SPECS["cobe"].items(24, 0, None)}
    assert not learned & {known.story.text for known in drawn_known(24, 0)}


def test_what_is_no_better_than_chance_is_not_usable_beside_a_poor_surface():
    items = [
        Asked("f/c", LeakItem("a", ("", ""), {}, {"c": at % 2 == 0}, str(at), {}), "asked")
        for at in range(200)
    ]
    holds = np.array([one.holds for one in items])
    noise = np.random.default_rng(0).normal(size=200)
    poor, good = Surface("words", tuple(np.where(holds, -1.0, 1.0))), np.where(holds, 1.0, -1.0)
    for logits, usable in ((noise, False), (noise + good, True)):
        figures, _ = figures_of("f/c", items, logits, poor, 1.0, decided=0.75, seed=0)
        assert figures.above_low > 0
        assert figures.usable is usable


def test_items_of_a_family_are_shared_out_by_what_its_verifier_must_not_have_seen(tmp_path):
    items = SPECS["finforce"].items(200, 0, write_pairs(tmp_path / "pairs.jsonl", 200))
    assert {item.groups["company"] for item in items} == {name.lower() for name in COMPANIES}
    texts = Counter(
        (item.text, item.verdicts["directionality"])
        for item in items
        if "directionality" in item.verdicts
    )
    assert all(texts[text, True] == texts[text, False] for text, _ in texts)


def test_the_temperature_is_that_which_the_logits_were_multiplied_by():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 4_000)
    holds = rng.random(4_000) < 1 / (1 + np.exp(-logits))
    assert temperature_of(3 * logits, holds) == pytest.approx(3, rel=0.1)


# Training


def test_a_verifier_that_beats_the_surface_is_saved_with_its_figures(trained):
    (row,) = map(json.loads, (trained / "stage-1/figures/figures.jsonl").read_text().splitlines())
    assert row["usable"]
    assert row["auroc"] > 0.9 > 0.7 > row["surface"]
    stated = json.loads((trained / "verifier" / "verifier.json").read_text())
    assert stated["criteria"]["finforce/directionality"] == row
    card = (trained / "verifier" / "card.md").read_text()
    assert f"{row['auroc']:.3f}" in card
    for name in ("curve.svg", "reliability.png", "figures.csv"):
        assert (trained / name).stat().st_size > 100


def exam(judge: Path, out: Path) -> Ended:
    asked = ["exam", "--family", "finforce", "--judge", f"verifier/{judge}", "--n", "40"]
    return contrafact(*asked, "--out", str(out))


def test_a_saved_verifier_sits_the_exam_and_leaves_open_what_it_did_not_learn(trained, tmp_path):
    found = exam(trained / "verifier", tmp_path / "exam.json")
    assert found.exit_code == 0, found.stderr
    criteria = json.loads((tmp_path / "exam.json").read_text())
    assert "directionality" in json.dumps(criteria)
    assert f"verifier/{trained / 'verifier'}" in json.dumps(criteria)


def test_it_decides_by_what_it_learned(trained):
    from contrafact.family.learned import learned_verifier

    judge = learned_verifier(str(trained / "verifier"))
    subject = {"family": "finforce", "headline": "Ternmar opens plant 7", "side": "risk"}
    worse = judge("directionality", {**subject, "text": "Ternmar slumps on plant"})
    better = judge("directionality", {**subject, "text": "Ternmar soars on plant"})
    assert (worse.passed, better.passed) == (True, False)
    assert worse.probability is not None and worse.probability > 0.75
    other = judge("forward_compatibility", {**subject, "text": "Ternmar slumps on plant"})
    assert other.passed is None and "did not learn" in other.reason
    long = judge("directionality", {**subject, "text": "plant " * 80})
    assert long.passed is None and "64 tokens" in long.reason


def test_what_does_not_beat_the_surface_is_not_saved(encoder, tmp_path):
    path = write_config(tmp_path, encoder)  # held out: the exam's items, of words it never saw
    run = [str(path), "--out", str(tmp_path / "run")]
    found = contrafact("train", "verifier", *run)
    assert found.exit_code == 1, found.stderr
    assert "no better than the surface" in found.stdout
    assert not (tmp_path / "run" / "verifier").exists()
    again = contrafact("train", "verifier", *run)
    assert again.exit_code == 1
    assert "stage 1" not in again.stderr  # nothing is done twice


@pytest.fixture(scope="module")
def recipe() -> Any:
    """The tool behind ``make verifiers``."""
    path = Path(__file__).parents[2] / "tools" / "verifiers.py"
    loader = importlib.machinery.SourceFileLoader("verifiers_tool", str(path))
    spec = importlib.util.spec_from_loader("verifiers_tool", loader)
    assert spec is not None
    tool = importlib.util.module_from_spec(spec)
    loader.exec_module(tool)
    return tool


def test_the_recipe_keeps_what_it_made_and_says_that_nothing_ships(
    recipe, encoder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    stage = {"criteria": ["finforce"], "items": 16, "batch": 8, "effective_batch": 8}
    path = write_config(tmp_path, encoder, stages=[stage], measured=40)
    assert recipe.main(str(path)) == 0
    assert "Nothing ships" in capsys.readouterr().out
    assert (tmp_path / "runs" / "verifier-verifier" / "card.md").exists()
    assert recipe.main("none.yaml") == 2


@pytest.mark.parametrize(
    ("auroc", "size", "says"),
    [(0.9, 11_000_000, "Good enough"), (0.9, 13_000_000, "13.0 MB"), (0.8, 9, "AUROC of 0.85")],
)
def test_what_ships_is_good_and_small(recipe, auroc, size, says):
    rows = [
        {"stage": stage, "criterion": "cobe/E1", "auroc": known, "surface": 0.6}
        for stage, known in ((1, 0.99), (2, auroc))
    ]
    assert says in recipe.shipping(rows, ["cobe/E1"], size)[-1]


def test_another_training_is_not_mixed_into_a_folder(trained, encoder, tmp_path):
    specs = {"finforce": replace(SPECS["finforce"], crossed=None)}
    config = load_verifier_config(str(write_config(tmp_path, encoder)), specs, seed=3)
    with pytest.raises(InputError, match=r"another training \(it differs in .*seed"):
        train_verifier(config, specs, trained, say=lambda line: None)


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_losses(encoder, tmp_path):
    path = write_config(tmp_path, encoder)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-m", "contrafact", "train", "verifier", str(path), "--out"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    first = subprocess.run([*command, str(whole)], env=environment, capture_output=True, text=True)
    assert first.returncode == 1, first.stderr
    process = subprocess.Popen([*command, str(killed)], env=environment, stderr=subprocess.DEVNULL)
    part = killed / "stage-1" / ".model.part"
    until = time.monotonic() + 300
    while time.monotonic() < until and not list(
        part.glob("trainer/checkpoint-*/trainer_state.json")
    ):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (killed / "stage-1" / "model").exists()
    again = subprocess.run([*command, str(killed)], env=environment, capture_output=True, text=True)
    assert again.returncode == 1, again.stderr
    figures = "stage-1/figures/figures.jsonl"
    assert (killed / figures).read_text() == (whole / figures).read_text()
    losses = [
        [json.loads(line)["loss"] for line in text.splitlines() if '"loss"' in line]
        for text in (
            (folder / "stage-1/model/losses.jsonl").read_text() for folder in (whole, killed)
        )
    ]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("lora", [None, {"r": 4, "dropout": 0.0}])
def test_a_causal_model_is_read_off_its_answer_tokens(small_model, tmp_path, lora):
    from contrafact.models.whitebox.classifier import ANSWERS, new_classifier
    from contrafact.models.whitebox.weights import load_causal

    classifier = new_classifier(str(small_model), head="answers")
    fed = classifier.tokens("It turns this news for the worse.", "Osk Mills cuts its dividend")
    causal = load_causal(str(small_model))
    import torch

    ids = torch.tensor([fed["input_ids"]])
    with torch.inference_mode():
        said = causal.model(input_ids=ids).logits[0, -1]
    no, yes = (causal.tokenizer(one, add_special_tokens=False)["input_ids"][0] for one in ANSWERS)
    assert classifier.logits([fed])[0] == pytest.approx(float(said[yes] - said[no]), abs=1e-4)
    stage = {
        "criteria": ["finforce"],
        "items": 16,
        "batch": 8,
        "effective_batch": 8,
        "validate_on": 8,
    }
    path = write_config(
        tmp_path, small_model, head="answers", lora=lora, length=200, stages=[stage, stage]
    )
    specs = {"finforce": replace(SPECS["finforce"], crossed=None)}
    config = load_verifier_config(str(path), specs)
    outcome = train_verifier(config, specs, tmp_path / "run", say=lambda line: None)
    assert [row["stage"] for row in outcome.figures] == [1, 1, 2, 2]
    assert all(0 <= row["brier"] <= 1 for row in outcome.figures)


# Wrong inputs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stages": None}, ":"),
        ({"sources": {"weather": {"count": 3}}}, "no family 'weather' makes items"),
        ({"speed": 9}, "speed: "),
    ],
)
def test_a_wrong_config_is_reported_with_its_line(encoder, tmp_path, changes, message):
    path = write_config(tmp_path, encoder)
    made = yaml.safe_load(path.read_text())
    for key, value in changes.items():
        if value is None:
            del made[key]
        else:
            made[key] = value
    if "sources" in changes:
        made["stages"][0]["criteria"] = ["weather/rain"]
    path.write_text(yaml.safe_dump(made))
    found = contrafact("train", "verifier", str(path), "--out", str(tmp_path / "o"))
    assert found.exit_code == 2
    assert message in found.stderr and str(path) in found.stderr.replace("\n", "")
    assert "Traceback" not in found.stderr
    assert not (tmp_path / "o").exists()


def test_a_missing_verifier_hints_at_those_that_are_there_or_at_what_makes_one(
    trained, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    found = exam(tmp_path / "a" / "b" / "verifer", tmp_path / "exam.json")
    assert found.exit_code == 2
    assert "no such folder" in found.stderr and "train verifier CONFIG" in found.stderr
    for wrong in (trained, trained / "verifer", trained.parent / "ran" / "verifier"):
        found = exam(wrong, tmp_path / "exam.json")
        assert found.exit_code == 2
        assert f"verifier/{trained / 'verifier'}" in found.stderr.replace("\n", "")


def test_a_folder_does_not_hide_the_verifier_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    asked = ["exam", "--family", "finforce", "--judge", "rules", "--n", "2", "--out", "e.json"]
    found = contrafact(*asked)
    assert found.exit_code == 0, found.stderr


def test_a_folder_without_a_verifier_is_refused_before_a_question(tmp_path):
    found = exam(tmp_path, tmp_path / "exam.json")
    assert found.exit_code == 2
    assert "holds no verifier" in found.stderr
    assert not (tmp_path / "exam.json").exists()


def test_too_few_items_say_which_and_what_to_raise(encoder, tmp_path):
    path = write_config(tmp_path, encoder)
    write_pairs(tmp_path / "pairs.jsonl", 12)
    found = contrafact("train", "verifier", str(path), "--dry-run")
    assert found.exit_code == 2
    assert "finforce/directionality has" in found.stderr


def test_the_presets_are_valid_and_can_be_checked_without_training():
    assert list(presets()) == ["paper", "tiny"]
    for name in presets():
        config = load_verifier_config(name, SPECS)
        small = {
            family: one.model_copy(update={"count": 600}) for family, one in config.sources.items()
        }
        lines = describe_items(config.model_copy(update={"sources": small}), SPECS)
        assert any(line.startswith("cobe/E1: ") for line in lines)
        assert f"stage {len(config.stages)}" in lines[-1]
