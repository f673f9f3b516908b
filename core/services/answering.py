"""The engine: one thread that answers waiting questions, the oldest first, from all tabs and processes.

An answer is a row in the store; whoever claims it owns it by a lease that is kept alive while it is worked on. A stop
comes through the row too, so any page and any process can ask for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from core.errors import FootnoteError, NotFoundError, StorageError
from core.events import Event
from core.protocols import ConversationStore
from core.records import MESSAGE_ENDED, MessageRecord
from core.services.owners import owner_name
from core.services.turn_runner import TurnRunner

logger = logging.getLogger(__name__)

LEASE_S = 30.0
_HEARTBEAT_S = 8.0
_LOOK_S = 0.2  # how often a stop in the store is looked for
_IDLE_S = 0.5  # how often the store is asked for questions of other processes
_AFTER_ERROR_S = 2.0


class AnswerEngine:
    """Starts nothing until `start`. One of it per process."""

    def __init__(self, store: ConversationStore, runner: TurnRunner) -> None:
        self._store, self._runner = store, runner
        self._owner = owner_name()
        self._wake, self._closing = threading.Event(), threading.Event()
        self._stops: dict[int, threading.Event] = {}
        self._one_at_a_time = threading.Lock()
        self._wanting = 0  # answers that want the model, or have it
        self._counting = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._closing.clear()
            self._thread = threading.Thread(target=self._work, name="answers", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """What is being written stays, as interrupted; what waits goes on waiting."""
        self._closing.set()
        self._wake.set()
        for stop in list(self._stops.values()):
            stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def wake(self) -> None:
        """There is a new question."""
        self._wake.set()

    def is_resting(self) -> bool:
        """Nothing is answered here, and the model has nothing to read ahead."""
        return self._wanting == 0 and not self._runner.idle.has_work

    def stop(self, message_id: int) -> None:
        """At once, if it's answered here; the store has told everybody else."""
        stop = self._stops.get(message_id)
        if stop is not None:
            stop.set()

    def answer(self, message_id: int, on_event: Callable[[Event], None]) -> MessageRecord:
        """See one question through, here or wherever it was claimed, and give its ended answer."""
        while (message := self._store.message(message_id)).state not in MESSAGE_ENDED:
            claimed = self._claimed_for(message)
            if claimed is None:
                time.sleep(_LOOK_S)
            else:
                self._run(claimed, on_event if claimed.id == message_id else _nobody)
        return message

    def _claimed_for(self, message: MessageRecord) -> MessageRecord | None:
        """The answer itself, or one that waits before it in its conversation: a closed app may have left it."""
        waiting = [m.id for m in self._store.messages(message.conversation_id) if m.state == "waiting"]
        if not waiting:
            return None
        return self._store.claim_answer(self._owner, lease_s=LEASE_S, message_id=waiting[0])

    # ── the thread ───────────────────────────────────────────────────────────

    def _work(self) -> None:
        while not self._closing.is_set():
            self._wake.clear()
            try:
                message = self._store.claim_answer(self._owner, lease_s=LEASE_S)
                if message is not None:
                    self._run(message, may_wait=True)
                    continue
            except StorageError as error:
                # A full disk or a locked database may pass.
                logger.error("the answer engine waits: %s", error)
                self._closing.wait(_AFTER_ERROR_S)
            if not self._did_idle_work():
                self._wake.wait(_IDLE_S)

    def _did_idle_work(self) -> bool:
        """A little of what there is to do while nobody asks; a question ends it at once."""
        if not self._one_at_a_time.acquire(blocking=False):
            return False
        try:
            return self._runner.idle.step(_Wanted(self._is_wanted))
        except StorageError as error:
            logger.warning("idle work waits: %s", error)
            return False
        finally:
            self._one_at_a_time.release()

    def _is_wanted(self) -> bool:
        return self._wake.is_set() or self._closing.is_set() or self._wanting > 0

    def _run(
        self, message: MessageRecord, on_event: Callable[[Event], None] | None = None, *, may_wait: bool = False
    ) -> None:
        stop, ended = threading.Event(), threading.Event()
        self._stops[message.id] = stop
        watcher = threading.Thread(target=self._watch, args=(message.id, stop, ended), name="answer-watch", daemon=True)
        watcher.start()
        self._want(1)
        try:
            with self._one_at_a_time:
                self._runner.run(
                    message, stop, is_closing=self._closing.is_set, on_event=on_event or _nobody, may_wait=may_wait
                )
                self._runner.rest(message)
        finally:
            self._want(-1)
            ended.set()
            del self._stops[message.id]
            watcher.join()

    def _want(self, more: int) -> None:
        with self._counting:
            self._wanting += more

    def _watch(self, message_id: int, stop: threading.Event, ended: threading.Event) -> None:
        """Keeps the lease, and hears of a stop, a deletion or a lost lease."""
        beat = time.monotonic()
        while not ended.wait(_LOOK_S):
            if self._closing.is_set():
                stop.set()
            try:
                if self._store.message(message_id).stop_requested:
                    stop.set()
                if time.monotonic() - beat >= _HEARTBEAT_S:
                    beat = time.monotonic()
                    if not self._store.heartbeat(message_id, self._owner, lease_s=LEASE_S) and not ended.is_set():
                        logger.warning("answer %d was taken over or removed", message_id)
                        stop.set()
            except NotFoundError:
                stop.set()
            except FootnoteError as error:
                logger.warning("watching answer %d: %s", message_id, error)


@dataclass(frozen=True)
class _Wanted:
    """A stop signal that asks each time."""

    is_set: Callable[[], bool]


def _nobody(event: Event) -> None:
    """Nobody listens: whoever looks reads the store."""
