"""Jobs: durable, run by exactly one, free again when their runner is gone."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import ConfigError, NotFoundError
from storage.database import Database
from storage.jobs import MAX_ATTEMPTS, SqliteJobStore


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    with Database(tmp_path) as database:
        yield SqliteJobStore(database, clock=clock)


def add(store, name="a.pdf", **options):
    return store.add("ingest", name, {"content_hash": "ab"}, **options)


def test_a_job_goes_its_way(store):
    job = add(store, batch="b")
    assert (job.state, job.progress, job.payload, job.batch) == ("waiting", 0.0, {"content_hash": "ab"}, "b")
    claimed = store.claim("one", lease_s=10)
    assert (claimed.id, claimed.state, claimed.attempts) == (job.id, "running", 1)
    store.progress(job.id, "one", 0.5, "embedding")
    assert (store.get(job.id).progress, store.get(job.id).phase) == (0.5, "embedding")
    store.finish(job.id, "one", "done", result={"segments": 3})
    ended = store.get(job.id)
    assert (ended.state, ended.progress, ended.result) == ("done", 1.0, {"segments": 3})
    assert store.claim("one", lease_s=10) is None


def test_jobs_are_claimed_oldest_first_and_by_batch(store):
    first, second, third = add(store), add(store, batch="b"), add(store)
    assert store.claim("one", lease_s=10, batch="b").id == second.id
    assert store.claim("one", lease_s=10, batch="b") is None
    assert [store.claim("one", lease_s=10).id for _ in range(2)] == [first.id, third.id]


def test_h09_a_job_is_run_by_exactly_one_of_several_processes(tmp_path):
    databases = [Database(tmp_path) for _ in range(4)]
    jobs = [add(SqliteJobStore(databases[0])).id for _ in range(20)]
    claimed = []

    def work(number):
        store = SqliteJobStore(databases[number])
        while job := store.claim(f"worker {number}", lease_s=60):
            claimed.append(job.id)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == jobs
    for database in databases:
        database.close()


def test_a_lease_is_kept_by_heartbeats_and_lost_without(store, clock):
    job = add(store)
    store.claim("one", lease_s=10)
    clock.now += 9
    assert store.heartbeat(job.id, "one", lease_s=10)
    clock.now += 9
    assert store.claim("two", lease_s=10) is None
    clock.now += 2
    assert store.claim("two", lease_s=10).attempts == 2
    assert not store.heartbeat(job.id, "one", lease_s=10)
    store.progress(job.id, "one", 0.9, "saving")
    store.finish(job.id, "one", "done")
    assert (store.get(job.id).state, store.get(job.id).progress) == ("running", 0.0)
    store.finish(job.id, "two", "done")
    assert store.get(job.id).state == "done"


def test_the_wait_for_the_lock_is_not_part_of_a_lease(tmp_path, clock):
    with Database(tmp_path) as database, Database(tmp_path) as other, ThreadPoolExecutor(1) as pool:
        store = SqliteJobStore(database, clock=clock)
        job = add(store)

        def behind_a_long_writer(step):
            with other.write():
                waiting = pool.submit(step)
                time.sleep(0.2)  # by now it waits
                clock.now += 11
            return waiting.result()

        assert behind_a_long_writer(lambda: store.claim("one", lease_s=10)).id == job.id
        assert store.claim("two", lease_s=10) is None
        assert behind_a_long_writer(lambda: store.heartbeat(job.id, "one", lease_s=10))
        assert store.claim("two", lease_s=10) is None
        assert behind_a_long_writer(lambda: store.heartbeat_all("one", lease_s=10)) == {job.id}
        assert store.claim("two", lease_s=10) is None


def test_all_leases_of_one_owner_are_kept_at_once(store, clock):
    ids = [add(store).id for _ in range(3)]
    owners = ("one", "two", "one")
    assert [store.claim(owner, lease_s=10).id for owner in owners] == ids
    assert store.heartbeat_all("one", lease_s=60) == {ids[0], ids[2]}
    clock.now += 11
    assert store.claim("three", lease_s=10).id == ids[1]
    assert store.claim("three", lease_s=10) is None


def test_a_job_that_ends_its_process_each_time_is_given_up(store, clock):
    job = add(store, name="bomb.pdf")
    for _ in range(MAX_ATTEMPTS):
        assert store.claim("one", lease_s=10).id == job.id
        clock.now += 11
    assert store.claim("one", lease_s=10) is None
    ended = store.get(job.id)
    assert (ended.state, ended.reason) == ("failed", "given up: Footnote ended 10 times while it worked on 'bomb.pdf'")
    assert store.retry(job.id).attempts == 0


def test_a_released_job_waits_again_and_the_attempt_does_not_count(store):
    job = add(store)
    for _ in range(MAX_ATTEMPTS + 1):
        assert store.claim("one", lease_s=10).attempts == 1
        store.release(job.id, "one")
    assert store.get(job.id).state == "waiting"


def test_a_waiting_job_stops_at_once_a_running_one_is_asked(store, clock):
    waiting, running = add(store), add(store)
    store.request_stop(waiting.id)
    assert store.get(waiting.id).state == "stopped"
    store.claim("one", lease_s=10)
    store.request_stop(running.id)
    assert (store.get(running.id).state, store.get(running.id).stop_requested) == ("running", True)
    clock.now += 11  # its process died before it looked
    assert store.claim("two", lease_s=10) is None
    assert store.get(running.id).state == "stopped"
    store.request_stop(running.id)
    with pytest.raises(NotFoundError, match="there is no job 99"):
        store.request_stop(99)


def test_a_retry_adds_to_the_payload_and_a_password_is_forgotten_at_the_end(store):
    job = add(store)
    store.claim("one", lease_s=10)
    store.finish(job.id, "one", "needs_password", reason="'a.pdf' needs a password")
    again = store.retry(job.id, {"password": "open-me"})
    assert (again.state, again.reason) == ("waiting", "")
    assert again.payload == {"content_hash": "ab", "password": "open-me"}
    store.claim("one", lease_s=10)
    assert store.retry(job.id).state == "running"
    store.finish(job.id, "one", "done")
    assert store.get(job.id).payload == {"content_hash": "ab"}


def test_jobs_are_listed_newest_first_and_ended_ones_cleared(store):
    ids = [add(store, batch=batch).id for batch in ("a", "b", "a")]
    store.request_stop(ids[1])
    assert [job.id for job in store.list()] == ids[::-1]
    assert [job.id for job in store.list(batch="a")] == [ids[2], ids[0]]
    assert [job.id for job in store.list(states=["stopped"])] == [ids[1]]
    assert [job.id for job in store.list(limit=1)] == [ids[2]]
    assert store.clear_ended() == 1
    assert [job.id for job in store.list()] == [ids[2], ids[0]]


def test_a_job_ends_as_something_that_is_an_end(store):
    job = add(store)
    with pytest.raises(ConfigError, match="can't end as 'running'"):
        store.finish(job.id, "one", "running")


def test_jobs_survive_a_restart(tmp_path):
    with Database(tmp_path) as database:
        job = add(SqliteJobStore(database))
    with Database(tmp_path) as database:
        assert SqliteJobStore(database).get(job.id) == job
