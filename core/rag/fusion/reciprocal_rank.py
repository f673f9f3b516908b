"""Reciprocal rank fusion: only ranks count, whatever the scores mean."""

from __future__ import annotations

from collections.abc import Sequence

from core.domain import Content
from core.errors import ConfigError

DEFAULT_K = 60


def reciprocal_rank_fusion(rankings: Sequence[Sequence[Content]], *, k: int = DEFAULT_K) -> list[Content]:
    """Merge several rankings into one, best first.

    A content's score is the sum of 1 / (k + rank) over the rankings that hold it, rank counted from 1.
    A larger k flattens the difference between ranks. [[A, B], [A]] gives [A, B].

    rankings  any number of lists, each best first; lists may be empty or overlap
    k         at least 1; the paper uses 60
    returns   each content once, its earlier scores kept and "rrf" added; ties in first-seen order
    raises    ConfigError if k is below 1

    Cormack, Clarke and Büttcher, SIGIR 2009: https://plg.uwaterloo.ca/~gvcormac/cormacksigir09-rrf.pdf
    """
    if k < 1:
        raise ConfigError(f"k={k} must be at least 1")
    contents: dict[str, Content] = {}
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(dict.fromkeys(content.key for content in ranking), 1):
            scores[key] = scores.get(key, 0.0) + 1 / (k + rank)
        for content in ranking:
            seen = contents.get(content.key)
            contents[content.key] = content if seen is None else seen.joined_with(content)
    ordered = sorted(scores, key=lambda key: -scores[key])
    return [contents[key].with_scores({"rrf": scores[key]}) for key in ordered]
