"""For one retriever and several queries: the mean of the scores, which says more than the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.domain import Content
from core.query import Query
from core.rag.fusion.reciprocal_rank import reciprocal_rank_fusion
from core.rag.fusion.score_sum import score_sum_fusion


class ScoreSumContentAggregator:
    """The mean of the scores over the queries; by ranks where the scores aren't of one kind."""

    def aggregate(self, results: Mapping[Query, Sequence[Sequence[Content]]]) -> list[Content]:
        rankings = [ranking for rankings in results.values() for ranking in rankings]
        if len(rankings) == 1:
            return list(rankings[0])
        fused = score_sum_fusion(rankings)
        return reciprocal_rank_fusion(rankings) if fused is None else fused
