"""Fusion of meaning and words by their scores, each weighted by how far it can be trusted with this query.

    fused = (readable * cosine + 1.5 * share + 0.3 * phrase) / 2.8

`readable` is how much of the query the embedding model can read (`readability.py`): a model that can't read the
language has no say. `share` is the keyword score as a part of the most this query could reach, words that stand nowhere
counted in: where question and passages share no script, the words have no say. `phrase` is the part of the query's
neighbouring words that stand side by side. No number is taken from the other
candidates, so that one outlier can't move the rest and scores of different queries can be compared.

After Bruch, Gai and Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, 2023: https://arxiv.org/abs/2210.11934
(their theoretical min-max normalisation, which beats rank fusion where the scores have known ends).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.domain import Content, KeywordScore
from core.protocols import TokenCountEstimator
from core.rag.fusion.completing import with_cosine, with_keyword_score
from core.rag.fusion.readability import readable_share

KEYWORD_WEIGHT = 1.5
PHRASE_WEIGHT = 0.3
# So that an unreadable query still has an order where no word is found.
_LEAST_READABLE = 0.01


class AdaptiveFusion:
    """Scores combined, weighted by what the model can read of the query.

    tokenizer  the embedding model's
    """

    def __init__(
        self,
        tokenizer: TokenCountEstimator,
        *,
        keyword_weight: float = KEYWORD_WEIGHT,
        phrase_weight: float = PHRASE_WEIGHT,
    ) -> None:
        self._tokenizer = tokenizer
        self._keyword_weight = keyword_weight
        self._phrase_weight = phrase_weight

    def readable(self, query: str) -> float:
        """How much of the query the embedding model can read, 0 to 1: its weight."""
        return readable_share(query, self._tokenizer)

    def fuse(
        self,
        query: str,
        vector: Sequence[Content],
        keyword: Sequence[Content],
        *,
        cosines: Mapping[str, float] | None = None,
        keyword_scores: Mapping[str, KeywordScore] | None = None,
    ) -> list[Content]:
        """Both legs' contents as one ranking, best first, with "fused" added to their scores.

        cosines, keyword_scores  by segment id, of contents that only the other leg found; where one is missing, it
        counts as the last place of the leg that missed it, or as 0 where that leg's list ended by itself
        """
        readable = max(_LEAST_READABLE, self.readable(query))
        contents: dict[str, Content] = {}
        for content in (*vector, *keyword):
            seen = contents.get(content.key)
            contents[content.key] = content if seen is None else seen.joined_with(content)
        # A vector search finds everything there is; what it left out can't be nearer than its last hit.
        floor = min((content.scores["cosine"] for content in vector), default=0.0)
        fused = []
        for content in contents.values():
            content = _completed(content, cosines or {}, keyword_scores or {})
            scores = content.scores
            score = readable * scores.get("cosine", floor)
            score += self._keyword_weight * scores.get("share", 0.0) + self._phrase_weight * scores.get("phrase", 0.0)
            score /= 1 + self._keyword_weight + self._phrase_weight
            fused.append(content.with_scores({"fused": score}))
        return sorted(fused, key=lambda content: -content.scores["fused"])


def _completed(content: Content, cosines: Mapping[str, float], keyword_scores: Mapping[str, KeywordScore]) -> Content:
    """The content with what the leg that didn't find it says of it. It gets no rank there: it was not found."""
    if "cosine" not in content.scores and content.id in cosines:
        content = with_cosine(content, cosines[content.id])
    if "bm25" not in content.scores:
        content = with_keyword_score(content, keyword_scores.get(content.id, KeywordScore()))
    return content
