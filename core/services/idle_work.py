"""What the chat model does while nobody asks: find out how it's run best here, then read what the next question needs.

Both give way at once to a question, and pass the gate as indexing does, a short step at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from core.domain import ChatMessage
from core.errors import FootnoteError, NotFoundError, StoppedError
from core.protocols import ChatModel, ComputeGate, StopSignal
from core.services.model_figures import ModelFigures

logger = logging.getLogger(__name__)

_STEP_TOKENS = 128  # about a second of a small model on two cores; so long indexing waits at most


class IdleWork:
    """Used by the thread that owns the model. `step` does a little of what is to be done.

    ready      the model, if it is loaded; None otherwise: nothing is loaded for this
    beginning  rules and turns that the next prompt of a conversation begins with; raises NotFoundError
    """

    def __init__(
        self,
        gate: ComputeGate,
        figures: ModelFigures,
        ready: Callable[[], ChatModel | None],
        beginning: Callable[[ChatModel, str], Sequence[ChatMessage]],
    ) -> None:
        self._gate, self._figures, self._ready, self._beginning = gate, figures, ready, beginning
        self._conversation: str | None = None
        self._is_calibrated = False

    def answered(self, conversation_id: str | None) -> None:
        """Its next question is the likeliest to come; None where the answer itself may still go on."""
        self._conversation = conversation_id

    @property
    def has_work(self) -> bool:
        return self._conversation is not None or not self._is_calibrated

    def step(self, stop: StopSignal) -> bool:
        """True when there is more to do. Never raises what concerns this work only."""
        model = self._ready()
        if model is None:
            return False
        try:
            if not self._is_calibrated:
                self._calibrate(model, stop)
                return True
            return self._read_ahead(model, stop)
        except StoppedError:
            return True
        except FootnoteError as error:
            logger.warning("idle work given up: %s", error)
            self._is_calibrated, self._conversation = True, None
            return False

    def _calibrate(self, model: ChatModel, stop: StopSignal) -> None:
        calibrate = getattr(model, "calibrate", None)
        if calibrate is not None and self._figures.tuning(model) is None:
            with self._turn(stop):
                tuning = calibrate(stop)
            self._figures.keep_tuning(model, tuning)
            logger.info("chat model %s: %s", model.name, tuning)
        self._is_calibrated = True

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
