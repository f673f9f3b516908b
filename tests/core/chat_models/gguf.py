"""Small GGUF files made by hand: a header with key-value pairs and no tensors."""

from __future__ import annotations

import struct
from pathlib import Path

LLAMA = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.context_length": 131072,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": ["<unk>", "a", "b"],
    "tokenizer.chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
}


def write_gguf(path: Path, values: dict = LLAMA, *, version: int = 3) -> Path:
    pairs = b"".join(_string(key) + _typed(value) for key, value in values.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", version, 0, len(values)) + pairs)
    return path


def _typed(value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
