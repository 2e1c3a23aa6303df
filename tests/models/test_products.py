"""Layers that multiply by a copy of their weights: the same products, as near, and never stale."""

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.models.whitebox import products
from contrafact.models.whitebox.products import PackedLinear, blocks, pack_products


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


@given(st.integers(1, 1200), st.integers(1, 60), st.integers(1, 40), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_products_are_those_of_the_weights(inputs, outputs, rows, bias, wide):
    one = layer(inputs, outputs, bias=bias)
    given = torch.randn(rows, inputs)
    before = products.BLOCK
    try:
        products.BLOCK = 7 if wide else before
        with torch.inference_mode():
            made = one(given)
            joined = torch.cat([part for _, part in one.blocks(given)], dim=-1)
            starts = [begin for begin, _ in one.blocks(given)]
            plain = torch.cat([part for _, part in blocks(one, given, packed=False)], dim=-1)
        assert made.shape == (rows, outputs) and starts[0] == 0
        for found in (made, joined, plain):
            assert torch.allclose(found.double(), exact(one, given), rtol=1e-4, atol=1e-5)
    finally:
        products.BLOCK = before


def test_a_wide_layer_comes_in_blocks_and_whole_the_same():
    one = layer(40, 9 * products.BLOCK)
    given = torch.randn(3, 20, 40)
    with torch.inference_mode():
        parts = list(one.blocks(given))
        whole = one(given)
    assert [begin for begin, _ in parts] == [n * products.BLOCK for n in range(9)]
    assert torch.equal(torch.cat([part for _, part in parts], dim=-1), whole)
    assert torch.allclose(whole.double(), exact(one, given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("inputs", [576, 1536, 4096])
def test_products_are_as_near_to_float64_as_pytorchs_own(inputs):
    one = layer(inputs, 300, bias=False)
    given = torch.randn(128, inputs)
    with torch.inference_mode():
        right = exact(one, given)
        mine = float((one(given).double() - right).norm() / right.norm())
        theirs = float((torch.nn.Linear.forward(one, given).double() - right).norm() / right.norm())
    assert one._packed is not None
    # One long sum of 4,096 products would be three times as far.
    assert mine < 1.7 * max(theirs, 2.4e-7)


def test_training_goes_pytorchs_way_and_leaves_no_stale_copy():
    one = layer(64, 8)
    given = torch.randn(32, 64)
    with torch.no_grad():
        first = one(given)
    assert one._packed is not None
    optimizer = torch.optim.SGD(one.parameters(), lr=0.5)
    one(given).square().mean().backward()
    assert one.weight.grad is not None and float(one.weight.grad.abs().sum()) > 0
    optimizer.step()
    with torch.no_grad():
        after = one(given)
    assert not torch.allclose(first, after)
    assert torch.allclose(after.double(), exact(one, given), rtol=1e-4, atol=1e-5)
    moving = torch.randn(32, 64, requires_grad=True)  # as behind an adapter
    one(moving).sum().backward()
    assert moving.grad is not None


def test_a_copy_in_another_precision_or_by_pickle_is_a_plain_layer_with_the_same_weights():
    one = layer(64, 8)
    given = torch.randn(32, 64)
    with torch.inference_mode():
        expected = one(given)
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other._packed is None and set(other.state_dict()) == {"weight", "bias"}
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
