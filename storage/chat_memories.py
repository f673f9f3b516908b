"""What an Assistant of the library remembers, by memory id: `core.protocols.ChatMemoryStore` over SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.dialects.sqlite import insert

from core.domain import ChatMessage
from storage.database import Database
from storage.neutral import neutral_text
from storage.tables import chat_memories


class SqliteChatMemoryStore:
    """Survives a restart. An unknown id remembers nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_messages(self, memory_id: str) -> list[ChatMessage]:
        with self._database.read() as connection:
            kept = connection.execute(select(chat_memories.c.messages).where(chat_memories.c.id == memory_id)).scalar()
        return [ChatMessage(role, text) for role, text in kept or ()]

    def update_messages(self, memory_id: str, messages: Sequence[ChatMessage]) -> None:
        values = [[message.role, neutral_text(message.text, keep_returns=True)] for message in messages]
        statement = insert(chat_memories).values(id=memory_id, messages=values)
        statement = statement.on_conflict_do_update(
            index_elements=["id"], set_={"messages": statement.excluded.messages}
        )
        with self._database.write() as connection:
            connection.execute(statement)

    def delete_messages(self, memory_id: str) -> None:
        with self._database.write() as connection:
            connection.execute(delete(chat_memories).where(chat_memories.c.id == memory_id))
