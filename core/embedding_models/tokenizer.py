"""Counting with a fast Hugging Face tokenizer: no truncation, no padding, no special tokens, no warnings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


_SURROGATE = re.compile("[\ud800-\udfff]")


class FastTokenizer:
    """A `TokenCountEstimator`. Keeps a copy of its own: truncation set on a shared one would change under our feet, and
    a shared one can't be used by two threads while a third sets it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(_encodable(text), add_special_tokens=False).ids)

    def count_all(self, texts: Sequence[str]) -> list[int]:
        encodings = self._tokenizer.encode_batch_fast([_encodable(text) for text in texts], add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return self._tokenizer.encode(_encodable(text), add_special_tokens=False).offsets

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """As the model reads them, special tokens included."""
        return self._tokenizer.encode_batch_fast([_encodable(text) for text in texts], add_special_tokens=True)

    @property
    def special_tokens(self) -> int:
        """How many the model adds to one text."""
        return self._tokenizer.num_special_tokens_to_add(is_pair=False)


def _encodable(text: str) -> str:
    """Lone surrogates, which no tokenizer takes, become U+FFFD one by one, so that offsets stay true."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
