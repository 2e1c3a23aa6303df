"""Layers that multiply by a copy of their weights: the same products, as near."""

import copy
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.models.whitebox import products
from contrafact.models.whitebox.perplexity import perplexities
from contrafact.models.whitebox.products import PackedLinear, pack_products
from contrafact.models.whitebox.weights import load_causal

if not torch.backends.mkldnn.is_available():
    pytest.skip("this PyTorch has no oneDNN", allow_module_level=True)

REAL_SERVES = products.onednn_serves


@pytest.fixture(autouse=True, scope="module")
def packs():
    """The same products are made on any processor, if more slowly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "onednn_serves", lambda: True)
        yield


def layer(inputs: int, outputs: int, *, bias: bool = True) -> PackedLinear:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(inputs, outputs, bias=bias))
    pack_products(model)
    (one,) = model
    assert isinstance(one, PackedLinear)
    return one


def exact(one: torch.nn.Linear, rows: torch.Tensor) -> torch.Tensor:
    bias = 0 if one.bias is None else one.bias.double()
    return rows.double() @ one.weight.double().T + bias


@given(st.integers(1, 1200), st.integers(1, 60), st.integers(1, 40), st.booleans())
@settings(max_examples=40, deadline=None)
def test_products_are_those_of_the_weights(inputs, outputs, rows, bias):
    one = layer(inputs, outputs, bias=bias)
    given = torch.randn(rows, inputs)
    with torch.inference_mode():
        made = one(given)
    assert made.shape == (rows, outputs)
    assert (one._copy is not None) == (rows >= products._FEW)
    assert torch.allclose(made.double(), exact(one, given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("inputs", [576, 1536, 4096])
def test_products_are_as_near_to_float64_as_pytorchs_own(inputs):
    one = layer(inputs, 300, bias=False)
    given = torch.randn(128, inputs)
    with torch.inference_mode():
        right = exact(one, given)
        mine = float((one(given).double() - right).norm() / right.norm())
        theirs = float((torch.nn.Linear.forward(one, given).double() - right).norm() / right.norm())
    assert one._copy is not None
    # One long sum of 4,096 products would be three times as far.
    assert mine < 1.7 * max(theirs, 2.4e-7)


def test_gradients_are_never_those_of_a_copy():
    one = layer(64, 8)
    one(torch.randn(32, 64)).square().mean().backward()
    assert one.weight.grad is not None and float(one.weight.grad.abs().sum()) > 0
    assert one._copy is None


def test_a_model_to_be_trained_has_plain_layers(byte_model, tmp_path):
    causal = load_causal(str(byte_model(tmp_path)), packed=False)
    assert not any(isinstance(module, PackedLinear) for module in causal.model.modules())


@pytest.mark.parametrize("change", [
    lambda model: copy.deepcopy(model),
    lambda model: pickle.loads(pickle.dumps(model)),
    lambda model: copy.deepcopy(model).double(),
    lambda model: model.double(),
    lambda model: model.half().float(),
    lambda model: model.load_state_dict({"0.weight": torch.ones(8, 64), "0.bias": torch.ones(8)})
    and model,
    lambda model: torch.inference_mode()(copy.deepcopy)(model),
])  # fmt: skip
@pytest.mark.parametrize("used", [False, True])
def test_a_model_is_copied_pickled_converted_and_rewritten_as_any(change, used):
    model = torch.nn.Sequential(layer(64, 8))
    rows = torch.randn(32, 64)
    with torch.inference_mode():
        if used:
            model(rows)
    changed = change(model)
    assert changed is model or changed[0]._copy is None
    with torch.inference_mode():
        outputs = changed(rows.to(changed[0].weight.dtype))
        assert torch.allclose(outputs.double(), exact(changed[0], rows), rtol=1e-4, atol=1e-5)


def test_perplexity_is_the_same_with_the_copy_and_without(byte_model, tmp_path, monkeypatch):
    texts = ["Aldmoor Bank raises its outlook after a calm quarter", "Oil", "x" * 500, "é東📈" * 9]
    folder = str(byte_model(tmp_path))
    with_copy = load_causal(folder)
    monkeypatch.setattr(products, "onednn_serves", lambda: False)
    without = load_causal(folder)
    kinds = [any(type(m) is PackedLinear for m in c.model.modules()) for c in (with_copy, without)]
    assert kinds == [True, False]
    for one, other in zip(
        perplexities(texts, model=with_copy), perplexities(texts, model=without), strict=True
    ):
        assert math.isclose(one.perplexity, other.perplexity, rel_tol=1e-4)
    assert any(getattr(module, "_copy", None) for module in with_copy.model.modules())


def test_large_models_and_processors_that_gain_nothing_keep_plain_layers(monkeypatch):
    model = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.LayerNorm(8))
    monkeypatch.setattr(products, "_MOST", 100)
    pack_products(model)
    assert type(model[0]) is torch.nn.Linear
    monkeypatch.undo()
    monkeypatch.setattr(products, "onednn_serves", lambda: False)
    pack_products(model)
    assert type(model[0]) is torch.nn.Linear


@pytest.mark.parametrize("maker", ["AuthenticAMD", "GenuineIntel"])
@pytest.mark.parametrize("capability", ["AVX2", "AVX512"])
def test_the_copy_serves_amds_processors_with_avx512(monkeypatch, capability, maker):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(products.Path, "exists", lambda path: False)
    monkeypatch.setattr(products.platform, "processor", lambda: f"Family 25, {maker}")
    served = REAL_SERVES()
    assert served == ((capability, maker) == ("AVX512", "AuthenticAMD"))


@pytest.mark.slow
def test_white_box_work_is_the_same_with_packed_weights():
    """The white-box tests again, as on AMD's processors with AVX-512."""
    root = Path(__file__).parents[2]
    names = ["perplexity", "noise_models", "completion", "whitebox_provider"]
    files = [f"tests/models/test_{name}.py" for name in names]
    environment = {name: value for name, value in os.environ.items() if "ATEN_CPU" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-m", "not slow", "-p", "no:cacheprovider",
         "-p", "tests.support.packed_products", *files],
        cwd=root, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
