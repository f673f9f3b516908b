from __future__ import annotations

from dataclasses import dataclass

from core.splitters.packing_splitter import PackingSplitter
from core.splitters.units import PARAGRAPH, SENTENCE, WORD, Level, paragraphs, sentences, words


@dataclass(frozen=True)
class ParagraphSplitter(PackingSplitter):
    """Paragraphs (blank lines between them), packed; a longer one is cut at sentences, words, characters."""

    levels = (Level(paragraphs, PARAGRAPH), Level(sentences, SENTENCE), Level(words, WORD))
