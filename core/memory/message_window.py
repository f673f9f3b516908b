"""A chat memory of the last so many messages."""

from __future__ import annotations

from core.domain import ChatMessage
from core.errors import ConfigError
from core.memory.in_memory_store import InMemoryChatMemoryStore
from core.memory.windows import with_added, within
from core.protocols import ChatMemoryStore


class MessageWindowChatMemory:
    """Keeps the last `max_messages`; the system message stays and doesn't count.

    id     which memory in the store
    store  where it is kept; a dictionary by default
    """

    def __init__(self, max_messages: int, *, id: str = "default", store: ChatMemoryStore | None = None) -> None:
        if max_messages < 1:
            raise ConfigError(f"max_messages={max_messages} must be at least 1")
        self.id, self.max_messages = id, max_messages
        self._store = store if store is not None else InMemoryChatMemoryStore()

    @classmethod
    def with_max_messages(
        cls, max_messages: int, *, id: str = "default", store: ChatMemoryStore | None = None
    ) -> MessageWindowChatMemory:
        return cls(max_messages, id=id, store=store)

    def add(self, message: ChatMessage) -> None:
        kept = with_added(self._store.get_messages(self.id), message)
        self._store.update_messages(self.id, within(kept, lambda turns: len(turns) <= self.max_messages))

    def messages(self) -> list[ChatMessage]:
        """Oldest first, the system message in front."""
        kept = self._store.get_messages(self.id)
        return within(kept, lambda turns: len(turns) <= self.max_messages)

    def clear(self) -> None:
        self._store.delete_messages(self.id)
