"""Calls of one process in bulk: in the order of partitions, never too many, each try its own."""

import asyncio
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import serving

from contrafact.models.calls import Calls, current_calls
from contrafact.models.opening import call_config, open_model
from contrafact_ray.calls import BulkModel, Connections, Gate


@given(st.integers(1, 3), st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=20))
@settings(max_examples=60, deadline=None)
def test_a_free_connection_goes_to_the_first_partition_that_waits(number, calls):
    async def work():
        connections, order, held = Connections(number), [], []
        done = asyncio.Event()

        async def keep():
            async with connections.held():
                await done.wait()

        async def call(rank):
            async with connections.held(rank):
                held.append(rank)
                order.append(rank)
                assert len(held) <= number
                await asyncio.sleep(0)
                held.remove(rank)

        keepers = [asyncio.ensure_future(keep()) for _ in range(number)]
        await asyncio.sleep(0)
        waiting = [asyncio.ensure_future(call(rank)) for rank, _ in calls]
        await asyncio.sleep(0)
        for one, (_, given_up) in zip(waiting, calls, strict=True):
            if given_up:
                one.cancel()
        done.set()
        await asyncio.gather(*keepers)
        await asyncio.gather(*waiting, return_exceptions=True)
        assert sorted(order) == sorted(rank for rank, given_up in calls if not given_up)
        if number == 1:
            assert order == sorted(order)
        async with asyncio.timeout(5):  # every connection is free again
            await asyncio.gather(*(call(0) for _ in range(number)))

    asyncio.run(work())


def test_a_call_given_up_as_its_turn_comes_hands_the_connection_on():
    async def work():
        connections = Connections(1)
        first = connections.held()
        await first.__aenter__()
        taken = []

        async def call(name):
            async with connections.held():
                taken.append(name)

        gone, stays = asyncio.ensure_future(call("gone")), asyncio.ensure_future(call("stays"))
        await asyncio.sleep(0)
        await first.__aexit__(None, None, None)
        gone.cancel()  # the connection is its own by now
        async with asyncio.timeout(5):
            await stays
        assert taken == ["stays"]

    asyncio.run(work())


def test_refused_tries_are_seen_by_the_limits_and_none_is_made_behind_them(monkeypatch):
    seen = []

    async def sync(*usage):
        seen.append(usage)
        return 0, 0.0

    async def work():
        gate = Gate(SimpleNamespace(sync=SimpleNamespace(remote=sync)), bounded=False)
        opened = open_model("openai-api/fake/writer", config=call_config(4))
        model, calls = BulkModel(opened, gate, Connections(4)), Calls()
        current_calls.set(calls)
        await asyncio.gather(*(model.generate(f"<news>Question {n}</news>") for n in range(8)))
        await asyncio.sleep(0.5)
        return calls

    with serving("--faults", "429,500") as service:
        service.make_known(monkeypatch)
        calls = asyncio.run(work())
        stats = service.stats()
    met = stats["met"]
    assert met["429"] and met["500"] and sum(met.values()) == 8
    assert sum(refused for _, _, refused, *_ in seen) == met["429"]
    assert sum(done for _, done, *_ in seen) == 16  # each question's failed try and its answer
    assert calls.made == 8 and set(stats["answered"].values()) == {1}
