"""Chat memories kept in a dictionary, gone with the process. The database's store is in `storage/`."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from core.domain import ChatMessage


class InMemoryChatMemoryStore:
    """Messages by memory id. Thread-safe."""

    def __init__(self) -> None:
        self._messages: dict[str, tuple[ChatMessage, ...]] = {}
        self._lock = threading.Lock()

    def get_messages(self, memory_id: str) -> list[ChatMessage]:
        with self._lock:
            return list(self._messages.get(memory_id, ()))

    def update_messages(self, memory_id: str, messages: Sequence[ChatMessage]) -> None:
        with self._lock:
            self._messages[memory_id] = tuple(messages)

    def delete_messages(self, memory_id: str) -> None:
        with self._lock:
            self._messages.pop(memory_id, None)
