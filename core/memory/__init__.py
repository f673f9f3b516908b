"""Chat memories by name. Each is `core.protocols.ChatMemory`."""

from core.memory.in_memory_store import InMemoryChatMemoryStore
from core.memory.message_window import MessageWindowChatMemory
from core.memory.token_window import TokenWindowChatMemory

CHAT_MEMORIES = {"message_window": MessageWindowChatMemory, "token_window": TokenWindowChatMemory}

__all__ = ["CHAT_MEMORIES", "InMemoryChatMemoryStore", "MessageWindowChatMemory", "TokenWindowChatMemory"]
