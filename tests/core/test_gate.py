import threading
import time

import pytest

from core.errors import StoppedError
from core.gate import PriorityGate


def in_thread(work) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def wait_for(condition) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_indexing_waits_while_somebody_is_answering():
    gate, order = PriorityGate(), []

    def index():
        with gate.indexing():
            order.append("batch")

    with gate.answering(), gate.answering():
        thread = in_thread(index)
        time.sleep(0.15)
        order.append("answers")
    thread.join(5)
    assert order == ["answers", "batch"]


def test_an_answer_does_not_wait_for_a_batch():
    gate, answered = PriorityGate(), threading.Event()

    def answer():
        with gate.answering():
            answered.set()

    with gate.indexing():
        in_thread(answer)
        assert answered.wait(5)


def test_one_batch_at_a_time_in_the_order_they_came():
    gate, order, inside = PriorityGate(), [], []

    def index(number):
        with gate.indexing():
            inside.append(number)
            assert len(inside) == 1
            time.sleep(0.01)
            order.append(inside.pop())

    with gate.answering():
        threads = []
        for number in range(5):
            threads.append(in_thread(lambda number=number: index(number)))
            wait_for(lambda number=number: len(gate._queue) == number + 1)
    for thread in threads:
        thread.join(5)
    assert order == [0, 1, 2, 3, 4]


def test_a_stop_ends_the_waiting_and_the_next_gets_through():
    gate, stop = PriorityGate(), threading.Event()
    with gate.answering():
        threading.Timer(0.05, stop.set).start()
        with pytest.raises(StoppedError), gate.indexing(stop):
            pytest.fail("it may not enter")
    with gate.indexing():
        pass


def test_an_exception_leaves_the_gate_open():
    gate = PriorityGate()
    with pytest.raises(ZeroDivisionError), gate.indexing():
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), gate.answering():
        raise ZeroDivisionError
    entered = threading.Event()

    def index():
        with gate.indexing():
            entered.set()

    in_thread(index)
    assert entered.wait(5)


def test_indexing_comes_to_its_end_however_much_is_asked():
    gate = PriorityGate(patience_s=0.1)
    begin = time.monotonic()
    with gate.answering(), gate.indexing():
        assert time.monotonic() - begin >= 0.1


def test_others_give_way_until_nobody_is_answering():
    gate, order = PriorityGate(), []

    def work():
        gate.give_way()
        order.append("work")

    assert not gate.is_answering
    gate.give_way()
    with gate.answering():
        assert gate.is_answering
        thread = in_thread(work)
        time.sleep(0.15)
        order.append("answer")
    thread.join(5)
    assert order == ["answer", "work"] and not gate.is_answering


def test_a_stop_ends_giving_way_and_patience_does_too():
    stop = threading.Event()
    gate = PriorityGate(patience_s=0.2)
    with gate.answering():
        gate.give_way()
        stop.set()
        with pytest.raises(StoppedError):
            gate.give_way(stop)
