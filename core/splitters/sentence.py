from __future__ import annotations

from dataclasses import dataclass

from core.splitters.packing_splitter import PackingSplitter
from core.splitters.units import SENTENCE, WORD, Level, sentences, words


@dataclass(frozen=True)
class SentenceSplitter(PackingSplitter):
    """Sentences, packed; a longer one is cut at words, characters."""

    levels = (Level(sentences, SENTENCE), Level(words, WORD))
