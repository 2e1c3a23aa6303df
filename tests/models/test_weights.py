"""Causal models by name, folder and GGUF file."""

import asyncio
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from inspect_ai.model import GenerateConfig, get_model

from contrafact.errors import InputError
from contrafact.models.whitebox import weights
from contrafact.models.whitebox.weights import (
    CausalModel,
    check_causal,
    check_precision,
    converted,
    load_causal,
)


def test_a_gguf_file_is_converted_once_and_keeps_its_weights(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModelForCausalLM

    monkeypatch.setenv("CONTRAFACT_CACHE", str(tmp_path))
    first = load_causal(str(tiny_gguf))
    (folder,) = (tmp_path / "weights").iterdir()  # and nothing half-made next to it
    assert folder.name.startswith("tiny-")
    assert (folder / "model.safetensors").stat().st_size > 0

    def refuse(*_: Any) -> None:
        raise AssertionError("converted twice")

    monkeypatch.setattr(weights, "_convert", refuse)
    second = load_causal(str(tiny_gguf))
    direct = AutoModelForCausalLM.from_pretrained(
        tiny_gguf.parent, gguf_file=tiny_gguf.name, dtype=torch.float32
    ).state_dict()
    for loaded in (first, second):
        own = loaded.model.state_dict()
        assert own.keys() == direct.keys()
        assert all(torch.equal(own[name], direct[name]) for name in own)
        assert (loaded.start_token, loaded.context) == (0, 64)


def test_a_conversion_that_fails_leaves_nothing(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(path: Path, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(weights, "_convert", break_off)
    with pytest.raises(InputError, match=r"cannot be written \(No space left.*CONTRAFACT_CACHE"):
        converted(tiny_gguf, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_two_conversions_at_once_are_one(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Path] = []

    def convert(path: Path, folder: Path) -> None:
        begun.append(folder)
        time.sleep(0.3)
        (folder / "model.safetensors").write_bytes(b"whole")

    monkeypatch.setattr(weights, "_convert", convert)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda _: converted(tiny_gguf, tmp_path), range(2)))
    assert list(tmp_path.iterdir()) == [made[0]] == [made[1]]
    assert len(begun) == 1
    assert (made[0] / "model.safetensors").read_bytes() == b"whole"


def test_a_damaged_gguf_file_and_a_wrong_folder(tmp_path: Path, tiny_gguf: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_gguf.read_bytes()[:3000])
    with pytest.raises(InputError, match=r"cut\.gguf: PyTorch cannot load this GGUF file"):
        load_causal(str(cut))
    with pytest.raises(InputError, match="no causal language model can be loaded from"):
        load_causal(str(tmp_path))
    with pytest.raises(InputError, match=r"nowhere\.gguf: there is no such file"):
        load_causal(str(tmp_path / "nowhere.gguf"))
    for missing in ("./nowhere", "/no/where", "~/nowhere", "runs/mine/checkpoint"):
        for use in (load_causal, check_causal):
            with pytest.raises(InputError, match=r"there is no such file or folder.*by its path"):
                use(missing)


def test_what_a_name_stands_for_is_checked_without_loading(tiny_gguf: Path, tmp_path: Path) -> None:
    check_causal("smollm2-135m")
    check_causal(str(tiny_gguf))
    check_causal("someone/some-model")  # the hub is not asked
    with pytest.raises(InputError, match=r"holds no config\.json.*name a folder"):
        check_causal(str(tmp_path))
    (tmp_path / "text.txt").write_text("not weights")
    with pytest.raises(InputError, match="not a GGUF file"):
        check_causal(str(tmp_path / "text.txt"))


def test_an_adapters_folder_is_merged_into_the_model_it_names(
    tiny_gguf: Path, tmp_path: Path, without: Any
) -> None:
    peft = pytest.importorskip("peft")
    base = load_causal(str(converted(tiny_gguf, tmp_path / "cache")))
    fed = torch.tensor([[0, 5, 9]])
    before = base.model(input_ids=fed).logits
    trained = peft.get_peft_model(
        base.model, peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    )
    expected = trained(input_ids=fed).logits
    folder = tmp_path / "adapter"
    trained.save_pretrained(folder)
    loaded = load_causal(str(folder))
    assert torch.allclose(loaded.model(input_ids=fed).logits, expected, atol=1e-4)
    assert not torch.allclose(expected, before, atol=1e-2)
    assert (loaded.start_token, loaded.context) == (0, 64)
    check_causal(str(folder))

    without("peft")
    with pytest.raises(InputError, match=r"contrafact\[train\]"):
        load_causal(str(folder))


def test_an_adapter_whose_model_is_gone_says_so(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(
        '{"peft_type": "LORA", "base_model_name_or_path": "/no/where/base"}'
    )
    with pytest.raises(InputError, match="/no/where/base: there is no such file or folder"):
        load_causal(str(tmp_path))


def test_weights_are_kept_as_asked_for(tiny_gguf: Path, tmp_path: Path) -> None:
    folder = str(converted(tiny_gguf, tmp_path))
    assert load_causal(folder, precision="bfloat16").model.dtype == torch.bfloat16
    with pytest.raises(InputError, match="float32, bfloat16, float16, 4bit, not 'int8'"):
        load_causal(folder, precision="int8")  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_there_is_reported(tiny_gguf: Path, device: str) -> None:
    with pytest.raises(InputError, match=f"cannot use the device '{device}'"):
        load_causal(str(tiny_gguf), device=device)


def test_four_bits_need_a_gpu_and_their_package(
    monkeypatch: pytest.MonkeyPatch, without: Any
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="4-bit weights need a GPU"):
        load_causal("smollm2-135m", precision="4bit")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(InputError, match="4-bit weights need a GPU"):
        check_precision("4bit", "cpu")
    without("bitsandbytes")
    with pytest.raises(InputError, match="pip install bitsandbytes"):
        check_precision("4bit", "cuda:0")


def test_a_hub_that_cannot_be_reached_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(InputError, match=r"no-such-model.*cannot be reached.*path"):
        load_causal("no-such-model")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"no-such-model.*HF_HUB_OFFLINE is set.*path"):
        load_causal("no-such-model")


def test_missing_pytorch_names_the_fix(without: Any) -> None:
    without("torch")
    with pytest.raises(InputError, match=r"pip install 'contrafact\[whitebox\]'"):
        load_causal("smollm2-135m")


@pytest.mark.slow  # the first time on a machine: they are converted
def test_the_embedded_weights_load(smollm: CausalModel) -> None:
    assert smollm.tokenizer.convert_ids_to_tokens(smollm.start_token) == "<|endoftext|>"
    assert (smollm.context, smollm.model.dtype) == (8192, torch.float32)


def test_another_gguf_file_runs_in_llama_cpp(
    tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_gguf.parent)
    for name in (f"embedded/{tiny_gguf}", "embedded/./tiny.gguf"):
        model = get_model(name, threads=1, context=64)
        output = asyncio.run(model.generate("up", config=GenerateConfig(max_tokens=3)))
        assert output.usage is not None and output.usage.output_tokens == 3


def test_a_gguf_file_that_is_not_whole_is_refused_by_both_ways_to_run_it(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tiny_gguf.read_bytes()
    for at, torn in enumerate(
        (data[:-1], data[:40], data[:4], data[:8] + b"\xff" * 16 + data[24:])
    ):
        cut = tmp_path / f"{at}.gguf"
        cut.write_bytes(torn)
        with pytest.raises(InputError, match=rf"{at}\.gguf: PyTorch cannot load"):
            load_causal(str(cut))
        model = get_model(f"embedded/{cut}", threads=1, context=64)
        with pytest.raises(InputError, match=rf"{at}\.gguf: llama.cpp cannot load.*is complete"):
            asyncio.run(model.generate("up", config=GenerateConfig(max_tokens=3)))


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = (
        "import sys, contrafact.models, contrafact.models.whitebox.perplexity\n"
        "import contrafact.models.server, contrafact.models.gguf\n"
        "heavy = ('torch', 'transformers', 'xllamacpp', 'inspect_ai')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"


def test_a_file_of_a_model_that_is_not_whole_is_one_line_when_it_is_loaded(
    tiny_gguf: Path, tmp_path: Path
) -> None:
    folder = converted(tiny_gguf, tmp_path)
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    for torn in (whole[:-1], whole[:100], b"", b"\xff" * 200):
        weights.write_bytes(torn)
        with pytest.raises(InputError, match=rf"from {folder} \(.*header.*all whole"):
            load_causal(str(folder))
    weights.write_bytes(whole)
    load_causal(str(folder))
    weights.unlink()
    with pytest.raises(InputError, match=r"no file named model\.safetensors"):
        load_causal(str(folder))
    weights.write_bytes(whole)
    (folder / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json' is not a valid JSON file"):
        load_causal(str(folder))
