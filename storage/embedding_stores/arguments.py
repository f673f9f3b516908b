"""What `add`, `add_all` and `remove_all` were called with: one meaning for every store, or one sentence why not."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.domain import Embedding, TextSegment
from core.errors import ConfigError
from core.filters import Filter
from storage.vectors import unit_vector


@dataclass(frozen=True)
class NewEntry:
    """`vector`: shape (dimension,), float32, length 1."""

    id: str
    vector: np.ndarray
    segment: TextSegment | None


def one_entry(args: tuple) -> NewEntry:
    """From add(embedding), add(id, embedding) or add(embedding, segment)."""
    if len(args) == 1:
        return _entry(None, args[0], None)
    if len(args) == 2 and isinstance(args[0], str):
        return _entry(args[0], args[1], None)
    if len(args) == 2:
        return _entry(None, args[0], args[1])
    raise ConfigError("use add(embedding), add(id, embedding) or add(embedding, segment)")


def many_entries(args: tuple) -> list[NewEntry]:
    """From add_all(embeddings), add_all(embeddings, segments) or add_all(ids, embeddings, segments)."""
    if not 1 <= len(args) <= 3 or not all(_is_list(arg) for arg in args):
        raise ConfigError(
            "use add_all(embeddings), add_all(embeddings, segments) or add_all(ids, embeddings, segments)"
        )
    lengths = [len(arg) for arg in args]
    if len(set(lengths)) > 1:
        raise ConfigError(f"add_all needs lists of one length, not of {', '.join(map(str, lengths))}")
    nothing = [None] * lengths[0]
    ids, embeddings, segments = (nothing, *args, nothing)[:3] if len(args) < 3 else args
    return [_entry(*entry) for entry in zip(ids, embeddings, segments, strict=True)]


def one_id(id: object) -> str:
    if not isinstance(id, str) or not id.strip():
        raise ConfigError(f"an entry's id must be a string that is not blank, not {id!r}")
    return id


def what_to_remove(args: tuple) -> list[str] | Filter | None:
    """From remove_all(ids), remove_all(filter), or remove_all(), which is None: everything.

    An empty list or None raises: it's what a bug passes, and must never empty a store.
    """
    if not args:
        return None
    if len(args) == 1 and isinstance(args[0], Filter):
        return args[0]
    if len(args) == 1 and _is_list(args[0]) and len(args[0]):
        return [one_id(id) for id in args[0]]
    raise ConfigError(
        f"remove_all needs a list of ids that is not empty, or a filter, not {args[0]!r}; "
        "only remove_all() without arguments removes everything"
    )


def _entry(id: object, embedding: object, segment: object) -> NewEntry:
    if not isinstance(embedding, Embedding):
        raise ConfigError(f"expected an Embedding, not {type(embedding).__name__}")
    if segment is not None and not isinstance(segment, TextSegment):
        raise ConfigError(f"expected a TextSegment, not {type(segment).__name__}")
    return NewEntry(uuid.uuid4().hex if id is None else one_id(id), unit_vector(embedding), segment)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes)
