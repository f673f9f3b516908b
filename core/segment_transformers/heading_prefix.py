"""What a segment is about, put in front of what is embedded; what is shown stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.domain import TextSegment
from core.errors import ConfigError
from core.protocols import TokenCountEstimator

SEPARATOR = " > "


@dataclass(frozen=True)
class HeadingPrefix:
    """Title and heading path in front of the embedded text, shortened so that all of it fits the embedding model.

    keys               metadata in this order; ("file_name",) gives the file name in front
    max_tokens         what the embedding model reads; prefix and text together stay within it
    max_prefix_tokens  longest prefix; the splitter keeps so much room free (`core.pipeline`)
    estimator          the embedding model's tokenizer
    """

    estimator: TokenCountEstimator
    max_tokens: int
    keys: Sequence[str] = ("title", "heading_path")
    max_prefix_tokens: int = 32

    def __post_init__(self) -> None:
        if self.max_prefix_tokens < 1:
            raise ConfigError(f"max_prefix_tokens={self.max_prefix_tokens} must be at least 1")

    def transform(self, segment: TextSegment) -> TextSegment:
        """The segment with an `embedded_text`; unchanged where there is nothing to say that it doesn't say itself."""
        text = segment.text_to_embed
        parts = self._parts(segment, text)
        if not parts:
            return segment
        room = min(self.max_prefix_tokens, self.max_tokens - self.estimator.count(text))
        while prefix := self._shortened(parts, room):
            embedded = f"{prefix}\n{text}"
            # Joined, two texts can be a token more than both alone.
            if self.estimator.count(embedded) <= self.max_tokens:
                return replace(segment, embedded_text=embedded)
            room -= 1
        return segment

    def _parts(self, segment: TextSegment, text: str) -> list[str]:
        """The parts of the prefix without repetitions, and without the heading that the text itself begins with."""
        values = [segment.metadata.get_string(key) or "" for key in self.keys]
        parts = [part.strip() for value in values for part in value.split(SEPARATOR) if part.strip()]
        own = text.split("\n", 1)[0].strip(" \t#*=-").casefold()
        return [part for part in dict.fromkeys(parts) if part.casefold() != own]

    def _shortened(self, parts: list[str], room: int) -> str:
        """The last parts say most; the first ones go first, then the words of the last."""
        while len(parts) > 1 and self._size(SEPARATOR.join(parts)) > room:
            parts = parts[1:]
        words = SEPARATOR.join(parts).split()
        while words and self._size(" ".join(words)) > room:
            words.pop()
        return " ".join(words)

    def _size(self, prefix: str) -> int:
        # The line break is a token in some tokenizers.
        return self.estimator.count(f"{prefix}\n")
