"""The one chat model of a process: loaded once, in the background, and asked for by whoever answers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from core.errors import FootnoteError, ModelError, StoppedError
from core.protocols import ChatModel, StopSignal
from core.services.models import ModelState

logger = logging.getLogger(__name__)

_LOOK_AGAIN_S = 3.0  # a missing model may have been fetched meanwhile
_WAIT_S = 0.05


class ChatModelOwner:
    """Loads on `start` or at the first `get`, exactly once however many ask. Thread-safe; the model itself isn't.

    name  as in the settings
    open  finds the model without loading it; raises ModelError where it is missing
    """

    def __init__(self, name: str, open: Callable[[], ChatModel]) -> None:
        self._open = open
        self._model: ChatModel | None = None
        self._state = ModelState(name, "idle")
        self._error: FootnoteError | None = None
        self._tried = 0.0
        self._loading: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to load, and return at once."""
        with self._lock:
            if self._model is not None or (self._loading is not None and self._loading.is_alive()):
                return
            self._set("loading")
            self._loading = threading.Thread(target=self._load, name="chat-model", daemon=True)
            self._loading.start()

    def get(self, stop: StopSignal | None = None) -> ChatModel:
        """The loaded model; waits for it. raises ModelError: what is missing and how to get it; StoppedError"""
        self.start()
        while self._state.state == "loading":
            if stop is not None and stop.is_set():
                raise StoppedError("stopped while the chat model was loading")
            time.sleep(_WAIT_S)
        with self._lock:
            if self._model is None:
                raise self._error or ModelError("the chat model was closed")
            return self._model

    def ready(self) -> ChatModel | None:
        """The model if it is loaded; loads nothing and waits for nothing."""
        return self._model if self._state.state == "ready" else None

    def state(self) -> ModelState:
        """What people see. A model that was missing is looked for again now and then."""
        if self._state.state == "missing" and time.monotonic() - self._tried > _LOOK_AGAIN_S:
            self.start()
        return self._state

    def close(self) -> None:
        """Free its memory. Waits for a load that has begun."""
        loading = self._loading
        if loading is not None:
            loading.join()
        with self._lock:
            if self._model is not None:
                self._model.close()
            self._model = None
            self._set("idle")

    def _load(self) -> None:
        begun = time.monotonic()
        model, state, error = None, "missing", None
        try:
            model = self._open()
            state = "failed"
            model.load()
            state = "ready"
        except FootnoteError as caught:
            error, model = caught, None
        # Whatever else goes wrong while loading, nobody may wait for this thread for ever.
        except Exception:
            logger.exception("loading the chat model failed")
            state, model = "failed", None
            error = ModelError("the chat model couldn't be loaded; the log has the details")
        with self._lock:
            self._model, self._error, self._tried = model, error, time.monotonic()
            self._set(state, str(error or ""))
        if error is None:
            logger.info("chat model %s ready in %.1f s", self._state.name, time.monotonic() - begun)
        else:
            logger.warning("chat model %s: %s", self._state.name, error)

    def _set(self, state, message: str = "") -> None:
        self._state = ModelState(self._state.name, state, message)
