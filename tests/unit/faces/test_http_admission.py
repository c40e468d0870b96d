"""Admission: how many work, how many wait, and who is sent away."""

from __future__ import annotations

import asyncio

import pytest
from starlette.exceptions import HTTPException

from pgrecall.faces.http.admission import LONGEST_RETRY, Admission


class Guests:
    """Requests that stay until they are told to go."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.entered: list[int] = []
        self.leave = asyncio.Event()

    async def visit(self, number: int) -> None:
        async with self.admission.place():
            self.entered.append(number)
            await self.leave.wait()

    async def arrive(self, *numbers: int) -> list[asyncio.Task[None]]:
        tasks = [asyncio.create_task(self.visit(number)) for number in numbers]
        for _ in range(5):
            await asyncio.sleep(0)
        return tasks


def test_those_who_wait_enter_in_their_order() -> None:
    async def course() -> None:
        guests = Guests(Admission(2, 3, 60))
        tasks = await guests.arrive(1, 2, 3, 4, 5)
        assert guests.entered == [1, 2]
        assert (guests.admission.working, guests.admission.waiting) == (2, 3)
        guests.leave.set()
        await asyncio.gather(*tasks)
        assert guests.entered == [1, 2, 3, 4, 5]
        assert (guests.admission.working, guests.admission.waiting) == (0, 0)

    asyncio.run(course())


@pytest.mark.parametrize("queue", [0, 2])
def test_who_finds_the_queue_full_is_sent_away(queue: int) -> None:
    async def course() -> None:
        guests = Guests(Admission(1, queue, 60))
        tasks = await guests.arrive(*range(1 + queue))
        with pytest.raises(HTTPException) as refused:
            await guests.visit(9)
        assert refused.value.status_code == 503
        assert refused.value.headers is not None
        assert 1 <= int(refused.value.headers["Retry-After"]) <= LONGEST_RETRY
        assert guests.admission.refused == 1
        guests.leave.set()
        await asyncio.gather(*tasks)
        await guests.visit(10)
        assert guests.entered[-1] == 10

    asyncio.run(course())


def test_who_has_waited_too_long_is_sent_away() -> None:
    async def course() -> None:
        guests = Guests(Admission(1, 5, 0.01))
        [working] = await guests.arrive(1)
        with pytest.raises(HTTPException, match="became free"):
            await guests.visit(2)
        assert guests.admission.waiting == 0
        guests.leave.set()
        await working

    asyncio.run(course())


def test_whoever_goes_away_leaves_no_place_taken() -> None:
    async def course() -> None:
        guests = Guests(Admission(1, 5, 60))
        working, waiting, last = await guests.arrive(1, 2, 3)
        waiting.cancel()
        working.cancel()
        await asyncio.wait([working, waiting])
        guests.leave.set()
        await last
        assert guests.entered == [1, 3]
        assert (guests.admission.working, guests.admission.waiting) == (0, 0)

    asyncio.run(course())
