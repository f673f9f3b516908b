"""Two-stage fusion by ranks: first the retrievers of each query, then the queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.domain import Content
from core.query import Query
from core.rag.fusion.reciprocal_rank import DEFAULT_K, reciprocal_rank_fusion


class DefaultContentAggregator:
    """Reciprocal rank fusion, k=60: the retrievers of each query, then the queries."""

    def __init__(self, *, k: int = DEFAULT_K) -> None:
        self._k = k

    def aggregate(self, results: Mapping[Query, Sequence[Sequence[Content]]]) -> list[Content]:
        per_query = [reciprocal_rank_fusion(rankings, k=self._k) for rankings in results.values()]
        return per_query[0] if len(per_query) == 1 else reciprocal_rank_fusion(per_query, k=self._k)
