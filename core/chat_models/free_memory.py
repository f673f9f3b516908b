"""Does a model fit into the memory that is free? Asked before it is loaded: afterwards the system kills the app."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.chat_models.gguf_header import GgufHeader
from core.errors import ModelError

_SPARE_BYTES = 256 << 20  # left to everything else on the machine


def refuse_too_large(
    header: GgufHeader, name: str, *, context_tokens: int, batch_tokens: int, free_bytes: Callable[[], int]
) -> None:
    """raises  ModelError with the context that would fit, or the advice to take a smaller model"""
    need, free = header.memory_bytes(context_tokens, batch_tokens=batch_tokens), free_bytes()
    if need + _SPARE_BYTES <= free:
        return
    per_token = max(header.cache_bytes_per_token, 1)
    fits = (free - _SPARE_BYTES - header.memory_bytes(0, batch_tokens=batch_tokens)) // per_token
    advice = f"set FOOTNOTE_CONTEXT_TOKENS to {fits // 512 * 512} or less" if fits >= 512 else "choose a smaller model"
    raise ModelError(
        f"the chat model {name!r} with a context of {context_tokens} tokens needs about "
        f"{need / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free; {advice}"
    )


def free_bytes() -> int:
    """Of the machine, or of the container where that is less."""
    import psutil

    free = psutil.virtual_memory().available
    # A container's limit (cgroup v2) may be lower than the machine's memory.
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return free
    return free if limit == "max" else min(free, int(limit) - int(used))
