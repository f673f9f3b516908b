"""What is known of a chat model's speed on this machine, kept over restarts: how it is run best, how fast it reads.

Figures belong to a model's file, to the machine and to the number of threads that a person chose.
"""

from __future__ import annotations

import logging
import threading

from core.chat_models.tuning import Tuning
from core.errors import StorageError
from core.protocols import ChatModel, MeasurementStore
from core.services.machine import machine_name
from core.services.reading_speed import ReadingSpeed

logger = logging.getLogger(__name__)


class ModelFigures:
    """Thread-safe. Without a store it forgets with the process.

    threads  the setting; 0 where the machine decides
    """

    def __init__(self, store: MeasurementStore | None = None, *, threads: int = 0) -> None:
        self._store, self._threads = store, threads
        self._speeds: dict[str, ReadingSpeed] = {}
        self._tunings: dict[str, Tuning] = {}
        self._lock = threading.Lock()

    # ── how it is run ────────────────────────────────────────────────────────

    def tuning(self, model: ChatModel) -> Tuning | None:
        """None where it wasn't measured yet."""
        with self._lock:
            if model.fingerprint not in self._tunings:
                value = self._read(self._name("tuning", model))
                found = Tuning.from_json(value) if value else None
                if found is None:
                    return None
                self._tunings[model.fingerprint] = found
            return self._tunings[model.fingerprint]

    def tuned(self, model: ChatModel) -> ChatModel:
        """The same model, told before it's loaded how it was found to run best."""
        tuning = self.tuning(model)
        if tuning is not None and hasattr(model, "tune"):
            model.tune(tuning)
        return model

    def keep_tuning(self, model: ChatModel, tuning: Tuning, *, for_good: bool = True) -> None:
        """for_good  over restarts too"""
        with self._lock:
            self._tunings[model.fingerprint] = tuning
            self._speeds.pop(model.fingerprint, None)
        if for_good:
            self._write(self._name("tuning", model), tuning.to_json())

    # ── how fast it reads ────────────────────────────────────────────────────

    def speed(self, model: ChatModel) -> ReadingSpeed:
        """As learned before; else as calibrated; else a guess."""
        tuning = self.tuning(model)
        with self._lock:
            if model.fingerprint not in self._speeds:
                value = self._read(self._name("reading", model))
                learned = ReadingSpeed.from_json(value) if value else None
                guess = ReadingSpeed(tuning.reads_per_s) if tuning else ReadingSpeed()
                self._speeds[model.fingerprint] = learned or guess
            return self._speeds[model.fingerprint]

    def learn_reading(self, model: ChatModel, tokens: int, seconds: float, *, known: int) -> None:
        speed = self.speed(model)
        if speed.learn(tokens, seconds, known=known):
            self._write(self._name("reading", model), speed.to_json())

    # ── inside ───────────────────────────────────────────────────────────────

    def _name(self, what: str, model: ChatModel) -> str:
        return f"{what} | {model.fingerprint} | {machine_name()} | threads {self._threads or 'auto'}"

    def _read(self, name: str) -> dict | None:
        try:
            return self._store.get(name) if self._store else None
        except StorageError as error:
            logger.warning("a figure could not be read: %s", error)
            return None

    def _write(self, name: str, value: dict) -> None:
        """An answer must not fail because a figure can't be kept."""
        try:
            if self._store:
                self._store.put(name, value)
        except StorageError as error:
            logger.warning("a figure could not be kept: %s", error)
