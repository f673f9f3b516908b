"""Chat models by name. Each is `core.protocols.ChatModel`; one owner at a time."""

from core.chat_models.echo import EchoChatModel
from core.chat_models.llama_cpp import LlamaCppChatModel

CHAT_MODELS = {"echo": EchoChatModel, "llama_cpp": LlamaCppChatModel}
