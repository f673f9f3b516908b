from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.domain import Document
from core.splitters.blocks import block_units
from core.splitters.packing_splitter import PackingSplitter
from core.splitters.units import (
    LINE,
    PARAGRAPH,
    SENTENCE,
    WORD,
    Level,
    Unit,
    paragraphs,
    sentences,
    unwrapped_lines,
    words,
)


@dataclass(frozen=True)
class RecursiveSplitter(PackingSplitter):
    """Paragraph, line, sentence, word, character, coarse first; sections begin anew, tables and code stay whole."""

    levels = (
        Level(paragraphs, PARAGRAPH),
        Level(unwrapped_lines, LINE),
        Level(sentences, SENTENCE),
        Level(words, WORD),
    )

    def units(self, document: Document) -> Iterator[Unit]:
        return block_units(document, self.levels)
