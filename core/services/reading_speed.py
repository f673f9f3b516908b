"""How fast a model reads a prompt on this machine, learned from every answer, so that a wait can be said in seconds.

A token takes longer the more of them stand before it: seconds = base + slope * (tokens before it). Both are fitted to
what was measured, the newest counting most.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

_FIRST_GUESS = 60.0  # tokens per second; two cores and a model of 1.5 billion parameters, with some company
_FIRST_SLOPE = 1e-4  # of the base, for each token before
_LEAST_TOKENS = 32  # fewer say nothing about speed
_MOST_TOKENS = 1000  # what one prompt counts at most
_KEPT_SHARE = 0.6  # of what was known, at each new measurement
_BASE_WEIGHT = 20.0  # tokens that the first guess counts for
_SLOPE_WEIGHT = 2e8  # the same for its slope, in tokens * tokens²
_SUMS = ("weight", "place", "place2", "cost", "cost_place")


class ReadingSpeed:
    """Thread-safe. `seconds(1240, known=300)` is an estimate from what was learned."""

    def __init__(self, tokens_per_s: float = _FIRST_GUESS) -> None:
        self._guess = 1.0 / tokens_per_s
        self._sums = dict.fromkeys(_SUMS, 0.0)
        self._lock = threading.Lock()

    def seconds(self, tokens: int, *, known: int = 0) -> float:
        """For so many tokens, read behind so many that are known already."""
        with self._lock:
            base, slope = self._line()
        return tokens * (base + slope * (known + tokens / 2))

    def learn(self, tokens: int, seconds: float, *, known: int = 0) -> bool:
        """False where it was too little to learn from."""
        if tokens < _LEAST_TOKENS or seconds <= 0:
            return False
        place, cost, weight = known + tokens / 2, seconds / tokens, float(min(tokens, _MOST_TOKENS))
        new = (weight, weight * place, weight * place**2, weight * cost, weight * cost * place)
        with self._lock:
            for name, value in zip(_SUMS, new, strict=True):
                self._sums[name] = _KEPT_SHARE * self._sums[name] + value
        return True

    def to_json(self) -> dict[str, Any]:
        with self._lock:
            return {"guess": self._guess, **self._sums}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ReadingSpeed | None:
        """None where the record isn't whole."""
        try:
            speed = cls(1.0 / float(value["guess"]))
            speed._sums = {name: float(value[name]) for name in _SUMS}
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            return None
        return speed

    def _line(self) -> tuple[float, float]:
        """Least squares, each token one vote, with the first guess as some tokens more."""
        sums, guess = self._sums, self._guess
        weight, cost = sums["weight"] + _BASE_WEIGHT, sums["cost"] + _BASE_WEIGHT * guess
        place, place2 = sums["place"], sums["place2"] + _SLOPE_WEIGHT
        cost_place = sums["cost_place"] + _SLOPE_WEIGHT * _FIRST_SLOPE * guess
        slope = (weight * cost_place - place * cost) / (weight * place2 - place * place)
        if slope < 0:  # noise: nothing is read faster for standing further back
            return cost / weight, 0.0
        base = (cost - slope * place) / weight
        return (base, slope) if base > 0 else (0.0, cost_place / place2)
