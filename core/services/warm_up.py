"""What the first question would otherwise wait for, done beside everything else once the app is up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from core.errors import FootnoteError

logger = logging.getLogger(__name__)


class WarmUp:
    """Runs the steps one after another in a thread of its own; one that fails is logged and the next goes on."""

    def __init__(self, steps: Mapping[str, Callable[[], object]]) -> None:
        self._steps = steps
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="warm-up", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Waits for the step that runs; the others are left out."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        for name, step in self._steps.items():
            if self._closing.is_set():
                return
            started = time.monotonic()
            try:
                step()
            except FootnoteError as error:
                logger.info("warm-up, %s: %s", name, error)
            else:
                logger.info("warm-up, %s: %.1f s", name, time.monotonic() - started)
