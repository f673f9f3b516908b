"""The FAISS index on disk: one file that tells what it was made from. It saves a start the building, and nothing more.

    footnote index 1\\n
    {"model": …, "store": …, "generation": …, "stamp": …, "dimension": …, "kind": …, "count": …, "sha256": …}\\n
    ids (int64, little-endian), then the index as FAISS writes it

One file, not two, so that header and vectors can't come from different moments. What doesn't fit is not read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from core.domain import text_hash
from storage.database import no_fault
from storage.embedding_stores.faiss_index import FaissIndex
from storage.files import write_whole
from storage.generation import Generation

logger = logging.getLogger(__name__)

_MAGIC = b"footnote index 1\n"
_ID = np.dtype("<i8")


@dataclass(frozen=True)
class IndexHeader:
    model: str
    store: str
    generation: int
    stamp: str
    dimension: int
    kind: str
    count: int
    sha256: str


def index_path(data_dir: Path, store: str, model_id: str) -> Path:
    """A readable name; the hash keeps models apart whose readable part is the same."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", model_id)[-60:].strip("-.")
    return data_dir / "index" / f"{readable or 'model'}-{text_hash(f'{store}{chr(0)}{model_id}')[:12]}.faiss"


def write_index(
    path: Path,
    index: FaissIndex,
    generation: Generation,
    *,
    store: str,
    model_id: str,
    fault: Callable[[str], None] = no_fault,
) -> None:
    """raises OSError; the old file stays."""
    body = index.ids.astype(_ID).tobytes() + index.to_bytes()
    header = IndexHeader(
        model=model_id,
        store=store,
        generation=generation.number,
        stamp=generation.stamp,
        dimension=index.dimension,
        kind=index.kind,
        count=len(index.ids),
        sha256=hashlib.sha256(body).hexdigest(),
    )
    path.parent.mkdir(exist_ok=True)
    write_whole(path, _MAGIC + json.dumps(asdict(header)).encode() + b"\n" + body, fault=fault)
    fault("index file saved")


def read_index(path: Path, *, store: str, model_id: str, dimension: int) -> tuple[FaissIndex, Generation] | None:
    """What the file holds, or None where it's missing, damaged, or of another store, model or dimension."""
    try:
        header, body = _read(path)
        if (header.store, header.model, header.dimension) != (store, model_id, dimension):
            raise ValueError("made for another store or model")
        ids = np.frombuffer(body[: header.count * _ID.itemsize], dtype=_ID).astype(np.int64)
        index = FaissIndex.from_bytes(body[header.count * _ID.itemsize :], ids, dimension, header.kind)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.warning("the index file %s is built anew: %s", path.name, error)
        return None
    return index, Generation(header.generation, header.stamp)


def read_header(path: Path) -> IndexHeader:
    """Checks the whole file. raises ValueError where it is damaged, OSError where it can't be read."""
    return _read(path)[0]


def _read(path: Path) -> tuple[IndexHeader, bytes]:
    data = path.read_bytes()
    magic, line, body = data[: len(_MAGIC)], *data[len(_MAGIC) :].partition(b"\n")[::2]
    if magic != _MAGIC:
        raise ValueError("not an index file of this version")
    try:
        header = IndexHeader(**json.loads(line))
    except TypeError as error:
        raise ValueError(f"unknown header: {error}") from error
    numbers = (header.generation, header.dimension, header.count)
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise ValueError("a number in the header is wrong")
    if hashlib.sha256(body).hexdigest() != header.sha256:
        raise ValueError("its checksum is wrong")
    return header, body
