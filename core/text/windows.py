"""A text that is longer than a model reads, as consecutive windows that it can read."""

from __future__ import annotations

from core.protocols import TokenCountEstimator
from core.text.measure import TokenMeasure


def windows(text: str, estimator: TokenCountEstimator, limit: int) -> list[str]:
    """Consecutive slices that together are the text, each at most `limit` tokens; cut at a blank where one is near.

    A single character that alone is more tokens than `limit` stays as it is.
    """
    found = []
    measure = TokenMeasure(text, estimator)
    start = 0
    while start < len(text):
        end = max(start + 1, _end(text, start, measure.reach(start, limit)))
        while end - start > 1 and (count := estimator.count(text[start:end])) > limit:
            # Cut inside a word, a slice may hold more tokens than its share of the whole text did.
            end = start + max(1, min(end - start - 1, (end - start) * limit // count))
        found.append(text[start:end])
        start = end
    return found


def _end(text: str, start: int, reach: int) -> int:
    if reach >= len(text):
        return len(text)
    blank = max(text.rfind(" ", start, reach), text.rfind("\n", start, reach))
    return blank + 1 if blank > start + (reach - start) // 2 else reach
