"""What the chat model does while nobody asks: read what the next question needs, find out how it's run best here.

Both give way at once to a question, and pass the gate as indexing does. Reading passes it a short step at a time; the
measurement holds it for the seconds that it takes: beside indexing its figures would be worth nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from core.domain import ChatMessage
from core.errors import FootnoteError, NotFoundError, StoppedError
from core.protocols import ChatModel, ComputeGate, StopSignal
from core.services.machine import QuietWatch
from core.services.model_figures import ModelFigures

logger = logging.getLogger(__name__)

_LONGEST_WAIT_S = 60.0  # for a quiet machine
_STEP_TOKENS = 128  # about a second of a small model on two cores; so long indexing waits at most


class IdleWork:
    """Used by the thread that owns the model. `step` does a little of what is to be done.

    ready      the model, if it is loaded; None otherwise: nothing is loaded for this
    beginning  rules and turns that the next prompt of a conversation begins with; raises NotFoundError
    watch      tells whether the machine is free enough to be measured
    """

    def __init__(
        self,
        gate: ComputeGate,
        figures: ModelFigures,
        ready: Callable[[], ChatModel | None],
        beginning: Callable[[ChatModel, str], Sequence[ChatMessage]],
        *,
        watch: QuietWatch | None = None,
    ) -> None:
        self._watch = watch or QuietWatch()
        self._waits_since: float | None = None
        self._gate, self._figures, self._ready, self._beginning = gate, figures, ready, beginning
        self._conversation: str | None = None
        self._is_calibrated = False

    def answered(self, conversation_id: str | None) -> None:
        """Its next question is the likeliest to come; None where the answer itself may still go on."""
        self._conversation = conversation_id

    @property
    def has_work(self) -> bool:
        """There is something to read ahead."""
        return self._conversation is not None

    def step(self, stop: StopSignal) -> bool:
        """True when there is more to do. Never raises what concerns this work only."""
        model = self._ready()
        if model is None:
            return False
        try:
            return self._tried(self._read_ahead, model, stop) or self._tried(self._calibrate, model, stop)
        except StoppedError:
            return True

    def _tried(self, work: Callable[[ChatModel, StopSignal], bool], model: ChatModel, stop: StopSignal) -> bool:
        """What the work returned; False where it failed: then it isn't tried again, and the other one still is."""
        try:
            return work(model, stop)
        except StoppedError:
            raise
        except FootnoteError as error:
            logger.warning("idle work given up: %s", error)
        except Exception:
            # A bug must not end the engine's thread: nobody would get an answer any more.
            logger.exception("idle work given up")
        if work == self._calibrate:
            self._is_calibrated = True
        else:
            self._conversation = None
        return False

    def _calibrate(self, model: ChatModel, stop: StopSignal) -> bool:
        """Always False: there is nothing more to do afterwards."""
        calibrate = getattr(model, "calibrate", None)
        if self._is_calibrated or calibrate is None or self._figures.tuning(model) is not None:
            self._is_calibrated = True
            return False
        now = time.monotonic()
        self._waits_since = self._waits_since or now
        quiet = self._watch.is_quiet()
        if not quiet and now - self._waits_since < _LONGEST_WAIT_S:
            return False
        with self._turn(stop):
            before = self._watch.look()
            tuning = calibrate(stop)
            quiet = quiet and self._watch.were_others_quiet(before)
        # What was measured on a busy machine serves until the next start, and is measured again then.
        self._figures.keep_tuning(model, tuning, for_good=quiet)
        self._is_calibrated = True
        logger.info("chat model %s%s: %s", model.name, "" if quiet else " on a busy machine", tuning)
        return False

    def _read_ahead(self, model: ChatModel, stop: StopSignal) -> bool:
        if self._conversation is None:
            return False
        try:
            messages = self._beginning(model, self._conversation)
        except NotFoundError:
            self._conversation = None
            return False
        with self._turn(stop):
            left = model.read_ahead(messages, at_most=_STEP_TOKENS, stop=stop)
        if not left:
            self._conversation = None
        return left > 0

    @contextmanager
    def _turn(self, stop: StopSignal) -> Iterator[None]:
        with self._gate.indexing(stop):
            if stop.is_set():
                raise StoppedError("a question came")
            yield
