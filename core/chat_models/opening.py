"""From the setting to a chat model."""

from __future__ import annotations

from pathlib import Path

from core import model_catalogue
from core.chat_models.echo import EchoChatModel
from core.chat_models.llama_cpp import LlamaCppChatModel
from core.protocols import ChatModel


def open_chat_model(
    name: str,
    models_dir: Path,
    *,
    context_tokens: int = 4096,
    threads: int = 0,
    gpu_layers: int = 0,
    drafting: str = "auto",
) -> ChatModel:
    """The model that `name` means: 'echo', a name of the catalogue, or the path of a GGUF file.

    Nothing is loaded yet. raises UnknownNameError, or ModelError for a model that isn't here, with what to do about it.
    """
    if name == "echo":
        # A pause, so that a person who looks at the app without a model sees it stream.
        return EchoChatModel(context_tokens=context_tokens, delay_s=0.03)
    path = model_catalogue.locate(name, models_dir, kind="chat")
    return LlamaCppChatModel(
        path,
        name=Path(name).stem,
        context_tokens=context_tokens,
        threads=threads,
        gpu_layers=gpu_layers,
        drafting=drafting,
    )
