"""What every retriever may be told: how many, how good at least, and from where; fixed, or asked for each query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import ConfigError
from core.filters import Filter
from core.query import Query


@dataclass(frozen=True)
class Limits:
    """The callables get the query and win over the fixed values.

    max_results  at least 1
    min_score    lowest (cosine + 1) / 2 of a vector hit, 0 to 1, inclusive
    filter       acts before the best are taken
    raises       ConfigError naming the value that is out of range
    """

    max_results: int = 3
    min_score: float = 0.0
    filter: Filter | None = None
    dynamic_max_results: Callable[[Query], int] | None = None
    dynamic_min_score: Callable[[Query], float] | None = None
    dynamic_filter: Callable[[Query], Filter | None] | None = None

    def __post_init__(self) -> None:
        if self.max_results < 1:
            raise ConfigError(f"max_results={self.max_results} must be at least 1")
        if not 0 <= self.min_score <= 1:
            raise ConfigError(f"min_score={self.min_score} must be between 0 and 1")

    def of(self, query: Query) -> Limits:
        """The fixed values that hold for this query."""
        return Limits(
            self.max_results if self.dynamic_max_results is None else self.dynamic_max_results(query),
            self.min_score if self.dynamic_min_score is None else self.dynamic_min_score(query),
            self.filter if self.dynamic_filter is None else self.dynamic_filter(query),
        )
