"""The keyword postings on disk: one file that tells what it was made from. It saves a start reading all segments.

    footnote postings 1\\n
    {"store": …, "generation": …, "stamp": …, "segments": …, "terms": …, "postings": …, "vocabulary": …, "sha256": …}\\n
    ids, lengths, starts, rows, counts (little-endian), then the vocabulary, a JSON list: term number n is the n-th

Term n lies in rows[starts[n]:starts[n + 1]], ascending. The file is data that anybody may have written: what
contradicts itself is not read. That a segment holds these very terms is not checked: the checksum tells a damaged file,
and whoever writes a wrong one with a right sum gets wrong hits of the keyword search.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from core.domain import text_hash
from core.text.postings import Postings, numbered_terms
from core.text.postings_blocks import MOST_COUNTED, Block
from storage.database import no_fault
from storage.files import write_whole
from storage.generation import Generation

logger = logging.getLogger(__name__)

_AT_ONCE = 1_000_000  # postings, so that checking them takes little memory
_MAGIC = b"footnote postings 1\n"
_ID, _LENGTH, _START, _ROW, _COUNT = (np.dtype(kind) for kind in ("<i8", "<i4", "<i8", "<i4", "u1"))


@dataclass(frozen=True)
class PostingsHeader:
    """`segments`, `terms` and `postings` are counts, `vocabulary` is bytes."""

    store: str
    generation: int
    stamp: str
    segments: int
    terms: int
    postings: int
    vocabulary: int
    sha256: str


def postings_path(data_dir: Path, store: str) -> Path:
    """A readable name; the hash keeps stores apart whose readable part is the same."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", store)[-60:].strip("-.")
    return data_dir / "index" / f"{readable or 'store'}-{text_hash(store)[:12]}.postings"


def write_postings(
    path: Path,
    postings: Postings,
    generation: Generation,
    *,
    store: str,
    fault: Callable[[str], None] = no_fault,
) -> None:
    """raises OSError; the old file stays."""
    (block,) = postings.compact().blocks
    vocabulary = json.dumps(list(postings.vocabulary), separators=(",", ":")).encode()
    starts = np.zeros(len(postings.vocabulary) + 1, dtype=np.int64)
    starts[block.terms + 1] = np.diff(block.starts)
    arrays = ((block.ids, _ID), (block.lengths, _LENGTH), (np.cumsum(starts), _START), (block.rows, _ROW),
              (block.counts, _COUNT))  # fmt: skip
    body = b"".join([*(np.ascontiguousarray(array, dtype=kind).tobytes() for array, kind in arrays), vocabulary])
    header = PostingsHeader(
        store=store,
        generation=generation.number,
        stamp=generation.stamp,
        segments=len(block.ids),
        terms=len(postings.vocabulary),
        postings=len(block.rows),
        vocabulary=len(vocabulary),
        sha256=hashlib.sha256(body).hexdigest(),
    )
    path.parent.mkdir(exist_ok=True)
    write_whole(path, _MAGIC + json.dumps(asdict(header)).encode() + b"\n" + body, fault=fault)
    fault("postings file saved")


def read_postings(path: Path, *, store: str) -> tuple[Postings, Generation] | None:
    """What the file holds, or None where it's missing, damaged or of another store."""
    try:
        header, body = _read(path)
        if header.store != store:
            raise ValueError("made for another store")
        postings = _postings(header, body)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.warning("the postings file %s is built anew: %s", path.name, error)
        return None
    return postings, Generation(header.generation, header.stamp)


def read_postings_header(path: Path) -> PostingsHeader:
    """Checks the whole file. raises ValueError where it is damaged, OSError where it can't be read."""
    header, body = _read(path)
    _postings(header, body)
    return header


def _read(path: Path) -> tuple[PostingsHeader, memoryview]:
    data = path.read_bytes()
    end = data.find(b"\n", len(_MAGIC))
    if not data.startswith(_MAGIC) or end < 0:
        raise ValueError("not a postings file of this version")
    try:
        header = PostingsHeader(**_json(data[len(_MAGIC) : end]))
    except TypeError as error:
        raise ValueError(f"unknown header: {error}") from error
    numbers = [getattr(header, field.name) for field in fields(header) if field.type == "int"]
    if not all(type(number) is int and 0 <= number < 1 << 40 for number in numbers):
        raise ValueError("a number in the header is wrong")
    body = memoryview(data)[end + 1 :]
    if hashlib.sha256(body).hexdigest() != header.sha256:
        raise ValueError("its checksum is wrong")
    return header, body


def _postings(header: PostingsHeader, body: memoryview) -> Postings:
    sizes = ((header.segments, _ID), (header.segments, _LENGTH), (header.terms + 1, _START), (header.postings, _ROW),
             (header.postings, _COUNT))  # fmt: skip
    if sum(size * kind.itemsize for size, kind in sizes) + header.vocabulary != len(body):
        raise ValueError("it is longer or shorter than it says")
    arrays, at = [], 0
    for size, kind in sizes:
        arrays.append(np.frombuffer(body, dtype=kind, count=size, offset=at).astype(kind.newbyteorder("=")))
        at += size * kind.itemsize
    ids, lengths, starts, rows, counts = arrays
    terms = _json(bytes(body[at:]))
    if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
        raise ValueError("its vocabulary is no list of words")
    vocabulary = numbered_terms(terms)
    if len(vocabulary) != header.terms:
        raise ValueError("a word stands twice in its vocabulary")
    if (np.diff(ids) <= 0).any() or (lengths < 0).any() or not counts.all():
        raise ValueError("its segments are out of order")
    sizes_of_terms = np.diff(starts)
    if starts[0] != 0 or starts[-1] != len(rows) or (sizes_of_terms < 0).any():
        raise ValueError("its terms are out of order")
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(ids)):
        raise ValueError("it names a segment that it doesn't hold")
    _check_rows(starts, rows, counts, lengths)
    used = np.flatnonzero(sizes_of_terms).astype(np.int32)
    block = Block(ids, lengths, np.ones(len(ids), dtype=bool), used, np.append(starts[used], len(rows)), rows, counts)
    return Postings(vocabulary, (block,))


def _check_rows(starts: np.ndarray, rows: np.ndarray, counts: np.ndarray, lengths: np.ndarray) -> None:
    """raises ValueError: a term names a segment twice, or a segment's terms aren't as many as its length says."""
    rises = np.diff(rows) > 0
    inside = starts[(starts > 0) & (starts < len(rows))]
    rises[inside - 1] = True  # from one term to the next
    if not rises.all():
        raise ValueError("the segments of a term are out of order")
    held, is_least = np.zeros(len(lengths)), np.zeros(len(lengths), dtype=bool)
    for begin in range(0, len(rows), _AT_ONCE):
        piece = slice(begin, begin + _AT_ONCE)
        held += np.bincount(rows[piece], weights=counts[piece], minlength=len(lengths))
        is_least[rows[piece][counts[piece] == MOST_COUNTED]] = True
    if ((held > lengths) | ((held < lengths) & ~is_least)).any():
        raise ValueError("the terms of a segment aren't as many as it says")


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("it's nested too deep") from error
