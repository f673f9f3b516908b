"""Before the model runs: do the documents hold anything on this question?

    score = (readable * cosine + coverage) / (readable + 1), of the content where it's highest

`coverage` is the part of the question's words, rare ones counting more, that one segment holds; `readable` how much of
the question the embedding model can read. The threshold is careful: of 2,672 questions that the documents answer 99 in
a hundred are let through, of 578 that they don't 94 in a hundred are stopped. A question on the very topic of a segment
that doesn't answer it can't be told apart here; that is left to the model.

"All about V2 and P1" may be answered by two segments: where none holds all the names with a digit that are found, the
coverage is that of the best few together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core.domain import Content
from core.errors import ConfigError
from core.protocols import TokenCountEstimator
from core.rag.augmentor import AugmentationResult
from core.rag.fusion.readability import readable_share

THRESHOLD = 0.35
# One signal alone is less certain: lower, so that as many answerable questions pass.
THRESHOLD_ALONE = 0.30
_CLOSEST = 3
_TOGETHER = 6  # contents that may answer a question between them


@dataclass(frozen=True)
class RefusalDecision:
    """`score` 0 to 1, refused below `threshold`. `signals` are those of the content that came closest.

    `closest`: what to show instead of an answer, best first; empty where nothing is refused.
    """

    refused: bool
    score: float
    threshold: float
    signals: Mapping[str, float]
    closest: tuple[Content, ...] = ()


class RefusalCheck:
    """Decides by the scores that the contents carry already; searches nothing.

    tokenizer  the embedding model's, or a callable that gives it
    """

    def __init__(
        self,
        tokenizer: TokenCountEstimator | Callable[[], TokenCountEstimator],
        *,
        threshold: float = THRESHOLD,
        threshold_alone: float = THRESHOLD_ALONE,
    ) -> None:
        for name, value in (("threshold", threshold), ("threshold_alone", threshold_alone)):
            if not 0 <= value <= 1:
                raise ConfigError(f"{name}={value} must be between 0 and 1")
        self._tokenizer = tokenizer
        self._threshold = threshold
        self._threshold_alone = threshold_alone

    def decide(self, augmented: AugmentationResult) -> RefusalDecision:
        """Of several queries (a follow-up alone, and with the turn before) the one that is answered best counts.

        Small talk and questions about whole documents are never refused; a search that found nothing always is.
        """
        if augmented.trace.decision != "search":
            return RefusalDecision(False, 1.0, 0.0, {})
        # A retriever that failed proves nothing about the documents.
        judged = [self._judge(run.query, run.contents) for run in augmented.trace.runs if run.contents]
        if not judged:
            return RefusalDecision(not augmented.trace.failures, 0.0, self._threshold, {})
        score, threshold, signals = max(judged, key=lambda found: found[0] - found[1])
        refused = score < threshold and not augmented.trace.failures
        return RefusalDecision(refused, score, threshold, signals, augmented.contents[:_CLOSEST] if refused else ())

    def _judge(self, query: str, contents: Sequence[Content]) -> tuple[float, float, dict[str, float]]:
        """(score, threshold, signals) of the content that comes closest."""
        has_cosine = any("cosine" in content.scores for content in contents)
        has_words = any("coverage" in content.scores for content in contents)
        if not has_cosine and not has_words:
            return 1.0, 0.0, {}  # a retriever of another kind: nothing to judge by
        readable = self._readable(query) if has_cosine else 0.0
        if not has_words:
            best = max(content.scores.get("cosine", 0.0) for content in contents)
            # What the model can't read it can't judge either.
            return (best if readable > 0.5 else 1.0), self._threshold_alone, {"cosine": best, "readable": readable}
        together = _coverage_together(contents[:_TOGETHER])
        best_score, signals = -1.0, {}
        for content in contents:
            cosine, coverage = content.scores.get("cosine", 0.0), max(together, _coverage(content))
            score = (readable * cosine + coverage) / (readable + 1)
            if score > best_score:
                best_score, signals = score, {"cosine": cosine, "coverage": coverage, "readable": readable}
        return max(0.0, best_score), self._threshold if has_cosine else self._threshold_alone, signals

    def _readable(self, query: str) -> float:
        return readable_share(query, self._tokenizer if hasattr(self._tokenizer, "offsets") else self._tokenizer())


def _coverage_together(contents: Sequence[Content]) -> float:
    """The coverage of contents that hold different names with a digit ("V2", "P1"); 0 where one of them holds all.

    Careful: of each further content only the share of its words that are new names is added.
    """
    names = [{word for word in content.matched_terms if any(map(str.isdigit, word))} for content in contents]
    found = set().union(*names)
    if found in names or not found:
        return 0.0
    together, seen = 0.0, set()
    for content, held in sorted(zip(contents, names, strict=True), key=lambda pair: -_coverage(pair[0])):
        new = held - seen
        if new:
            together += _coverage(content) * (len(new) / len(content.matched_terms) if seen else 1)
        seen |= held
    return min(1.0, together)


def _coverage(content: Content) -> float:
    return content.scores.get("coverage", 0.0)
