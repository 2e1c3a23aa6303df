"""Layers that multiply by a copy of their weights: the same products, as near, and never stale."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
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


def layer(inputs: int, outputs: int, *, bias: bool = True, seed: int = 0) -> PackedLinear:
    torch.manual_seed(seed)
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
    assert (one._kept is not None) == (rows >= products._FEW)
    assert torch.allclose(made.double(), exact(one, given), rtol=1e-4, atol=1e-5)


def test_a_processor_without_avx512_keeps_plain_layers(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    model = torch.nn.Sequential(torch.nn.Linear(4, 4))
    pack_products(model)
    assert type(model[0]) is torch.nn.Linear


@pytest.mark.parametrize("inputs", [576, 1536, 4096])
def test_products_are_as_near_to_float64_as_pytorchs_own(inputs):
    one = layer(inputs, 300, bias=False)
    given = torch.randn(128, inputs)
    with torch.inference_mode():
        right = exact(one, given)
        mine = float((one(given).double() - right).norm() / right.norm())
        theirs = float((torch.nn.Linear.forward(one, given).double() - right).norm() / right.norm())
    assert one._kept is not None
    # One long sum of 4,096 products would be three times as far.
    assert mine < 1.7 * max(theirs, 2.4e-7)


def test_a_layer_that_is_trained_or_written_to_is_never_answered_for_by_an_old_copy():
    one = layer(64, 8)
    given = torch.randn(32, 64)
    with torch.no_grad():
        first = one(given)
    assert one._kept is not None
    optimizer = torch.optim.SGD(one.parameters(), lr=0.5)
    one(given).square().mean().backward()
    assert one.weight.grad is not None and float(one.weight.grad.abs().sum()) > 0
    optimizer.step()
    with torch.no_grad():
        after = one(given)
        assert not torch.allclose(first, after)
        assert torch.allclose(after.double(), exact(one, given), rtol=1e-4, atol=1e-5)
        one.weight = torch.nn.Parameter(torch.randn(8, 64))
        assert torch.allclose(one(given).double(), exact(one, given), rtol=1e-4, atol=1e-5)
    moving = torch.randn(32, 64, requires_grad=True)  # as behind an adapter
    one(moving).sum().backward()
    assert moving.grad is not None


def test_a_model_to_be_trained_has_plain_layers_that_any_write_reaches():
    one = layer(64, 8)
    model = torch.nn.Sequential(one)
    given = torch.randn(32, 64)
    with torch.no_grad():
        model(given)
        unpack_products(model)
        assert type(model[0]) is torch.nn.Linear
        model[0].weight.data += 1.0  # as adapters are merged
        assert torch.allclose(model(given).double(), exact(model[0], given), rtol=1e-4, atol=1e-4)


def test_automatic_mixed_precision_is_pytorchs():
    one = layer(64, 8)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert one(torch.randn(32, 64)).dtype == torch.bfloat16
    assert one._kept is None


def test_two_threads_may_need_a_layer_at_once():
    with ThreadPoolExecutor(4) as pool:
        for seed in range(20):
            one = layer(96, 40, seed=seed)
            given = torch.randn(20, 96)

            def product(_: int, one: PackedLinear = one, given: torch.Tensor = given):
                with torch.inference_mode():
                    return one(given)

            for made in pool.map(product, range(8)):
                assert torch.allclose(made.double(), exact(one, given), rtol=1e-4, atol=1e-5)


def test_a_copy_in_another_precision_or_by_pickle_is_a_plain_layer_with_the_same_weights():
    one = layer(64, 8)
    given = torch.randn(32, 64)
    with torch.inference_mode():
        expected = one(given)
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other._kept is None and set(other.state_dict()) == {"weight", "bias"}
        with torch.inference_mode():
            assert torch.equal(other(given), expected)
    double = copy.deepcopy(one).double()
    with torch.inference_mode():
        assert torch.allclose(double(given.double()), exact(one, given))
    halved = one.half().float()
    with torch.inference_mode():
        assert torch.allclose(halved(given).double(), exact(halved, given), rtol=1e-4, atol=1e-5)


def test_layers_past_the_limit_and_other_kinds_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(products, "_MOST", 100)
    model = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.LayerNorm(8))
    pack_products(model)
    assert type(model[0]) is torch.nn.Linear
    assert np.isfinite(model(torch.ones(2, 64)).detach().numpy()).all()
