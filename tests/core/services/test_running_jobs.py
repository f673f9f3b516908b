"""Leases, stops and progress of the jobs of one process: kept whatever goes wrong with one of them."""

import threading
import time
from contextlib import contextmanager

import pytest

from core.errors import StorageError
from core.services.running_jobs import RunningJobs
from storage.database import Database
from storage.jobs import SqliteJobStore


class Clock:
    ahead = 0.0

    def __call__(self):
        return time.time() + self.ahead


class Faulty(SqliteJobStore):
    """Fails at some jobs: `faults` maps an id to what is raised when it's written."""

    def __init__(self, database, clock):
        super().__init__(database, clock=clock)
        self.faults = {}

    def heartbeat(self, job_id, owner, *, lease_s):
        self._fail_at(job_id)
        return super().heartbeat(job_id, owner, lease_s=lease_s)

    def heartbeat_all(self, owner, *, lease_s):
        for job_id in self.faults:
            self._fail_at(job_id)
        return super().heartbeat_all(owner, lease_s=lease_s)

    def progress(self, job_id, owner, progress, phase):
        self._fail_at(job_id)
        super().progress(job_id, owner, progress, phase)

    def _fail_at(self, job_id):
        if job_id in self.faults:
            raise self.faults[job_id]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    with Database(tmp_path) as database:
        store = Faulty(database, clock)
        for name in ("a.pdf", "b.pdf"):
            store.add("ingest", name, {})
        yield store


def running_jobs(store, lease_s=10.0):
    return RunningJobs(store, "one", lease_s=lease_s, heartbeat_s=lease_s / 100, look_s=0.02)


@contextmanager
def watched(running):
    closing = threading.Event()
    thread = threading.Thread(target=running.watch, args=(closing, closing.wait))
    thread.start()
    try:
        yield
    finally:
        closing.set()
        thread.join()


def wait_for(condition) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it didn't happen"
        time.sleep(0.01)


def test_before_a_long_save_all_leases_are_kept(store, clock):
    running = running_jobs(store)
    first, _second = running.claim(), running.claim()
    assert running.keep(first, 300, for_s=100)
    clock.ahead = 200
    assert store.claim("two", lease_s=10) is None


def test_a_lease_that_is_long_for_this_job_may_be_short_for_another(store, clock):
    running = running_jobs(store)
    first = running.claim()
    assert running.keep(first, 300, for_s=100)
    running.claim()
    assert running.keep(first, 300, for_s=100)
    clock.ahead = 200
    assert store.claim("two", lease_s=10) is None


def test_a_lost_job_is_not_kept(store, clock):
    running = running_jobs(store)
    first = running.claim()
    clock.ahead = 11
    assert store.claim("two", lease_s=300).id == first.record.id
    assert not running.keep(first, 300, for_s=100)


def test_a_lease_counts_only_once_it_is_written(store):
    running = running_jobs(store)
    job = running.claim()
    until = job.leased_until
    store.faults[job.record.id] = StorageError("the disk is full")
    with pytest.raises(StorageError):
        running.keep(job, 300, for_s=100)
    with watched(running):
        time.sleep(0.4)
        assert job.leased_until == until
        store.faults.clear()
        wait_for(lambda: job.leased_until > until)


def test_progress_counts_as_told_only_once_it_is_written(store):
    job = running_jobs(store).claim()
    job.report(0.5, "embedding", every_s=0.0)
    store.faults[job.record.id] = StorageError("the disk is full")
    with pytest.raises(StorageError):
        job.tell()
    store.faults.clear()
    job.tell()
    assert store.get(job.record.id).progress == 0.5


def test_what_nobody_foresaw_at_one_job_ends_no_heartbeat(store, caplog):
    running = running_jobs(store)
    first, second = running.claim(), running.claim()
    until = second.leased_until
    store.faults[first.record.id] = ZeroDivisionError("inner secret")
    with watched(running):
        wait_for(lambda: second.leased_until > until and "inner secret" in caplog.text)
        store.request_stop(second.record.id)
        wait_for(second.stop.is_set)
        store.faults.clear()
        before = first.leased_until
        wait_for(lambda: first.leased_until > before)
    assert not first.ended_by and second.ended_by == "stopped"
