"""Hashed bags of words: vectors without a model. It ships so that tests, and people without a model, patch nothing."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np

from core.domain import EmbeddingRequest, EmbeddingResponse, TokenUsage
from core.embedding_models.requests import EmbeddingShortcuts, check_request, unit_rows
from core.errors import ConfigError

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
# A long word is several tokens, as with real tokenizers; Chinese, Japanese and Korean are one a character.
_TOKEN = re.compile(rf"[{_CJK}]|(?:(?![{_CJK}])\w){{1,12}}|[^\w\s]")


class WordTokenizer:
    """Words of up to 12 characters, single CJK characters and signs."""

    def count(self, text: str) -> int:
        return len(_TOKEN.findall(text))

    def count_all(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in _TOKEN.finditer(text)]


@dataclass(frozen=True)
class HashingEmbeddingModel(EmbeddingShortcuts):
    """Words and word pairs, hashed into a vector: no model needed, no meaning understood; for tests and try-outs."""

    dimension: int = 384
    max_tokens: int = 512
    tokenizer: WordTokenizer = field(default_factory=WordTokenizer, repr=False)

    def __post_init__(self) -> None:
        if self.dimension < 2:
            raise ConfigError(f"dimension={self.dimension} must be at least 2")

    @property
    def model_id(self) -> str:
        return f"hashing-1-{self.dimension}"

    def supported_parameters(self) -> frozenset[str]:
        return frozenset({"dimensions"})

    def embed_request(self, request: EmbeddingRequest) -> EmbeddingResponse:
        """Deterministic: the same text gives the same vector on every machine. Nothing is cut, however long.

        dimensions  2 to `dimension`
        """
        check_request(request, model="hashing", supported=self.supported_parameters())
        dimension = request.dimensions or self.dimension
        if not 2 <= dimension <= self.dimension:
            raise ConfigError(f"dimensions={dimension} must be between 2 and {self.dimension}")
        vectors = np.zeros((len(request.inputs), dimension), dtype=np.float32)
        counts = []
        for row, text in zip(vectors, request.inputs, strict=True):
            found = _TOKEN.findall(text.lower())
            counts.append(len(found))
            for feature, count in _features(found).items():
                place, sign = _place(feature)
                row[place % dimension] += sign * count**0.5
            if not row.any():  # a blank text, or features that cancel out
                row[0] = 1.0
        return EmbeddingResponse(unit_rows(vectors), TokenUsage(sum(counts)), tuple(counts))


def _features(tokens: list[str]) -> Counter[str]:
    words = [token for token in tokens if token[0].isalnum()] or tokens
    return Counter(words) + Counter(f"{a} {b}" for a, b in pairwise(words))


@lru_cache(maxsize=65_536)
def _place(feature: str) -> tuple[int, float]:
    code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
    # Bits that decide the sign aren't used for the place.
    return code >> 1, 1.0 if code & 1 else -1.0
