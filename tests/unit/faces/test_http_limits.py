"""The request queue and the listening socket."""

from __future__ import annotations

import asyncio
import json
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from pgrecall.client.concurrency import async_run
from pgrecall.faces.http.access_policy import MAX_KNOWN, KnownTenants
from pgrecall.faces.http.request_queue import MAX_RETRY_AFTER, RequestQueue
from pgrecall.faces.http.server import listening_socket
from pgrecall.faces.json_bodies import MAX_CONTAINERS, MAX_VALUES, require_few_values, require_parsable


class Requests:
    """Requests that run until they may finish."""

    def __init__(self, queue: RequestQueue) -> None:
        self.queue = queue
        self.started: list[int] = []
        self.finish = asyncio.Event()

    async def run(self, number: int, tenant: str | None = None) -> None:
        async with self.queue.slot(tenant):
            self.started.append(number)
            await self.finish.wait()

    async def start(self, *numbers: int, tenant: str | None = None) -> list[asyncio.Task[None]]:
        tasks = [asyncio.create_task(self.run(number, tenant)) for number in numbers]
        await settle()
        return tasks


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


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


def test_one_tenant_leaves_slots_for_others() -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(8, 20, 60, share=4))
        tasks = await requests.start(*range(10), tenant="acme")
        assert requests.started == [0, 1, 2, 3]
        assert requests.queue.waiting_for_share == 6
        tasks += await requests.start(10, tenant="globex")
        assert requests.started[-1] == 10
        requests.finish.set()
        await asyncio.gather(*tasks)
        assert sorted(requests.started) == list(range(11))

    asyncio.run(scenario())


@pytest.mark.parametrize(("slots", "share"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4), (8, 7), (8, 8)])
def test_a_tenant_alone_reaches_its_share(slots: int, share: int) -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(slots, 20, 60, share))
        tasks = await requests.start(*range(10), tenant="acme")
        assert len(requests.started) == share
        requests.finish.set()
        await asyncio.gather(*tasks)

    asyncio.run(scenario())


def test_three_busy_tenants_leave_a_slot() -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(8, 60, 60, share=4))
        tasks = []
        for tenant in ("acme", "globex", "umbra"):
            tasks += await requests.start(*range(10), tenant=tenant)
        assert requests.queue.running == 7  # 4, 2 and 1
        tasks += await requests.start(99, tenant="tyrell")
        assert requests.started[-1] == 99
        requests.finish.set()
        await asyncio.gather(*tasks)

    asyncio.run(scenario())


def test_a_free_slot_goes_to_the_tenant_with_the_fewest() -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(2, 20, 60, share=1))
        [first] = await requests.start(1, tenant="acme")
        [second] = await requests.start(2, tenant="globex")
        later = [*await requests.start(3, 4, tenant="acme"), *await requests.start(5, tenant="umbra")]
        second.cancel()
        await settle()
        assert requests.started == [1, 2, 5]
        requests.finish.set()
        await asyncio.wait([first, second, *later])
        assert requests.started == [1, 2, 5, 3, 4]

    asyncio.run(scenario())


def test_a_full_queue_drops_the_last_of_the_longest_line() -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(2, 3, 60, share=1))
        working = await requests.start(1, tenant="acme")
        working += await requests.start(2, tenant="globex")
        waiting = await requests.start(3, 4, 5, tenant="acme")
        other = await requests.start(6, tenant="umbra")
        with pytest.raises(HTTPException) as refused:
            await waiting[2]
        assert refused.value.status_code == 429
        assert refused.value.detail.startswith("Your tenant has 1 request running and 2 waiting")
        assert refused.value.headers is not None
        assert "Retry-After" in refused.value.headers
        with pytest.raises(HTTPException) as full:  # no line is longer than its own would be
            await requests.run(7, "acme")
        assert full.value.status_code == 503
        assert (requests.queue.refused, requests.queue.refused_for_share) == (2, 1)
        requests.finish.set()
        await asyncio.gather(*working, *waiting[:2], *other)
        assert (requests.queue.running, requests.queue.waiting) == (0, 0)

    asyncio.run(scenario())


def test_a_tenant_beyond_its_share_is_told_so_after_its_wait() -> None:
    async def scenario() -> None:
        requests = Requests(RequestQueue(2, 5, 0.01, share=1))
        [working] = await requests.start(1, tenant="acme")
        with pytest.raises(HTTPException) as refused:
            await requests.run(2, "acme")
        assert refused.value.status_code == 429
        requests.finish.set()
        await working

    asyncio.run(scenario())


def test_a_thread_that_a_cancelled_request_leaves_behind_holds_its_slot() -> None:
    async def scenario() -> None:
        queue, end, began = RequestQueue(1, 5, 60), threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def embed() -> None:
            loop.call_soon_threadsafe(began.set)
            end.wait()

        async def request() -> None:
            async with queue.slot():
                await async_run(embed)

        task = asyncio.create_task(request())
        await began.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await settle()
        assert queue.running == 1
        end.set()
        async with queue.slot():  # once the thread has ended
            assert queue.running == 1
        assert queue.running == 0

    asyncio.run(scenario())


