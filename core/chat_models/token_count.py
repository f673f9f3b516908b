"""A chat model's tokenizer as a `core.protocols.TokenCountEstimator`: for splitters and memories that count with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Tokenizes(Protocol):
    """A chat model that can say where its tokens lie; all of the registry can."""

    def count_tokens(self, text: str) -> int: ...

    def token_spans(self, text: str) -> list[tuple[int, int]]: ...


class ChatModelTokenCount:
    """Counts with a chat model. As the model, it belongs to one owner at a time."""

    def __init__(self, model: Tokenizes) -> None:
        self._model = model

    def count(self, text: str) -> int:
        return self._model.count_tokens(text)

    def count_all(self, texts: Sequence[str]) -> list[int]:
        return [self._model.count_tokens(text) for text in texts]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """(start, end) in characters of each token. Tokens that share a character overlap there."""
        return self._model.token_spans(text)
