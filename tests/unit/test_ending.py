"""The end of a process at a signal: the signal counts wherever it comes, and a second one acts as usual."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pgrecall.faces.ending import stop_on_signals
from tests.waiting import PATIENCE, until


class Finalized:
    """Python drops an exception that is raised here, so KeyboardInterrupt would be lost."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_sets_the_event(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        assert not stop.is_set()
        signal.raise_signal(number)
        assert stop.wait(PATIENCE)
        assert signal.getsignal(number) == before
    assert signal.getsignal(number) == before


def test_a_signal_within_a_finalizer_counts() -> None:
    with stop_on_signals() as stop:
        thing = Finalized()
        del thing
        assert stop.wait(PATIENCE)


def test_a_signal_within_the_event_counts() -> None:
    with stop_on_signals() as stop, stop._cond:
        signal.raise_signal(signal.SIGINT)  # a handler that set the event itself would wait for ever
    assert stop.wait(PATIENCE)


def test_nothing_is_left_of_it() -> None:
    def files() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    before = files()
    for asked in (True, True, False):
        with stop_on_signals() as stop:
            if asked:
                signal.raise_signal(signal.SIGTERM)
                assert stop.wait(PATIENCE)
    until(lambda: files() == before, "the pipes to be closed")


def test_a_block_that_does_not_end_is_ended() -> None:
    program = (
        "import time; from pgrecall.faces.ending import stop_on_signals\n"
        "with stop_on_signals(grace=0.1):\n print('ready', flush=True); time.sleep(1000)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
