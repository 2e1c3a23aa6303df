"""Keys and values: what prompts share is found, kept and forgotten."""

from hypothesis import given
from hypothesis import strategies as st

from contrafact.models.whitebox.kv_cache import (
    Prefix,
    PrefixStore,
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
