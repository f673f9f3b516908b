import threading
import time

from core.rag.executor import IdleThreadExecutor


def retrieval_threads():
    return [thread for thread in threading.enumerate() if thread.name == "retrieval"]


def test_tasks_run_at_the_same_time_and_threads_end():
    executor = IdleThreadExecutor(idle_s=0.05)
    together = threading.Barrier(3, timeout=5)
    futures = [executor.submit(together.wait) for _ in range(3)]
    assert sorted(future.result(5) for future in futures) == [0, 1, 2]
    deadline = time.monotonic() + 5
    while retrieval_threads() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert retrieval_threads() == []


def test_a_task_that_waits_for_another_never_blocks_it():
    executor = IdleThreadExecutor()

    def outer():
        return executor.submit(lambda: "inner").result(5)

    assert {executor.submit(outer).result(5) for _ in range(20)} == {"inner"}


def test_an_error_reaches_the_one_who_waits():
    def fail():
        raise ValueError("no")

    assert isinstance(IdleThreadExecutor().submit(fail).exception(5), ValueError)


def test_many_short_tasks_are_all_run():
    executor = IdleThreadExecutor(idle_s=0.001)
    assert sum(executor.submit(lambda: 1).result(5) for _ in range(300)) == 300
