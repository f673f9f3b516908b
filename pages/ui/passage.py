"""A passage cut into runs: what is marked in it, for a component that shows each run as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from core.text.sentences import sentence_spans
from core.text.terms import index_terms, query_terms

_WORD = re.compile(r"[\w'’-]+")
Run = tuple[str, str]  # text, and its marks: "" | "m" a matched word | "b" the best sentence | "bm" both


# An answer that is being written is drawn four times a second, always over the same passages.
@lru_cache(maxsize=512)
def runs(text: str, matched_terms: tuple[str, ...], best: tuple[int, int] | None = None) -> tuple[Run, ...]:
    """The whole of `text`, nothing added or lost: "".join(run for run, _ in runs(…)) == text."""
    marks = [""] * len(text)
    if best:
        marks[best[0] : best[1]] = ["b"] * (best[1] - best[0])
    for start, end in _matches(text, frozenset(matched_terms)):
        for position in range(start, end):
            marks[position] = marks[position].removesuffix("m") + "m"
    cut: list[Run] = []
    start = 0
    for position in range(1, len(text) + 1):
        if position == len(text) or marks[position] != marks[start]:
            cut.append((text[start:position], marks[start]))
            start = position
    return tuple(cut)


def best_sentence(text: str, citing: Sequence[str]) -> tuple[int, int] | None:
    """The sentence of a passage that shares most words with the answer's sentences that rest on it, as offsets."""
    wanted = {term for sentence in citing for term in query_terms(sentence)}
    if not wanted:
        return None
    spans = [(start, start + len(text[start:end].rstrip())) for start, end in sentence_spans(text)]
    shared = [len(wanted & set(index_terms(text[start:end]))) for start, end in spans]
    return spans[shared.index(max(shared))] if shared and max(shared) else None


def _matches(text: str, terms: frozenset[str]) -> list[tuple[int, int]]:
    if not terms:
        return []
    words = [m.span() for m in _WORD.finditer(text) if terms & set(index_terms(m.group()))]
    # Where words aren't divided by blanks, a term is a run of one or two characters inside a longer "word".
    scripts = [term for term in terms if term and ord(term[0]) >= 0x2E80]
    inside = [m.span() for term in scripts for m in re.finditer(re.escape(term), text)]
    return [(s, e) for s, e in words if not scripts or text[s:e].isascii()] + inside
