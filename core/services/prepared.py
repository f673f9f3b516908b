"""A stretch of a file on its way through the threads: read and split, then embedded, then kept."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from core.domain import TextSegment, text_hash
from core.parsers.parts import DocumentPart
from core.services.running_jobs import PROGRESS_EVERY_S, RunningJob

# A small file only waits for its turn; hundreds of them at once are told of less often.
_SMALL_SEGMENTS, _SMALL_EVERY_S = 16, 2.0
# Of the work on one part: how far it is at the end of each step.
READ, SPLIT, EMBEDDED, SAVING = 0.30, 0.35, 0.95, 0.96


@dataclass
class Prepared:
    """`part` with its segments, whose places count from the beginning of the document.

    number         of the part among those that are kept; those without text aren't
    earlier_share  of the file, and earlier_pages, before this part
    vectors        filled in by embedding, float32, shape (len(segments), dimension); None for a file that was stopped
    tokens         embedded for this part; embedded: how many of its segments have a vector
    """

    job: RunningJob
    part: DocumentPart
    segments: list[TextSegment]
    number: int = 0
    earlier_share: float = 0.0
    earlier_pages: int = 0
    vectors: np.ndarray | None = None
    tokens: int = 0
    embedded: int = 0
    hashes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.hashes = [text_hash(segment.text_to_embed) for segment in self.segments]

    @property
    def is_whole(self) -> bool:
        """The whole document in one part."""
        return self.number == 0 and self.part.is_last

    def report(self, step: float, phase: str) -> None:
        """step: how far the work on this part is, 0 to 1."""
        share = self.earlier_share + (self.part.share - self.earlier_share) * step
        if self.part.pages and not self.is_whole:
            done, total = self.part.pages
            page = self.earlier_pages + round((done - self.earlier_pages) * step)
            phase = f"{phase}, page {page:,} of {total:,}"
        is_small = self.is_whole and len(self.segments) < _SMALL_SEGMENTS
        self.job.report(share, phase, every_s=_SMALL_EVERY_S if is_small else PROGRESS_EVERY_S)

    def report_embedded(self) -> None:
        self.report(SPLIT + (EMBEDDED - SPLIT) * self.embedded / max(1, len(self.segments)), "embedding")
