from __future__ import annotations

from dataclasses import dataclass

from core.splitters.packing_splitter import PackingSplitter
from core.splitters.units import LINE, SENTENCE, WORD, Level, lines, sentences, words


@dataclass(frozen=True)
class LineSplitter(PackingSplitter):
    """Lines, packed; a longer one is cut at sentences, words, characters."""

    levels = (Level(lines, LINE), Level(sentences, SENTENCE), Level(words, WORD))
