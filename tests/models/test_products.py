"""Layers that multiply by a copy of their weights: the same products, as near."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.models.whitebox import products
from contrafact.models.whitebox.products import PackedLinear, pack_products, unpack_products

if not torch.backends.mkldnn.is_available():
    pytest.skip("this PyTorch has no oneDNN", allow_module_level=True)


@pytest.fixture(autouse=True, scope="module")
def as_with_avx512():
    """The same products are made without AVX-512, if more slowly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
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


def test_a_model_to_be_trained_has_plain_layers_that_any_write_reaches():
    one = layer(64, 8)
    model = torch.nn.Sequential(one)
    given = torch.randn(32, 64)
    with torch.inference_mode():
        model(given)
        assert set(model.state_dict()) == {"0.weight", "0.bias"}
    unpack_products(model)
    assert type(model[0]) is torch.nn.Linear
    model[0].weight.data += 1.0  # as adapters are merged
    with torch.inference_mode():
        assert torch.allclose(model(given).double(), exact(model[0], given), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("capability", "most"), [("AVX2", 2**29), ("AVX512", 100)])
def test_layers_past_the_limit_or_without_avx512_stay_plain(monkeypatch, capability, most):
    monkeypatch.setattr(products, "_MOST", most)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    model = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.LayerNorm(8))
    pack_products(model)
    assert type(model[0]) is torch.nn.Linear
