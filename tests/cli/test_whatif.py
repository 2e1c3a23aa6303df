"""``contrafact whatif`` with a small random model in a folder."""

import json
from pathlib import Path

import pytest

from contrafact.errors import InputError
from contrafact.models.whitebox.noise import (
    Sampling,
    counterfactual_texts,
    prompt_tokens,
    text_tokens,
)
from contrafact.models.whitebox.weights import CausalModel, load_causal, shared_causal

TEXT = "Aldmoor gains 3%, – and »ärgert« nobody"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, byte_model) -> Path:
    return byte_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def causal(folder: Path) -> CausalModel:
    return load_causal(str(folder))


def test_prompts_are_messages_where_there_is_a_template(causal: CausalModel) -> None:
    message = prompt_tokens(causal, "ab")
    plain = prompt_tokens(causal, "ab", chat=False)
    assert plain == [0, *message[1:3]]
    assert message == [2, *plain[1:], 1, 3]
    assert text_tokens(causal, "ab") == [*plain[1:], 1]
    assert text_tokens(causal, "ab", ended=False) == plain[1:]


@pytest.mark.parametrize("chat", [True, False])
def test_an_unchanged_prompt_gives_the_factual(causal: CausalModel, chat: bool) -> None:
    made = counterfactual_texts(causal, "Up?", "Up?", text=TEXT, samples=6, chat=chat)
    assert [one.counterfactual for one in made] == [TEXT] * 6
    assert all(one.ended for one in made)


def test_a_text_the_model_wrote_itself_comes_back_too(causal: CausalModel) -> None:
    made = counterfactual_texts(causal, "Up?", "Up?", samples=5, max_tokens=30)
    assert all(one.counterfactual == one.factual != "" for one in made)
    assert len({one.factual for one in made}) == 5
    fresh = counterfactual_texts(causal, "Up?", "Up?", samples=5, max_tokens=30, held=False)
    assert [one.factual for one in fresh] == [one.factual for one in made]
    assert all(one.counterfactual != one.factual for one in fresh)


def test_another_prompt_and_another_model_change_the_text(
    causal: CausalModel, tmp_path: Path, byte_model
) -> None:
    prompt = counterfactual_texts(causal, "Up?", "Down?", text=TEXT, samples=3)
    assert all(one.counterfactual != TEXT for one in prompt)
    assert len({one.counterfactual for one in prompt}) > 1  # noise that fits is many
    other = load_causal(str(byte_model(tmp_path, seed=1)))
    model = counterfactual_texts(causal, "Up?", "Up?", text=TEXT, other=other)
    assert model[0].counterfactual != TEXT
    again = counterfactual_texts(causal, "Up?", "Up?", text=TEXT, other=causal)
    assert again[0].counterfactual == TEXT


def test_models_with_other_tokens_and_prompts_without_template_are_refused(
    causal: CausalModel, tmp_path: Path, byte_model
) -> None:
    other = load_causal(str(byte_model(tmp_path, chat=False, drop=3)))
    with pytest.raises(InputError, match="have different tokenizers"):
        counterfactual_texts(causal, "Up?", "Up?", text="x", other=other)
    with pytest.raises(InputError, match="no chat template"):
        prompt_tokens(other, "x", chat=True)
    assert prompt_tokens(other, "z")[0] == 0  # plain by itself
    with pytest.raises(InputError, match="do not fit the context of 200"):
        counterfactual_texts(causal, "Up?" * 80, "Up?", text="x")
    with pytest.raises(InputError, match=r"no probability at top-p 0\.1"):
        counterfactual_texts(causal, "Up?", "x", text=TEXT, sampling=Sampling(top_p=0.1))


@pytest.mark.slow
def test_the_command_tells_the_string(quick_contrafact, folder: Path, tmp_path: Path) -> None:
    common = ("whatif", "--model", str(folder), "--factual-prompt", "Up?", "--text", TEXT)
    same = quick_contrafact(
        *common, "--counterfactual-prompt", "Up?", "--samples", "2", "--out", "w.jsonl"
    )
    assert (same.returncode, same.stdout) == (0, f"{TEXT}\n{TEXT}\n"), same.stderr
    lines = [json.loads(line) for line in (tmp_path / "w.jsonl").read_text("utf-8").splitlines()]
    assert lines == [{"factual": TEXT, "counterfactual": TEXT, "ended": True}] * 2
    written = quick_contrafact(
        *common[:-2], "--counterfactual-prompt", "Down?", "--max-tokens", "5", "--seed", "3"
    )
    assert written.returncode == 0
    assert written.stdout.startswith("factual: ") and "instead: " in written.stdout
    assert "cut at 5 tokens" in written.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--counterfactual-prompt", "y", "--text", " "), "the text is empty"),
        (("--counterfactual-prompt", "y", "--temperature", "0"), "temperature must be above 0"),
        (("--counterfactual-prompt", "y", "--top-p", "2"), "at most 1"),
        (("--counterfactual-prompt", "y"), "there is no such file"),
        (("--counterfactual-prompt", "y", "--out", "."), "is a folder"),
    ],
)
def test_what_is_wrong_is_one_line(
    quick_contrafact, options: tuple[str, ...], message: str
) -> None:
    run = quick_contrafact("whatif", "--model", "./nowhere", "--factual-prompt", "x", *options)
    assert run.returncode == 2
    assert message in run.stderr and run.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_embedded_weights_give_the_text_back_and_change_it() -> None:
    smollm = shared_causal("smollm2-135m")
    text = "Shares of Aldmoor Bank rose 4% after a calm quarter."  # 17 tokens and the end
    up, down = (
        "Write one headline about a bank whose quarter was " + word for word in ("good.", "bad.")
    )
    same = counterfactual_texts(smollm, up, up, text=text, samples=3, max_tokens=20)
    assert [one.counterfactual for one in same] == [text] * 3
    held = counterfactual_texts(smollm, up, down, text=text, samples=3, max_tokens=20)
    assert all(one.counterfactual not in ("", text) for one in held)
    own = counterfactual_texts(smollm, up, up, max_tokens=12)
    assert own[0].counterfactual == own[0].factual
