"""Indexing: durable jobs, worked on in threads: one reads the next file, one embeds, one saves the file before.

A job is done, or failed with one sentence, or stopped, or waits again: a file is wholly in the index or wholly absent
whatever happens in between, and a process that starts goes on with what a killed one left. A long file passes the
threads in parts, in order; those that are kept needn't be done again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable

from core.errors import FootnoteError, StoppedError, StorageError
from core.gate import PriorityGate
from core.parsers.parts import PART_CHARS
from core.pipeline import Pipeline
from core.protocols import ComputeGate, DocumentStore, EmbeddingModel, FileStore, JobStore
from core.records import SaveResult
from core.services.embedding_steps import EmbeddingSteps
from core.services.handover import Handover
from core.services.indexing_steps import FileReader, IndexingSteps
from core.services.job_ends import JobEnds
from core.services.owners import owner_name
from core.services.prepared import SAVING, Prepared
from core.services.running_jobs import RunningJob, RunningJobs

logger = logging.getLogger(__name__)

# Enough that texts of one pass are about equally long.
_EMBED_TOGETHER_SEGMENTS = 128
_SAVE_AHEAD_FILES = 16
_SAVING_LEASE_S = 300.0
# How long saving may take where the disk is slow.
_SAVING_S, _SAVING_S_A_SEGMENT = 3.0, 0.02
_PUBLISHING_S = 60.0
_AFTER_TROUBLE_S = 1.0
# Many files are added, and end, at once; so long it waits for the next before it looks.
_GATHER_S = 0.05
# Files up to this size pass by one that is read in parts.
_SHORT_FILE_BYTES = 5_000_000
_CLOSE_TIMEOUT_S = 30.0


class IndexingService:
    """Runs ingest and reindex jobs of this data folder, together with other processes that do the same.

    gate         waits while an answer is being written
    passing      reads short files while `reader` is in the middle of a long one; None: they wait for its end
    lease_s      a job whose process is gone is free again after so long; at once if that was on this computer and a
                 process starts
    poll_s       how often it looks for jobs that another process added
    each_hour    done beside it, for as long as it runs, every `hour_s` seconds
    """

    def __init__(
        self,
        documents: DocumentStore,
        files: FileStore,
        jobs: JobStore,
        reader: FileReader,
        model: EmbeddingModel,
        *,
        gate: ComputeGate | None = None,
        passing: FileReader | None = None,
        pipeline: Pipeline | None = None,
        lease_s: float = 10.0,
        heartbeat_s: float = 3.0,
        poll_s: float = 0.7,
        each_hour: Callable[[], object] = lambda: None,
        hour_s: float = 3600.0,
    ) -> None:
        self._jobs, self._model = jobs, model
        self._readers = [reader] if passing is None else [reader, passing]
        self._needs_model = threading.Event()
        gate = gate or PriorityGate()
        lanes = [
            IndexingSteps(documents, files, each, model, gate, pipeline or Pipeline(), self._needs_model.set)
            for each in self._readers
        ]
        self._steps, self._passing = lanes[0], lanes[1:]
        self._in_long_file = threading.Event()
        self._embedding = EmbeddingSteps(documents, model, gate)
        self._running = RunningJobs(jobs, owner_name(), lease_s=lease_s, heartbeat_s=heartbeat_s, look_s=poll_s)
        self._poll_s = poll_s
        self._each_hour, self._hour_s = each_hour, hour_s
        self._handover = Handover()
        self._embedded: queue.Queue[Prepared | None] = queue.Queue(_SAVE_AHEAD_FILES)
        self._closing = threading.Event()
        self._new_job, self._new_stop, self._job_ended = threading.Event(), threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._start_lock = threading.Lock()
        begin_again, ended = self._new_job.set, self._job_ended.set
        self._ends = JobEnds(self._running, self._steps.discard, self._closing, begin_again=begin_again, ended=ended)

    def start(self, *, load_model: bool = True) -> None:
        """Begins to work, once; a second call does nothing.

        load_model  in a thread of its own, at once; otherwise when the first file is read that isn't indexed already
        """
        if load_model:
            self._needs_model.set()
        with self._start_lock:
            if self._threads or self._closing.is_set():
                return
            self._running.take_over_from_the_dead()
            for name, work in (
                ("read", lambda: self._read_files(self._steps)),
                *(("pass", lambda steps=steps: self._pass_long_file(steps)) for steps in self._passing),
                ("embed", self._embed_files),
                ("save", self._save_files),
                ("heartbeat", lambda: self._running.watch(self._closing, self._wait_for_stop)),
                ("warm-up", self._warm_up),
                ("hourly", self._do_each_hour),
            ):
                thread = threading.Thread(target=work, name=f"indexing-{name}", daemon=True)
                self._threads.append(thread)
                thread.start()

    def close(self) -> None:
        """Ends within a batch. Unfinished jobs wait again; their next attempt goes on behind what is kept."""
        self._closing.set()
        self._needs_model.set()
        self._handover.close()
        for job in self._running.all():
            job.end("closing")
        self.wake()
        deadline = time.monotonic() + _CLOSE_TIMEOUT_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for job in self._running.all():
            self._ends.settle(job, lambda job=job: self._running.release(job))
        for reader in self._readers:
            reader.close()

    def wake(self) -> None:
        """Look now: a job was added, stopped or retried."""
        self._new_job.set()
        self._new_stop.set()
        self._job_ended.set()

    def run_until_idle(self, batch: str | None = None) -> None:
        """Starts, and returns when no job (of this batch) waits or runs, here or in another process."""
        self.start()
        self.wake()
        while self._jobs.list(states=("waiting", "running"), batch=batch, limit=1):
            self.wait_for_an_end()
            if self._closing.is_set():
                return

    def wait_for_an_end(self, *, gather_s: float = _GATHER_S) -> None:
        """Until a job ends here, or for the time after which one of another process may have ended.

        gather_s  looks away at least so long: each of many small files is no reason to look
        """
        self._closing.wait(gather_s)
        self._job_ended.wait(self._poll_s)
        self._job_ended.clear()

    # ── threads ──

    def _pass_long_file(self, steps: IndexingSteps) -> None:
        """What is short needn't wait for the end of a long file that was there before."""
        while not self._closing.is_set():
            if self._in_long_file.wait(self._poll_s):
                self._read_files(steps, most_bytes=_SHORT_FILE_BYTES, as_long_as=self._in_long_file.is_set)

    def _read_files(
        self, steps: IndexingSteps, *, most_bytes: int | None = None, as_long_as: Callable[[], bool] = lambda: True
    ) -> None:
        while as_long_as() and not self._closing.is_set():
            try:
                job = self._running.claim(most_bytes=most_bytes)
            except StorageError as error:
                logger.warning("no job could be taken: %s", error)
                self._closing.wait(_AFTER_TROUBLE_S)
                continue
            if job is None:
                self._new_job.wait(self._poll_s)
                self._new_job.clear()
            else:
                self._guarded(job, lambda job=job: self._read_file(job, steps))

    def _read_file(self, job: RunningJob, steps: IndexingSteps) -> None:
        self._wait_for_twin(job)
        outcome = steps.prepare(job, self._closing)
        if isinstance(outcome, SaveResult):
            self._ends.done(job, outcome)
            return
        try:
            for item in outcome:
                if steps is self._steps and not item.part.is_last:
                    self._in_long_file.set()
                if not self._handover.put(item):
                    return  # closing: close() releases the job
                del item  # not in memory while the next part is read
        finally:
            if steps is self._steps:
                self._in_long_file.clear()

    def _wait_for_twin(self, job: RunningJob) -> None:
        """The same long content twice in a row: the second is linked to the first once that is there."""
        payload = job.record.payload
        while payload["size"] > PART_CHARS and any(
            other is not job and other.record.payload["content_hash"] == payload["content_hash"]
            for other in self._running.all()
        ):
            if job.stop.wait(0.05) or self._closing.is_set():
                raise StoppedError(f"indexing {job.record.name!r} was stopped")

    def _embed_files(self) -> None:
        while prepared := self._handover.take(_EMBED_TOGETHER_SEGMENTS):
            for item in self._with_vectors(prepared):
                self._embedded.put(item)
                del item
            del prepared
        self._embedded.put(None)

    def _with_vectors(self, prepared: list[Prepared]) -> list[Prepared]:
        """Those that could be embedded: of files that share a pass, a bad one fails alone."""
        try:
            self._embedding.embed(prepared, self._closing)
        except Exception as error:  # noqa: BLE001 the edge of a thread: every job gets its own end
            if len(prepared) == 1 or isinstance(error, StoppedError):
                for item in prepared:
                    self._ends.fail(item.job, error)
                return []
        else:
            return prepared
        return [item for one in prepared for item in self._with_vectors([one])]

    def _save_files(self) -> None:
        """A thread of its own: waiting for the disk leaves the processor to the next batch."""
        while (item := self._embedded.get()) is not None:
            self._guarded(item.job, lambda item=item: self._save(item))
            del item

    def _save(self, item: Prepared) -> None:
        job = item.job
        with job.ending:
            if job.has_ended:
                return
            if not self._running.keep(job, _SAVING_LEASE_S, for_s=_may_take_s(item)):
                job.end("lost")
            item.report(SAVING, "saving")
            if saved := self._steps.keep(item):
                self._ends.done(job, saved)

    def _warm_up(self) -> None:
        warm_up = getattr(self._model, "warm_up", None)
        self._needs_model.wait()
        if warm_up is None or self._closing.is_set():
            return
        try:
            warm_up()
        except FootnoteError as error:
            logger.warning("the embedding model isn't ready: %s", error)

    def _do_each_hour(self) -> None:
        while not self._closing.wait(self._hour_s):
            try:
                self._each_hour()
            except StorageError as error:
                logger.warning("not done this hour: %s", error)
            except Exception:  # the edge of a thread
                logger.exception("not done this hour: something unforeseen happened")

    def _wait_for_stop(self, seconds: float) -> bool:
        was_woken = self._new_stop.wait(seconds)
        self._closing.wait(_GATHER_S)
        self._new_stop.clear()
        return was_woken

    def _guarded(self, job: RunningJob, step: Callable[[], None]) -> None:
        """The edge: whatever goes wrong with one file ends that file's job, and the next one goes on."""
        try:
            step()
        except Exception as error:  # noqa: BLE001 the edge of a thread
            self._ends.fail(job, error)


def _may_take_s(item: Prepared) -> float:
    """Saving it, in which all parts of a long document become visible with its last."""
    if item.part.is_last and not item.is_whole:
        return _PUBLISHING_S
    return _SAVING_S + len(item.segments) * _SAVING_S_A_SEGMENT
