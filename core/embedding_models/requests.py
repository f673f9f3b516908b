"""What every embedding model shares: the short forms of `embed_request`, the refusal of what it can't do, and the mean
that stands for a text longer than the model reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.domain import Embedding, EmbeddingRequest, EmbeddingResponse, TextSegment
from core.errors import ConfigError, ModelError, UnsupportedFeatureError
from core.protocols import TokenCountEstimator
from core.text.windows import windows

PARAMETERS = ("input_type", "dimensions")
INPUT_TYPES = ("query", "document")


class EmbeddingShortcuts:
    """`embed` and `embed_all` for a class that has `embed_request`; both send no parameters."""

    def embed(self, text: str | TextSegment) -> Embedding:
        return self.embed_all([text])[0]

    def embed_all(self, segments: Sequence[str | TextSegment]) -> list[Embedding]:
        """One embedding a segment, in order; [] gives []."""
        texts = tuple(item if isinstance(item, str) else item.text_to_embed for item in segments)
        response: EmbeddingResponse = self.embed_request(EmbeddingRequest(texts))  # type: ignore[attr-defined]
        return [Embedding(row) for row in response.vectors]

    def supported_content_types(self) -> frozenset[str]:
        return frozenset({"text"})


def check_request(request: EmbeddingRequest, *, model: str, supported: frozenset[str]) -> None:
    """Refuses a parameter or content type that the model doesn't have, before anything is computed.

    raises  UnsupportedFeatureError; ConfigError for an input type that nobody has or dimensions below 1
    """
    for name in PARAMETERS:
        if getattr(request, name) is not None and name not in supported:
            has = ", ".join(sorted(supported)) or "none"
            raise UnsupportedFeatureError(
                f"embedding model {model!r} doesn't support {name}={getattr(request, name)!r}; it supports {has}"
            )
    if request.input_type is not None and request.input_type not in INPUT_TYPES:
        raise ConfigError(f"input_type={request.input_type!r} must be 'query', 'document' or None")
    if request.dimensions is not None and request.dimensions < 1:
        raise ConfigError(f"dimensions={request.dimensions} must be at least 1")
    for item in request.inputs:
        if not isinstance(item, str):
            raise UnsupportedFeatureError(f"embedding model {model!r} reads text, not {type(item).__name__}")


def readable_parts(
    texts: Sequence[str], counts: Sequence[int], tokenizer: TokenCountEstimator, limit: int
) -> tuple[list[str], list[int]]:
    """The texts, each one of more than `limit` tokens as several windows; beside each part the number of its text."""
    parts: list[str] = []
    owners: list[int] = []
    for owner, (text, count) in enumerate(zip(texts, counts, strict=True)):
        found = [text] if count <= limit else windows(text, tokenizer, limit)
        parts.extend(found)
        owners.extend([owner] * len(found))
    return parts, owners


def means(vectors: np.ndarray, owners: Sequence[int], count: int) -> np.ndarray:
    """One row a text: its parts' mean, length 1. `vectors` float32, shape (len(owners), dimension)."""
    if len(owners) == count:
        return vectors
    sums = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, np.asarray(owners), vectors)
    return unit_rows(sums)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1, float32. raises ModelError for a row that is zero, NaN or infinite."""
    vectors = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise ModelError("the embedding model gave a vector of length zero or with NaN in it; its files may be damaged")
    return vectors / lengths
