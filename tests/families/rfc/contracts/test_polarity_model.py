"""The tone of a text by a classifier from a folder, as FinBERT: a tiny one, made on the spot."""

import json
import shutil

import pytest

from contrafact.errors import InputError
from contrafact.families.rfc.contracts import Options, check_pair
from contrafact.families.rfc.contracts.polarity import load_polarity_model

pytestmark = pytest.mark.slow  # PyTorch takes seconds to import

GOOD = "Tarn Rail shares rose sharply after strong sales."
BAD = "Tarn Rail shares fell sharply after weak sales."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A random BERT of two small layers; its head separates GOOD from BAD, by their middle."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    path = tmp_path_factory.mktemp("polarity")
    words = sorted({word for text in (GOOD, BAD) for word in text.lower().rstrip(".").split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *words]
    (path / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    tokenizer = BertTokenizerFast(str(path / "vocab.txt"))
    torch.manual_seed(0)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=32, num_labels=3, initializer_range=0.5,
            id2label={0: "Neutral", 1: "NEGATIVE", 2: "positive"},
        )
    ).eval()  # fmt: skip
    with torch.no_grad():
        good, bad = model.bert(**tokenizer([GOOD, BAD], return_tensors="pt")).pooler_output
        towards = (good - bad) / (good - bad).norm() ** 2
        head = torch.stack([torch.zeros_like(towards), -4 * towards, 4 * towards])
        model.classifier.weight.copy_(head)
        model.classifier.bias.copy_(-head @ (good + bad) / 2)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def changed(folder, tmp_path, **config):
    """A copy of the folder with other settings."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    settings = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(settings | config))
    return copy


def test_the_tone_is_positive_less_negative_whatever_place_the_labels_have(folder, tmp_path):
    good, bad = load_polarity_model(folder)([GOOD, BAD])
    # The head's logits are 0 for neutral and two apart from it on either side.
    assert good == pytest.approx((7.389 - 0.135) / (7.389 + 1 + 0.135), abs=1e-3)
    assert bad == pytest.approx(-good, abs=1e-4)
    turned = changed(folder, tmp_path, id2label={"0": "neutral", "1": "positive", "2": "negative"})
    assert load_polarity_model(turned)([GOOD]) == pytest.approx([-good], abs=1e-4)


def test_the_contract_of_sentiment_takes_its_tone_from_the_model(folder):
    by_model = Options(polarity=load_polarity_model(folder))
    rules = {
        found.rule for found in check_pair("sentiment", GOOD, BAD, options=by_model).violations
    }
    assert "tone-reversed" in rules
    finding = next(
        found
        for found in check_pair("sentiment", GOOD, BAD, options=by_model).violations
        if found.rule == "tone-reversed"
    )
    assert finding.message == "the tone went from +0.85 to -0.85 by the polarity model"


def test_what_is_no_such_folder_is_refused_in_one_line(folder, tmp_path, capfd):
    from transformers import BertConfig, BertModel

    bare = tmp_path / "bare"
    labels = {0: "positive", 1: "negative", 2: "neutral"}
    config = BertConfig(
        vocab_size=10, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, id2label=labels,
    )  # fmt: skip
    BertModel(config).save_pretrained(bare)
    capfd.readouterr()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, bare)
    other = changed(folder, tmp_path, id2label={"0": "sport", "1": "politics", "2": "weather"})
    torn = tmp_path / "torn"
    shutil.copytree(folder, torn)
    (torn / "model.safetensors").write_bytes(b"not weights")
    lost = tmp_path / "lost"
    shutil.copytree(folder, lost)
    (lost / "model.safetensors").unlink()
    for path, problem in (
        (tmp_path, "holds no model"),
        (tmp_path / "nowhere", "holds no model"),
        (bare, "holds no classifier: it lacks classifier.bias"),
        (other, "has the labels sport, politics, weather"),
        (torn, "no classifier can be loaded from it"),
        (lost, "no classifier can be loaded from it"),
    ):
        with pytest.raises(InputError, match=problem) as caught:
            load_polarity_model(path)
        assert len(str(caught.value).splitlines()) == 1
    assert "load" not in capfd.readouterr().err.casefold()


def test_the_command_takes_its_tone_from_the_folder_and_says_no_more(
    quick_contrafact, folder, tmp_path
):
    pair = {"id": "p", "manipulation": "sentiment", "original": GOOD, "rewritten": BAD}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    arguments = ("rfc", "check", "pairs.jsonl", "--out", "checks.jsonl", "--polarity-model")
    done = quick_contrafact(*arguments, str(folder))
    assert done.returncode == 1, done.stderr
    assert "+0.85 to -0.85 by the polarity model" in (tmp_path / "checks.jsonl").read_text()
    assert "load" not in (done.stderr + done.stdout).casefold()
