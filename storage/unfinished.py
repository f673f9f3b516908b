"""A long document while it's being read: its parts are kept one by one, and nobody can find them yet.

What is read lies in a text of its own, whose `building` names the model it's embedded for, beside the finished text of
the same bytes, if there is one. Its segments have generation 0. `publishing.py` makes it visible.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, insert, select, update

from core.domain import TextSegment
from core.errors import ConfigError, PartsGoneError
from core.records import NewPart, Unfinished
from storage.model_rows import ensured_model_id
from storage.tables import DOCUMENT_STORE, segments, text_parts, texts, vectors
from storage.text_parts import add_text_part
from storage.text_saving import new_uid, next_segment_id, own_keys_of, segment_values
from storage.text_use import FINISHED
from storage.vectors import to_blob, unit_rows


def unfinished_id(connection: Connection, content_hash: str, pipeline: str, model_id: str) -> int | None:
    return connection.execute(
        select(texts.c.id).where(
            texts.c.content_hash == content_hash, texts.c.pipeline == pipeline, texts.c.building == model_id
        )
    ).scalar()


def unfinished_ids(connection: Connection, content_hash: str, pipeline: str) -> list[int]:
    """Of all models."""
    query = select(texts.c.id).where(
        texts.c.content_hash == content_hash, texts.c.pipeline == pipeline, texts.c.building != FINISHED
    )
    return list(connection.execute(query).scalars())


def count_parts(connection: Connection, text_id: int) -> int:
    query = select(func.count()).select_from(text_parts).where(text_parts.c.text_id == text_id)
    return connection.execute(query).scalar_one()


def unfinished_parts(connection: Connection, content_hash: str, pipeline: str, model_id: str) -> Unfinished | None:
    text_id = unfinished_id(connection, content_hash, pipeline, model_id)
    if text_id is None:
        return None
    columns = (text_parts.c.number, text_parts.c.after)
    last = connection.execute(
        select(*columns).where(text_parts.c.text_id == text_id).order_by(text_parts.c.number.desc()).limit(1)
    ).one()
    characters = connection.execute(select(texts.c.characters).where(texts.c.id == text_id)).scalar_one()
    count = select(func.count()).select_from(segments).where(segments.c.text_id == text_id)
    return Unfinished(last.number + 1, characters, connection.execute(count).scalar_one(), last.after)


def add_part(connection: Connection, part: NewPart, fault: Callable[[str], None]) -> None:
    """Keep a part, in the write transaction of the caller; one that is kept already stays as it is.

    Where somebody else has published the whole meanwhile, nothing is kept: publishing will link to that.

    raises  PartsGoneError where the parts before this one are gone
    """
    text_id = unfinished_id(connection, part.content_hash, part.pipeline, part.model_id)
    if text_id is None and part.number == 0:
        text_id = _begin(connection, part)
    if text_id is None:
        return _refuse_unless_finished(connection, part)
    last = connection.execute(select(func.max(text_parts.c.number)).where(text_parts.c.text_id == text_id)).scalar()
    following = 0 if last is None else last + 1
    if part.number < following:
        return
    row = connection.execute(select(texts.c.characters, texts.c.segment_keys).where(texts.c.id == text_id)).one()
    if part.number > following or part.start != row.characters:
        return _refuse_unless_finished(connection, part)
    add_text_part(
        connection, text_id, part.number, part.start, part.document.text, part.document.marks, after=part.after
    )
    fault("part's text written")
    keys = _add_segments(connection, text_id, part, fault)
    connection.execute(
        update(texts)
        .where(texts.c.id == text_id)
        .values(
            characters=part.start + len(part.document.text),
            segment_keys=sorted(keys.union(row.segment_keys)),
            seen=time.time(),
        )
    )
    fault("part written")


def checked_vectors(
    name: str, segments: Sequence[TextSegment], vectors: np.ndarray, terms: Sequence[str]
) -> np.ndarray:
    """The vectors, of length 1. raises ConfigError where they, or the terms, aren't one per segment, or don't fit."""
    if not len(segments) == len(vectors) == len(terms):
        raise ConfigError(
            f"{name!r} has {len(segments)} segments, {len(vectors)} vectors and {len(terms)} rows of "
            "terms; there must be one of each per segment"
        )
    return unit_rows(vectors)


def part_name(part: NewPart) -> str:
    return part.document.metadata.get_string("file_name") or part.content_hash[:12]


def _begin(connection: Connection, part: NewPart) -> int:
    values: dict[str, Any] = {
        "content_hash": part.content_hash,
        "pipeline": part.pipeline,
        "building": part.model_id,
        "type": part.type,
        "characters": 0,
        "warnings": [],
        "segment_keys": [],
        "seen": time.time(),
    }
    return connection.execute(insert(texts).values(**values)).inserted_primary_key[0]


def _add_segments(connection: Connection, text_id: int, part: NewPart, fault: Callable[[str], None]) -> set[str]:
    """Returns the keys that the segments have of their own."""
    if not part.segments:
        return set()
    of_document = part.document.metadata.to_json()
    own = [own_keys_of(segment, of_document) for segment in part.segments]
    first = next_segment_id(connection)
    connection.execute(
        insert(segments),
        [
            {
                "id": first + number,
                "uid": new_uid(),
                "store": DOCUMENT_STORE,
                "generation": 0,
                **segment_values(segment, own[number], part.terms[number], text_id, number),
            }
            for number, segment in enumerate(part.segments)
        ],
    )
    fault("part's segments written")
    model = ensured_model_id(connection, part.model_id, part.vectors.shape[1])
    connection.execute(
        insert(vectors),
        [
            {"segment_id": first + number, "model_id": model, "vector": to_blob(row)}
            for number, row in enumerate(part.vectors)
        ],
    )
    fault("part's vectors written")
    return {"index"}.union(*own)


def _refuse_unless_finished(connection: Connection, part: NewPart) -> None:
    if unfinished_id(connection, part.content_hash, part.pipeline, FINISHED) is None:
        raise PartsGoneError(
            f"part {part.number} of {part_name(part)!r} doesn't follow what was kept of it before; add the file again"
        )
