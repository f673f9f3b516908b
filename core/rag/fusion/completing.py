"""A content completed by what a leg says of it that didn't find it, or that hadn't said yet."""

from __future__ import annotations

from core.domain import Content, KeywordScore


def with_keyword_score(content: Content, found: KeywordScore) -> Content:
    """The content with its keyword scores. It gets no rank: whether the leg found it is another question."""
    scores = {"bm25": found.bm25, "share": found.share, "coverage": found.coverage, "phrase": found.phrase}
    return content.joined_with(Content(content.segment, matched_terms=found.matched_terms, scores=scores))


def with_cosine(content: Content, cosine: float) -> Content:
    return content.with_scores({"cosine": cosine, "score": (cosine + 1) / 2})
