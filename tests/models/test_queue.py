"""The queue in which concurrent callers meet."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from contrafact.models.whitebox.queue import BatchQueue, QueueClosed

Batches = list[list[Any]]


def doubling(batches: Batches) -> Callable[..., list[int]]:
    def work(requests: Sequence[int], check: Callable[[], None]) -> list[int]:
        batches.append(list(requests))
        return [2 * request for request in requests]

    return work


async def ask_all(queue: BatchQueue[Any, Any], requests: Sequence[Any]) -> list[Any]:
    return await asyncio.gather(*(queue.submit(one) for one in requests), return_exceptions=True)


def test_callers_at_once_share_batches_and_each_gets_its_own_answer() -> None:
    batches: Batches = []
    queue: BatchQueue[int, int] = BatchQueue(doubling(batches), max_batch=16, linger=0.5)
    assert asyncio.run(ask_all(queue, range(40))) == [2 * n for n in range(40)]
    assert [len(batch) for batch in batches] == [16, 16, 8]
    # A second event loop finds the same queue at work.
    assert asyncio.run(ask_all(queue, [5])) == [10]
    queue.close()


def test_only_requests_alike_share_a_batch_and_none_is_forgotten() -> None:
    batches: Batches = []
    going, go_on = threading.Event(), threading.Event()

    def work(requests: Sequence[int], check: Callable[[], None]) -> list[int]:
        going.set()
        go_on.wait(10)
        return doubling(batches)(requests, check)

    queue: BatchQueue[int, int] = BatchQueue(work, batch_key=lambda n: n % 3, max_batch=4)

    async def callers() -> list[int]:
        first = asyncio.create_task(queue.submit(20))
        await asyncio.to_thread(going.wait, 10)
        others = asyncio.create_task(ask_all(queue, range(20)))
        await asyncio.sleep(0)  # the others begin to wait …
        await asyncio.sleep(0)  # … each in a task of its own
        go_on.set()
        return [await first, *await others]

    assert asyncio.run(callers()) == [40, *(2 * n for n in range(20))]
    assert all(len({n % 3 for n in batch}) == 1 for batch in batches)
    assert sorted(n for batch in batches for n in batch) == list(range(21))
    assert batches[:2] == [[20], [0, 3, 6, 9]]
    queue.close()


def test_an_error_goes_to_all_of_its_batch_and_the_queue_lives_on() -> None:
    def work(requests: Sequence[int], check: Callable[[], None]) -> list[int]:
        if 13 in requests:
            raise OverflowError("the batch")
        return list(requests)

    queue: BatchQueue[int, int] = BatchQueue(work)
    found = asyncio.run(ask_all(queue, [1, 13]))
    assert [type(one) for one in found] == [OverflowError, OverflowError]
    assert asyncio.run(ask_all(queue, [4])) == [4]
    queue.close()


def test_answers_of_the_wrong_number_are_an_error_and_no_mix_up() -> None:
    queue: BatchQueue[int, int] = BatchQueue(lambda requests, check: [1])
    found = asyncio.run(ask_all(queue, [1, 2]))
    assert all(isinstance(one, ValueError) for one in found)
    queue.close()


def test_work_that_nobody_waits_for_stops_and_others_go_on() -> None:
    began, stopped = threading.Event(), threading.Event()

    def work(requests: Sequence[int], check: Callable[[], None]) -> list[int]:
        began.set()
        if requests == [0]:
            try:
                for _ in range(2_000):
                    check()
                    stopped.wait(0.005)
            except Exception:
                stopped.set()
                raise
        return list(requests)

    queue: BatchQueue[int, int] = BatchQueue(work, linger=0.0)

    async def callers() -> int:
        gone = asyncio.create_task(queue.submit(0))
        await asyncio.to_thread(began.wait, 10)
        waiting = asyncio.create_task(queue.submit(1))
        left = asyncio.create_task(queue.submit(2))
        await asyncio.sleep(0)
        left.cancel()  # before its turn came
        gone.cancel()
        return await waiting

    assert asyncio.run(callers()) == 1
    assert stopped.is_set()
    queue.close()


def test_a_closed_queue_tells_its_callers_and_ends_its_thread() -> None:
    began = threading.Event()

    def work(requests: Sequence[int], check: Callable[[], None]) -> list[int]:
        began.set()
        while True:
            check()

    queue: BatchQueue[int, int] = BatchQueue(work, max_batch=1, name="to be closed")

    async def callers() -> list[Any]:
        tasks = [asyncio.create_task(queue.submit(n)) for n in range(3)]
        await asyncio.to_thread(began.wait, 10)
        await asyncio.to_thread(queue.close)
        return await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(one) for one in asyncio.run(callers())] == [QueueClosed] * 3
    assert all(thread.name != "to be closed" for thread in threading.enumerate())
    with pytest.raises(QueueClosed):
        asyncio.run(queue.submit(1))
    queue.close()  # twice does no harm
