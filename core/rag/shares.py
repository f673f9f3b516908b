"""Contents that are far behind the best one: they cost reading time, and a small model takes them for the answer."""

from __future__ import annotations

from collections.abc import Sequence

from core.domain import Content

LEAST = 2
# Scores that were made to be compared, the last word first. Ranks fused (rrf) say nothing about how far behind one is.
_COMPARABLE = ("mean", "fused")


def far_behind(ranked: Sequence[Content], *, min_share: float) -> set[str]:
    """Keys of the contents whose score is below `min_share` of the best one's; never the first two.

    min_share  0 keeps all, 1 only what equals the best
    """
    if len(ranked) <= LEAST or min_share <= 0:
        return set()
    name = next((name for name in _COMPARABLE if all(name in content.scores for content in ranked)), None)
    if name is None:
        return set()
    best = ranked[0].scores[name]
    return {content.key for content in ranked[LEAST:] if content.scores[name] < min_share * best}
