"""What all splitters here share: options, and the way from a document to segments. A splitter only names its levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from core.domain import Document, TextSegment
from core.errors import ConfigError
from core.protocols import TokenCountEstimator
from core.splitters.fitting import fit
from core.splitters.packing import pack
from core.splitters.positions import Positions
from core.splitters.units import Level, Unit
from core.text.measure import CharacterMeasure, TokenMeasure


@dataclass(frozen=True)
class PackingSplitter:
    """Cuts by `levels`, from coarse to fine, and packs the units into segments.

    max_segment_size  most of one segment: tokens of `estimator`, counted on the slice itself, or characters without one
    max_overlap_size  most that a segment repeats of the one before; below max_segment_size
    estimator         the tokenizer that counts, usually the embedding model's
    raises            ConfigError for sizes that can't be
    """

    levels: ClassVar[tuple[Level, ...]] = ()

    max_segment_size: int = 1000
    max_overlap_size: int = 0
    estimator: TokenCountEstimator | None = None

    def __post_init__(self) -> None:
        if self.max_segment_size < 1:
            raise ConfigError(f"max_segment_size={self.max_segment_size} must be at least 1")
        if not 0 <= self.max_overlap_size < self.max_segment_size:
            raise ConfigError(
                f"max_overlap_size={self.max_overlap_size} must be at least 0 and below "
                f"max_segment_size={self.max_segment_size}"
            )

    def split(self, document: Document) -> list[TextSegment]:
        """Segments in order, each an exact slice with the document's metadata, its place and `index` 0, 1, 2 …

        Blanks at the ends of a slice are left out; a blank document gives []. Time is linear in the text's length.
        """
        positions = Positions(document)
        segments = []
        for index, (start, end) in enumerate(self._spans(document)):
            metadata = document.metadata.copy().put_all(positions.of(start, end)).put("index", index)
            segments.append(TextSegment(document.text[start:end], metadata, start=start, end=end))
        return segments

    def split_all(self, documents: Iterable[Document]) -> list[TextSegment]:
        return [segment for document in documents for segment in self.split(document)]

    def units(self, document: Document) -> Iterator[Unit]:
        """The coarsest units: here the whole text as one, to be cut by `levels`."""
        return iter((Unit(0, len(document.text), 0, self.levels),))

    def _spans(self, document: Document) -> list[tuple[int, int]]:
        text, limit = document.text, self.max_segment_size
        estimator = self.estimator
        measure = TokenMeasure(text, estimator) if estimator else CharacterMeasure(text)
        spans = pack(text, self.units(document), measure, limit=limit, overlap=self.max_overlap_size)
        return fit(text, spans, estimator, limit) if estimator else spans
