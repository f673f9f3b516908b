"""What a GGUF file says about itself, read in milliseconds without loading it, and the memory that it will need.

Reads the key-value pairs at the file's start; the tensors behind them are left alone. Format:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from core.errors import ModelError
from core.model_catalogue.gguf import check_gguf

SETTING = "FOOTNOTE_CHAT_MODEL"

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_FINGERPRINT_BYTES = 1 << 20
_LONGEST_STRING = 1 << 24  # a chat template has some kilobytes; more is a damaged file


@dataclass(frozen=True)
class GgufHeader:
    """Metadata of a GGUF file. Arrays (the vocabulary) are skipped; their length is kept under "<key>.length"."""

    values: Mapping[str, Any]
    file_bytes: int

    @property
    def architecture(self) -> str:
        return str(self.values.get("general.architecture", ""))

    @property
    def chat_template(self) -> str:
        return str(self.values.get("tokenizer.chat_template", ""))

    @property
    def trained_context_tokens(self) -> int:
        """0 where the file doesn't say."""
        return self._number("context_length")

    @property
    def vocabulary(self) -> int:
        return int(self.values.get("tokenizer.ggml.tokens.length", 0)) or self._number("vocab_size")

    @property
    def cache_bytes_per_token(self) -> int:
        """Keys and values of one token in all layers, two bytes a number."""
        layers, width, heads = (
            self._number("block_count"),
            self._number("embedding_length"),
            self._number("attention.head_count"),
        )
        each = width // heads if heads else 0
        kv_heads = self._number("attention.head_count_kv") or heads
        key, value = self._number("attention.key_length") or each, self._number("attention.value_length") or each
        return 2 * layers * kv_heads * (key + value)

    def memory_bytes(self, context_tokens: int, *, batch_tokens: int = 512) -> int:
        """Estimate of what the loaded model takes: weights, cache, and room for computing."""
        computing = batch_tokens * (self.vocabulary + 8 * self._number("embedding_length")) * 4
        return self.file_bytes + context_tokens * self.cache_bytes_per_token + computing

    def _number(self, key: str) -> int:
        value = self.values.get(f"{self.architecture}.{key}", 0)
        return int(value) if isinstance(value, int | float) else 0


def file_fingerprint(path: Path) -> str:
    """Tells a model's file from every other without reading a gigabyte: SHA-256 of its size, beginning and end."""
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_FINGERPRINT_BYTES))
        file.seek(max(0, size - _FINGERPRINT_BYTES))
        digest.update(file.read(_FINGERPRINT_BYTES))
    return digest.hexdigest()[:32]


def read_gguf_header(path: Path) -> GgufHeader:
    """raises ModelError: one sentence for a missing file, a folder, a Git-LFS pointer, an old or a damaged file"""
    check_gguf(path, setting=SETTING)
    try:
        with path.open("rb") as file:
            return GgufHeader(_values(file, path.name), path.stat().st_size)
    except OSError as error:
        raise ModelError(f"the chat model {path.name!r} can't be read: {error.strerror}") from error
    except (struct.error, EOFError):
        raise ModelError(f"the chat model {path.name!r} is damaged or cut short; fetch it again") from None


def _values(file: BinaryIO, name: str) -> dict[str, Any]:
    version, _, count = struct.unpack("<4xIQQ", _exactly(file, 24))
    if not 2 <= version <= 3:
        raise ModelError(f"{name!r} is GGUF version {version}; versions 2 and 3 can be read")
    values: dict[str, Any] = {}
    for _ in range(count):
        key = _string(file)
        kind = _number(file, "<I")
        if kind == _ARRAY:
            values[f"{key}.length"] = _skip_array(file)
        else:
            values[key] = _value(file, kind)
    return values


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind not in _SCALARS:
        raise EOFError
    return _number(file, _SCALARS[kind])


def _skip_array(file: BinaryIO) -> int:
    kind, count = _number(file, "<I"), _number(file, "<Q")
    if kind == _STRING:
        for _ in range(count):
            file.seek(_number(file, "<Q"), 1)
    elif kind == _ARRAY:
        for _ in range(count):
            _skip_array(file)
    elif kind in _SCALARS:
        file.seek(count * struct.calcsize(_SCALARS[kind]), 1)
    else:
        raise EOFError
    return count


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, _exactly(file, struct.calcsize(form)))[0]


def _string(file: BinaryIO) -> str:
    size = _number(file, "<Q")
    if size > _LONGEST_STRING:
        raise EOFError
    return _exactly(file, size).decode("utf-8", "replace")


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise EOFError
    return data