Step = tuple[str, str | None]


@given(
    slots=st.integers(1, 6),
    share=st.integers(1, 6),
    capacity=st.integers(0, 5),
    steps=st.lists(st.tuples(st.sampled_from(("arrive", "finish", "cancel")), st.sampled_from("abc"))),
)
def test_no_slot_is_lost_and_nobody_waits_who_may_run(
    slots: int, share: int, capacity: int, steps: list[Step]
) -> None:
    async def scenario() -> None:
        queue = RequestQueue(slots, capacity, 60, share)
        running: dict[str | None, list[asyncio.Event]] = {}
        tasks: list[asyncio.Task[None]] = []

        async def request(tenant: str | None) -> None:
            finish = asyncio.Event()
            async with queue.slot(tenant):
                running.setdefault(tenant, []).append(finish)
                try:
                    await finish.wait()
                finally:
                    running[tenant].remove(finish)

        for what, tenant in steps:
            had = sum(map(len, running.values()))
            if what == "arrive":
                tasks.append(asyncio.create_task(request(tenant)))
            elif what == "finish" and running.get(tenant):
                running[tenant][0].set()
            elif what == "cancel" and tasks:
                tasks[len(tasks) // 2].cancel()
            await settle()
            held = {each: len(finishes) for each, finishes in running.items() if finishes}
            assert queue.running == sum(held.values()) <= slots
            assert all(many <= max(share, 1) for many in held.values())
            assert queue.waiting <= capacity
            if what == "arrive" and had < slots and tenant not in held:
                raise AssertionError("a tenant that held nothing did not get a free slot")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (queue.running, queue.waiting) == (0, 0)

    asyncio.run(scenario())


def test_known_tenants_are_bounded_for_each() -> None:
    known = KnownTenants()
    known.note("key of globex", "globex")
    for number in range(MAX_KNOWN + 1):
        known.note(f"key {number}", "acme")
    assert known.of("key 0") is None
    assert known.of(f"key {MAX_KNOWN}") == "acme"
    assert known.of("key of globex") == "globex"


def test_accepted_connections_have_tcp_nodelay() -> None:
    with listening_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (b"[" * MAX_CONTAINERS, False),
        (b"[" * (MAX_CONTAINERS + 1), True),
        (b"[]{" * MAX_CONTAINERS, True),
        (b"[" + b"1," * MAX_VALUES, False),
        (b"[" + b"1," * (MAX_VALUES + 1), True),
        (json.dumps({"body": "[{," * MAX_VALUES}).encode(), False),
        (json.dumps({"body": '\\"[' * MAX_CONTAINERS * 2}).encode(), False),
        (json.dumps(["\\", *[[]] * MAX_CONTAINERS]).encode(), True),
        (json.dumps({"[" * MAX_CONTAINERS: "[", "a": [1]}).encode(), False),
        (b'"' + b"[" * (MAX_CONTAINERS + 1), False),  # the parser ends at a text without an end
        (b"[" * (MAX_CONTAINERS + 1) + b'"' + b'\\"' * 2_000_000, True),
        (b"[" * MAX_CONTAINERS + b'"[' + b'\\"' * 2_000_000, False),
        (b"[" * MAX_CONTAINERS + b'"[' + b"\\" * 4_000_001, False),
    ],
)
def test_values_outside_of_texts_are_counted(body: bytes, refused: bool) -> None:
    if not refused:
        require_few_values(body)
        return
    with pytest.raises(HTTPException, match="send smaller requests") as caught:
        require_few_values(body)
    assert caught.value.status_code == 413


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32-be", "utf-32"])
@pytest.mark.parametrize("text", ['["a"]', '["\u2200", [], []]', "1", '"\u4e00"'])
def test_only_utf_8_is_read(encoding: str, text: str) -> None:
    """Python's parser reads these encodings too, in which a byte of another sign can look like a quote."""
    body = text.encode(encoding)
    assert json.loads(body) == json.loads(text)
    with pytest.raises(HTTPException, match="not UTF-8") as caught:
        require_parsable(body)
    assert caught.value.status_code == 400


@pytest.mark.parametrize("body", [b"\xff[]", b'"\xed\xa0\x80"', b'["\0"]'])
def test_what_is_no_utf_8_is_refused(body: bytes) -> None:
    with pytest.raises(HTTPException, match="not UTF-8"):
        require_parsable(body)


@pytest.mark.parametrize("body", ['["\u2200"]'.encode(), b"\xef\xbb\xbf[]", b"[1]", b""])
def test_utf_8_is_read(body: bytes) -> None:
    require_parsable(body)
