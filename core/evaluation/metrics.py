"""How good a ranking is, as trec_eval counts it: ids, best first, against id -> relevance (above 0)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def recall_at(k: int, ranking: Sequence[str], relevant: Mapping[str, float]) -> float:
    """Share of the relevant ids that are among the first k. `recall_at(1, ["a", "b"], {"a": 1, "b": 1})` is 0.5."""
    return sum(id in relevant for id in ranking[:k]) / len(relevant)


def reciprocal_rank_at(k: int, ranking: Sequence[str], relevant: Mapping[str, float]) -> float:
    """1 / rank of the first relevant id among the first k, else 0.

    `reciprocal_rank_at(10, ["x", "a"], {"a": 1})` is 0.5.
    """
    return next((1 / rank for rank, id in enumerate(ranking[:k], 1) if id in relevant), 0.0)


def ndcg_at(k: int, ranking: Sequence[str], relevant: Mapping[str, float]) -> float:
    """Discounted cumulative gain of the first k over that of the best order, gains linear, from 0 to 1.

    `ndcg_at(10, ["x", "a"], {"a": 1})` is 1 / log2(3) = 0.6309…

    Järvelin and Kekäläinen, TOIS 2002: https://dl.acm.org/doi/10.1145/582415.582418
    """
    gains = [relevant.get(id, 0.0) for id in ranking[:k]]
    return _discounted(gains) / _discounted(sorted(relevant.values(), reverse=True)[:k])


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
