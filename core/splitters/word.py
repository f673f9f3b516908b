from __future__ import annotations

from dataclasses import dataclass

from core.splitters.packing_splitter import PackingSplitter
from core.splitters.units import WORD, Level, words


@dataclass(frozen=True)
class WordSplitter(PackingSplitter):
    """Words, packed; a longer one is cut at characters."""

    levels = (Level(words, WORD),)
