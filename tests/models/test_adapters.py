"""LoRA adapters by their folder: in llama.cpp as in PyTorch, and never mixed with the base."""

import json
import shutil
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from contrafact.errors import InputError
from contrafact.families.cobe.editing import EDITING
from contrafact.models.gguf import ADAPTER_FILE, gguf_paths
from contrafact.models.server import EmbeddedServer, ServerSettings
from contrafact.models.whitebox.noise import prompt_tokens
from contrafact.models.whitebox.weights import CausalModel, load_causal, write_adapter
from contrafact.prompts import open_pack

ASKED = "Name the capital of France in one word."
FEW = 12


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter of rank 8 on every linear layer, of random numbers: it changes what is said."""
    import torch
    from peft import LoraConfig, get_peft_model

    folder = tmp_path_factory.mktemp("adapter")
    model = load_causal("smollm2-135m").model
    lora = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    torch.manual_seed(4)
    adapted = get_peft_model(model, lora)
    for name, weights in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.12)
    adapted.peft_config["default"].base_model_name_or_path = "smollm2-135m"
    adapted.save_pretrained(folder)
    assert write_adapter(folder, adapted.config) == folder / ADAPTER_FILE
    return folder


def read_from_gguf(adapter: Path, folder: Path) -> str:
    """Return a folder that holds the adapter as llama.cpp reads it, and no other form of it."""
    for name in ("adapter_config.json", ADAPTER_FILE):
        shutil.copy(adapter / name, folder)
    return str(folder)


def likeliest(causal: CausalModel) -> dict[str, float]:
    """Return the log-probabilities of the first token of an answer, by PyTorch."""
    import torch

    with torch.inference_mode():
        ids = torch.tensor([prompt_tokens(causal, ASKED)])
        found = causal.model(ids).logits[0, -1].log_softmax(-1)
    top = found.topk(FEW)
    names = [causal.tokenizer.decode([int(one)]) for one in top.indices]
    return dict(zip(names, top.values.tolist(), strict=True))


def served(server: EmbeddedServer) -> dict[str, float]:
    body = {"messages": [{"role": "user", "content": ASKED}], "temperature": 0, "max_tokens": 1}
    answer = server.chat({**body, "logprobs": True, "top_logprobs": 60})
    tokens = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    return {one["token"]: one["logprob"] for one in tokens}


def edited(server: EmbeddedServer, prompt: str) -> str:
    messages = [{"role": "user", "content": prompt}]
    answer = server.chat({"messages": messages, "temperature": 0, "max_tokens": 112})
    return str(answer["choices"][0]["message"]["content"]).strip()


def apart(one: dict[str, float], other: dict[str, float]) -> float:
    """Return how far the probabilities of the first one's likeliest tokens are apart, in all."""
    return float(sum(abs(np.exp(one[key]) - np.exp(other.get(key, -30))) for key in one))


@pytest.mark.slow
def test_an_adapter_says_in_llama_cpp_what_it_says_in_pytorch(adapter, tmp_path):
    weights, path = gguf_paths(str(adapter))
    base, taught = (
        served(EmbeddedServer(ServerSettings(weights, adapter=one))) for one in (None, path)
    )
    alone = read_from_gguf(adapter, tmp_path)
    plain, merged = (likeliest(load_causal(one)) for one in ("smollm2-135m", alone))

    # Where heads were kept in the wrong order, the adapted ones would be as far apart as the rest.
    assert apart(plain, base) < 0.18
    assert apart(merged, taught) < 0.18
    assert apart(merged, base) > 0.5 and apart(plain, taught) > 0.5


@pytest.mark.slow
def test_the_editor_that_ships_edits_stories_as_the_base_model_does_not():
    """New stories of the kinds that it learned: measured were 25 of 40, and none."""
    weights, path = gguf_paths("smollm2-135m-cobe")
    servers = {one: EmbeddedServer(ServerSettings(weights, adapter=one)) for one in (None, path)}
    tasks = list(islice(EDITING.tasks(open_pack(), "same", 3, 12, "stated:1"), 12))

    def right(adapter, number):
        answers = [(one.source, edited(servers[adapter], one.prompt)) for one in tasks[:number]]
        return sum(EDITING.passed(*one) is True for one in answers)

    assert right(path, 12) >= 3 and right(None, 4) == 0


@pytest.mark.slow
def test_base_and_adapter_beside_each_other_change_nothing_of_one_another(adapter):
    weights, path = gguf_paths(str(adapter))
    servers = [EmbeddedServer(ServerSettings(weights, adapter=one)) for one in (None, path)]
    alone = [served(one) for one in servers]
    assert [served(one) for _ in range(2) for one in servers] == alone * 2


def test_a_folder_without_what_llama_cpp_reads_says_how_to_run_it(tmp_path):
    stated = tmp_path / "adapter_config.json"
    stated.write_text(json.dumps({"base_model_name_or_path": "smollm2-135m"}))
    with pytest.raises(InputError, match=r"has no adapter\.gguf") as found:
        gguf_paths(str(tmp_path))
    assert f"whitebox/{tmp_path}" in found.value.hint

    (tmp_path / ADAPTER_FILE).write_bytes(b"GGUF" + bytes(16))
    stated.write_text("[]")
    with pytest.raises(InputError, match="does not name the model"):
        gguf_paths(str(tmp_path))
