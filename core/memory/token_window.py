"""A chat memory of as many last messages as fit in so many tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from core.domain import ChatMessage
from core.errors import ConfigError
from core.memory.in_memory_store import InMemoryChatMemoryStore
from core.memory.windows import with_added, within
from core.protocols import ChatMemoryStore


class CountsTokens(Protocol):
    """A tokenizer (`core.protocols.TokenCountEstimator`) fits."""

    def count(self, text: str) -> int: ...


class TokenWindowChatMemory:
    """Keeps the last messages of at most `max_tokens` together; the system message stays and doesn't count.

    estimator  counts with the tokenizer of the model that will read them
    """

    def __init__(
        self, max_tokens: int, estimator: CountsTokens, *, id: str = "default", store: ChatMemoryStore | None = None
    ) -> None:
        if max_tokens < 1:
            raise ConfigError(f"max_tokens={max_tokens} must be at least 1")
        self.id, self.max_tokens, self._estimator = id, max_tokens, estimator
        self._store = store if store is not None else InMemoryChatMemoryStore()

    @classmethod
    def with_max_tokens(
        cls, max_tokens: int, estimator: CountsTokens, *, id: str = "default", store: ChatMemoryStore | None = None
    ) -> TokenWindowChatMemory:
        return cls(max_tokens, estimator, id=id, store=store)

    def add(self, message: ChatMessage) -> None:
        kept = with_added(self._store.get_messages(self.id), message)
        self._store.update_messages(self.id, within(kept, self._fits))

    def messages(self) -> list[ChatMessage]:
        """Oldest first, the system message in front."""
        return within(self._store.get_messages(self.id), self._fits)

    def clear(self) -> None:
        self._store.delete_messages(self.id)

    def _fits(self, turns: Sequence[ChatMessage]) -> bool:
        return sum(self._estimator.count(turn.text) for turn in turns) <= self.max_tokens
