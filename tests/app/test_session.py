"""One set of services per process."""

from __future__ import annotations

import threading
import time

import pytest

from core.errors import StorageError
from pages.ui.session import ServicesHolder


class Counting:
    """Services that count what happens to them; slow to build, as the real ones."""

    def __init__(self) -> None:
        time.sleep(0.05)
        self.started = self.closed = 0

    def start(self) -> None:
        self.started += 1

    def close(self) -> None:
        self.closed += 1


def test_e11_two_sessions_at_the_same_instant_build_once():
    built = []

    def build():
        built.append(Counting())
        return built[-1]

    holder, found = ServicesHolder(build), []
    gate = threading.Barrier(8)

    def visit():
        gate.wait()
        found.append(holder.get())

    threads = [threading.Thread(target=visit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(built), {id(one) for one in found}) == (1, {id(built[0])})
    assert built[0].started == 1
    holder.close()
    holder.close()
    assert built[0].closed == 1


def test_a_failed_start_is_tried_again_at_the_next_visit():
    outcomes = [StorageError("the data folder can't be written"), Counting()]

    def build():
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    holder = ServicesHolder(build)
    with pytest.raises(StorageError):
        holder.get()
    assert holder.get().started == 1
