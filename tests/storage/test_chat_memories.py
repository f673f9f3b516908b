"""Memories of the library's Assistant are there after a restart."""

from core.domain import ChatMessage
from core.protocols import ChatMemoryStore
from storage.chat_memories import SqliteChatMemoryStore
from storage.database import Database

TURN = [ChatMessage("user", "Who is\r\nMira?"), ChatMessage("assistant", "The office cat.")]


def test_memories_are_kept_by_their_id(tmp_path):
    with Database(tmp_path) as database:
        store: ChatMemoryStore = SqliteChatMemoryStore(database)
        store.update_messages("ann", TURN[:1])
        store.update_messages("ann", TURN)
        store.update_messages("bob", TURN[:1])
    with Database(tmp_path) as database:
        store = SqliteChatMemoryStore(database)
        assert (store.get_messages("ann"), store.get_messages("bob"), store.get_messages("eve")) == (TURN, TURN[:1], [])
        store.delete_messages("ann")
        assert (store.get_messages("ann"), store.get_messages("bob")) == ([], TURN[:1])
