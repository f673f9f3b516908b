"""The services of this process: built once, shared by all sessions, found by every page. Nothing starts at import."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.bootstrap import Services

logger = logging.getLogger(__name__)


def _build() -> Services:
    from core.bootstrap import build_services
    from core.settings import Settings

    return build_services(Settings.load())


class ServicesHolder:
    """One `Services` per process. Two sessions that come at the same instant get the same one.

    A failed start isn't remembered: the next visit tries again, so that a person can mend the cause and reload.
    """

    def __init__(self, build: Callable[[], Services] = _build) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._services: Services | None = None

    def get(self) -> Services:
        """raises FootnoteError when they can't start: a locked or newer database, a wrong setting"""
        with self._lock:
            if self._services is None:
                services = self._build()
                services.start()
                self._services = services
                logger.info("services started")
            return self._services

    def close(self) -> None:
        with self._lock:
            services, self._services = self._services, None
        if services is not None:
            services.close()


HOLDER = ServicesHolder()


def get_services() -> Services:
    return HOLDER.get()
