from __future__ import annotations

from dataclasses import dataclass

from core.splitters.packing_splitter import PackingSplitter


@dataclass(frozen=True)
class CharacterSplitter(PackingSplitter):
    """Characters, as many as fit; accents, emoji and flags aren't torn apart."""
