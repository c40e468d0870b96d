"""The request queue and the listening socket."""

from __future__ import annotations

import asyncio
import socket

import pytest
from starlette.exceptions import HTTPException

from pgrecall.faces.http.request_limits import MAX_RETRY_AFTER, RequestQueue
from pgrecall.faces.http.server import listening_socket


class Requests:
    """Requests that run until they may finish."""

    def __init__(self, queue: RequestQueue) -> None:
        self.queue = queue
        self.started: list[int] = []
        self.finish = asyncio.Event()

    async def run(self, number: int) -> None:
        async with self.queue.slot():
            self.started.append(number)
            await self.finish.wait()

    async def start(self, *numbers: int) -> list[asyncio.Task[None]]:
        tasks = [asyncio.create_task(self.run(number)) for number in numbers]
        for _ in range(5):
            await asyncio.sleep(0)
        return tasks


def test_waiting_requests_run_in_order() -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(2, 3, 60))
        tasks = await requests.start(1, 2, 3, 4, 5)
        assert requests.started == [1, 2]
        assert (requests.queue.running, requests.queue.waiting) == (2, 3)
        requests.finish.set()
        await asyncio.gather(*tasks)
        assert requests.started == [1, 2, 3, 4, 5]
        assert (requests.queue.running, requests.queue.waiting) == (0, 0)

    asyncio.run(scenario())


@pytest.mark.parametrize("queue", [0, 2])
def test_a_full_queue_refuses(queue: int) -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(1, queue, 60))
        tasks = await requests.start(*range(1 + queue))
        with pytest.raises(HTTPException) as refused:
            await requests.run(9)
        assert refused.value.status_code == 503
        assert refused.value.headers is not None
        assert 1 <= int(refused.value.headers["Retry-After"]) <= MAX_RETRY_AFTER
        assert requests.queue.refused == 1
        requests.finish.set()
        await asyncio.gather(*tasks)
        await requests.run(10)
        assert requests.started[-1] == 10

    asyncio.run(scenario())


def test_a_wait_that_times_out_is_refused() -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(1, 5, 0.01))
        [working] = await requests.start(1)
        with pytest.raises(HTTPException, match="No running request finished"):
            await requests.run(2)
        assert requests.queue.waiting == 0
        requests.finish.set()
        await working

    asyncio.run(scenario())


def test_a_cancelled_request_frees_its_slot() -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(1, 5, 60))
        working, waiting, last = await requests.start(1, 2, 3)
        waiting.cancel()
        working.cancel()
        await asyncio.wait([working, waiting])
        requests.finish.set()
        await last
        assert requests.started == [1, 3]
        assert (requests.queue.running, requests.queue.waiting) == (0, 0)

    asyncio.run(scenario())


def test_accepted_connections_have_tcp_nodelay() -> None:
    with listening_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
