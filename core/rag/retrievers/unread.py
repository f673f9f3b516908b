"""Contents that are ranked before they are read: of a hundred candidates the texts of the kept ones are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.domain import Content, TextSegment
from core.filters import Filter
from core.protocols import SegmentReader

UNREAD = TextSegment("")  # this very one stands in a content that wasn't read yet


def read(contents: Sequence[Content], reader: SegmentReader, filter: Filter | None) -> list[Content]:
    """The same with their segments; one that went away meanwhile, or that the filter holds back by now, is left out."""
    missing = [content.id for content in contents if content.segment is UNREAD]
    found = reader.read(missing, filter) if missing else {}
    whole = []
    for content in contents:
        if content.segment is not UNREAD:
            whole.append(content)
        elif content.id in found:
            document_id, segment = found[content.id]
            whole.append(replace(content, segment=segment, document_id=document_id))
    return whole
