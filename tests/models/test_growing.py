"""Keys and values that grow in place are those that are copied for every token."""

import pytest

torch = pytest.importorskip("torch")


def test_a_growing_cache_holds_what_a_copied_one_holds():
    from transformers import DynamicCache

    from contrafact.models.whitebox.growing import growing_layer, make_room

    random = torch.Generator().manual_seed(3)

    def some(rows, positions):
        return torch.randn((rows, 2, positions, 4), generator=random)

    copied, growing = DynamicCache(), DynamicCache()
    beginning = some(3, 5), some(3, 5)
    for cache in (copied, growing):
        cache.update(*beginning, 0)
    make_room(growing)
    assert type(growing.layers[0]) is growing_layer()
    rows = 3
    for step in range(200):
        if step == 90:  # rows that have ended are left out
            for cache in (copied, growing):
                cache.batch_select_indices(torch.tensor([2, 0]))
            rows = 2
        new = some(rows, 1 + step % 3), some(rows, 1 + step % 3)
        wanted, found = copied.update(*new, 0), growing.update(*new, 0)
        assert all(torch.equal(one, other) for one, other in zip(wanted, found, strict=True))
        assert growing.get_seq_length() == copied.get_seq_length()


def test_what_was_read_before_is_not_written_over():
    from transformers import DynamicCache

    from contrafact.models.whitebox.growing import make_room

    cache = DynamicCache()
    keys = torch.zeros((1, 1, 4, 2))
    cache.update(keys, keys.clone(), 0)
    shared = cache.layers[0].keys
    make_room(cache)
    cache.update(torch.ones((1, 1, 1, 2)), torch.ones((1, 1, 1, 2)), 0)
    first, _ = cache.update(torch.ones((1, 1, 1, 2)), torch.ones((1, 1, 1, 2)), 0)
    assert shared.shape[-2] == 4 and not shared.any()
    assert first.shape[-2] == 6
