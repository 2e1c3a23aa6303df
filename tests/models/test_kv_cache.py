"""Keys and values: what prompts share is found, kept and forgotten, and a cache grows in place."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from contrafact.models.whitebox.kv_cache import (
    Prefix,
    PrefixStore,
    common_length,
    preallocate,
    preallocated_layer,
    worth_sharing,
)

HEADER = tuple(range(20))
RUBRICS = [(*HEADER, *range(start, start + 200)) for start in (1000, 2000, 3000)]


def prompts(rubric: tuple[int, ...], count: int, first: int = 0) -> list[tuple[int, ...]]:
    return [(*rubric, 7000 + number, *range(number, number + 9)) for number in range(first, count)]


def kept(tokens: tuple[int, ...]) -> Prefix:
    return Prefix(tokens, [])


def test_each_rubric_is_found_and_the_header_alone_is_not():
    asked = [prompt for rubric in RUBRICS for prompt in prompts(rubric, 4)]
    assert sorted(worth_sharing(asked)) == sorted(RUBRICS)


def test_a_prompt_alone_shares_nothing_and_a_second_finds_its_rubric():
    (first,), (second,) = prompts(RUBRICS[0], 1), prompts(RUBRICS[0], 2, first=1)
    assert worth_sharing([first]) == []
    assert worth_sharing([second], [first]) == [RUBRICS[0]]
    assert worth_sharing(prompts(RUBRICS[1], 1), [first, second]) == []


def test_a_part_that_few_of_a_rubric_share_is_worth_it_only_if_long():
    short = [(*RUBRICS[0], *range(5000, 5060), end) for end in (1, 2)]
    long = [(*RUBRICS[0], *range(5000, 5200), end) for end in (1, 2)]
    others = prompts(RUBRICS[0], 5)
    assert worth_sharing([*others, *short]) == [RUBRICS[0]]
    assert worth_sharing([*others, *long]) == [RUBRICS[0], long[0][:-1]]


def test_equal_prompts_share_all_of_themselves():
    prompt = RUBRICS[0]
    assert worth_sharing([prompt, prompt]) == [prompt]


tokens = st.lists(st.integers(0, 2), max_size=6).map(
    lambda some: tuple(one for o in some for one in [o] * 40)
)


@given(st.lists(tokens, max_size=8), st.lists(tokens, max_size=8))
def test_what_is_worth_sharing_begins_a_waiting_prompt_and_another(asked, seen):
    found = worth_sharing(asked, seen)
    assert len(found) == len(set(found)) and found == sorted(found, key=len)
    for prefix in found:
        beginning = [one for one in [*asked, *seen] if one[: len(prefix)] == prefix]
        assert len(beginning) >= 2
        assert any(one[: len(prefix)] == prefix for one in asked)


@given(tokens, tokens)
def test_the_common_length_is_the_longest(one, two):
    length = common_length(one, two)
    assert one[:length] == two[:length]
    assert one[: length + 1] != two[: length + 1] or length == min(len(one), len(two))


def test_a_store_serves_the_longest_and_does_not_ask_for_it_again():
    store = PrefixStore()
    asked = prompts(RUBRICS[0], 4)
    assert store.wanted(asked) == [RUBRICS[0]]
    store.add(kept(RUBRICS[0]))
    assert store.wanted(asked) == []
    prefix, length = store.best(asked[0])
    assert prefix is not None and (prefix.tokens, length) == (RUBRICS[0], len(RUBRICS[0]))
    prefix, length = store.best(prompts(RUBRICS[1], 1)[0])  # the header serves it too
    assert length == len(HEADER)
    assert store.best((999,)) == (None, 0)


def test_a_store_forgets_what_was_not_used_lately():
    store = PrefixStore(kept_tokens=500)
    for rubric in RUBRICS[:2]:
        store.add(kept(rubric))
    store.best(prompts(RUBRICS[0], 1)[0])
    store.add(kept(RUBRICS[2]))
    assert store.best(RUBRICS[0])[1] == len(RUBRICS[0])
    assert store.best(RUBRICS[1])[1] == len(HEADER)


def test_a_longer_beginning_takes_the_place_of_the_one_it_holds():
    store = PrefixStore(kept_tokens=300)
    store.add(kept(RUBRICS[0][:150]))
    store.add(kept(RUBRICS[0]))
    assert store.best(RUBRICS[0])[1] == len(RUBRICS[0])


def test_a_beginning_too_long_to_keep_is_not_wanted():
    assert PrefixStore(kept_tokens=100).wanted(prompts(RUBRICS[0], 4)) == []


def test_a_preallocated_cache_holds_what_a_copied_one_holds():
    from transformers import DynamicCache

    random = torch.Generator().manual_seed(3)

    def some(rows, positions):
        return torch.randn((rows, 2, positions, 4), generator=random)

    copied, own = DynamicCache(), DynamicCache()
    beginning = some(3, 5), some(3, 5)
    for cache in (copied, own):
        cache.update(*beginning, 0)
    preallocate(own)
    assert type(own.layers[0]) is preallocated_layer()
    rows = 3
    for step in range(200):
        if step == 90:  # rows that have ended are left out
            for cache in (copied, own):
                cache.batch_select_indices(torch.tensor([2, 0]))
            rows = 2
        new = some(rows, 1 + step % 3), some(rows, 1 + step % 3)
        wanted, found = copied.update(*new, 0), own.update(*new, 0)
        assert all(torch.equal(one, other) for one, other in zip(wanted, found, strict=True))
        assert own.get_seq_length() == copied.get_seq_length()


def test_what_was_read_before_is_not_written_over():
    from transformers import DynamicCache

    cache = DynamicCache()
    keys = torch.zeros((1, 1, 4, 2))
    cache.update(keys, keys.clone(), 0)
    shared = cache.layers[0].keys
    preallocate(cache)
    cache.update(torch.ones((1, 1, 1, 2)), torch.ones((1, 1, 1, 2)), 0)
    first, _ = cache.update(torch.ones((1, 1, 1, 2)), torch.ones((1, 1, 1, 2)), 0)
    assert shared.shape[-2] == 4 and not shared.any()
    assert first.shape[-2] == 6
