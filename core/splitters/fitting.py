"""The last check: each slice, tokenised by itself, is no longer than asked. What isn't is cut once more."""

from __future__ import annotations

from core.protocols import TokenCountEstimator
from core.splitters.units import cut_before
from core.text.measure import TokenMeasure

Span = tuple[int, int]


def fit(text: str, spans: list[Span], estimator: TokenCountEstimator, limit: int) -> list[Span]:
    """The spans, those whose own count exceeds `limit` cut into several that don't.

    A single character that alone is more tokens than `limit` stays as it is.
    """
    counts = estimator.count_all([text[start:end] for start, end in spans])
    if all(count <= limit for count in counts):
        return spans
    fitting: list[Span] = []
    for span, count in zip(spans, counts, strict=True):
        fitting.extend([span] if count <= limit else _cut(text, span, count, estimator, limit))
    return fitting


def _cut(text: str, span: Span, count: int, estimator: TokenCountEstimator, limit: int) -> list[Span]:
    cut: list[Span] = []
    start, end = span
    while count > limit and end - start > 1:
        middle = _longest_beginning(text, start, end, estimator, limit)
        cut.append((start, middle - _blanks_before(text, start, middle)))
        start = middle + _blanks_after(text, middle, end)
        count = estimator.count(text[start:end])
    if start < end:
        cut.append((start, end))
    return cut


def _longest_beginning(text: str, start: int, end: int, estimator: TokenCountEstimator, limit: int) -> int:
    """An end above `start` whose slice fits, at a blank where one is near."""
    goal = limit
    while True:
        measure = TokenMeasure(text[start:end], estimator)
        reach = start + measure.reach(0, goal)
        blank = max(text.rfind(" ", start, reach), text.rfind("\n", start, reach))
        middle = blank if blank > start + (reach - start) // 2 else cut_before(text, reach, start)
        middle = middle if middle > start else max(reach, start + 1)
        count = estimator.count(text[start:middle])
        if count <= limit or middle == start + 1:
            return middle
        # A beginning that still doesn't fit: aim lower by as much as it was too long.
        end = middle
        goal = max(1, min(goal - 1, goal * limit // count))


def _blanks_before(text: str, start: int, end: int) -> int:
    return end - start - len(text[start:end].rstrip())


def _blanks_after(text: str, start: int, end: int) -> int:
    return end - start - len(text[start:end].lstrip())
