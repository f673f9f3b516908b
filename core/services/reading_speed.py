"""How fast this machine reads a prompt, learned from every answer, so that a wait can be said in seconds."""

from __future__ import annotations

import threading

_FIRST_GUESS = 60.0  # tokens per second; two cores and a model of 1.5 billion parameters, with some company
_LEAST_TOKENS = 32  # fewer say nothing about speed
_NEW_SHARE = 0.4


class ReadingSpeed:
    """Thread-safe. `seconds(1240)` is an estimate from what was learned."""

    def __init__(self, tokens_per_s: float = _FIRST_GUESS) -> None:
        self._tokens_per_s = tokens_per_s
        self._lock = threading.Lock()

    def seconds(self, tokens: int) -> float:
        with self._lock:
            return tokens / self._tokens_per_s

    def learn(self, tokens: int, seconds: float) -> None:
        """The newest counts most."""
        if tokens < _LEAST_TOKENS or seconds <= 0:
            return
        with self._lock:
            self._tokens_per_s += _NEW_SHARE * (tokens / seconds - self._tokens_per_s)
