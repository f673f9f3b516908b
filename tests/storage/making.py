"""Small documents made by hand for the tests of the storage."""

import hashlib

import numpy as np

from core.domain import Document, TextSegment, text_hash
from core.metadata import Metadata
from core.records import FinishedDocument, NewDocument, NewPart

MODEL = "test-model"


def vector_of(text, dimension=8):
    """A unit vector that depends on the text alone; different texts point elsewhere."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little")
    vector = np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
    return vector / np.linalg.norm(vector)


def new_document(text, name="a.txt", *, source=None, collection="default", metadata=None, own=None, **changes):
    """One segment a line. `own` maps a line to metadata of its segment."""
    document_metadata = Metadata(metadata or {}).put("file_name", name)
    segments, start = [], 0
    for line in text.splitlines(keepends=True):
        of_segment = document_metadata.copy().put("index", len(segments)).put_all((own or {}).get(line.strip(), {}))
        segments.append(TextSegment(line, of_segment, start, start + len(line)))
        start += len(line)
    values = dict(
        source=source or f"upload:{name}",
        name=name,
        collection=collection,
        type="text",
        content_hash=text_hash(text),
        size=len(text.encode("utf-8", "surrogatepass")),
        document=Document(text, document_metadata),
        segments=tuple(segments),
        vectors=np.array([vector_of(segment.text_to_embed) for segment in segments]),
        terms=tuple(segment.text.lower().strip() for segment in segments),
        model_id=MODEL,
        pipeline="p1",
    )
    return NewDocument(**(values | changes))


def parts_of(text, name="long.txt", *, lines=2, **changes):
    """The same document in parts of so many lines each, as `NewPart`."""
    model_id, pipeline = changes.pop("model_id", MODEL), changes.pop("pipeline", "p1")
    whole = new_document(text, name, **changes)
    parts = []
    for number, first in enumerate(range(0, len(whole.segments), lines)):
        rows = slice(first, first + lines)
        held = whole.segments[rows]
        start = held[0].start
        parts.append(
            NewPart(
                content_hash=whole.content_hash,
                pipeline=pipeline,
                model_id=model_id,
                type=whole.type,
                number=number,
                start=start,
                document=Document(text[start : held[-1].end], whole.document.metadata.copy()),
                segments=held,
                vectors=whole.vectors[rows],
                terms=whole.terms[rows],
                after={"line": first + lines},
            )
        )
    return parts


def finished_document(text, name="long.txt", *, metadata=None, **changes):
    """What `publish` is given once the parts of `parts_of` are kept."""
    values = dict(
        source=f"upload:{name}",
        name=name,
        collection="default",
        type="text",
        content_hash=text_hash(text),
        size=len(text.encode("utf-8", "surrogatepass")),
        metadata=Metadata(metadata or {}).put("file_name", name),
        model_id=MODEL,
        pipeline="p1",
    )
    return FinishedDocument(**(values | changes))
