"""How long a document of very many segments takes to be published, deleted, brought back and purged; in what memory.

python -m benchmarks.long_documents                 250,000 segments of 200 words, 384 numbers each
python -m benchmarks.long_documents 50000 --again   fewer; re-indexed twice: unchanged, and with two lines changed
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Container
from pathlib import Path

import numpy as np

from core.domain import Document, TextSegment
from core.metadata import Metadata
from core.records import FinishedDocument, NewPart
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore

_SEGMENTS_A_PART, _DIMENSION, _WORDS = 500, 384, 20_000
_FILE_NAME = {"file_name": "long.txt"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("segments", type=int, nargs="?", default=250_000)
    parser.add_argument("--again", action="store_true", help="re-index it unchanged, and with two segments changed")
    arguments = parser.parse_args()
    count = arguments.segments
    with tempfile.TemporaryDirectory() as folder, Database(Path(folder)) as database:
        store = SqliteDocumentStore(database, LocalFileStore(Path(folder)))
        _measure("parts kept", lambda: _add_parts(store, "a" * 64, count))
        _measure("published", lambda: store.publish(_finished("a" * 64)))
        if arguments.again:
            _add_parts(store, "a" * 64, count)
            _measure("published again, unchanged", lambda: store.publish(_finished("a" * 64)))
            _add_parts(store, "b" * 64, count, changed={5, count // 2})
            _measure("published, two segments changed", lambda: store.publish(_finished("b" * 64)))
        _measure("deleted", lambda: store.delete(1))
        _measure("brought back", lambda: store.undelete(1))
        store.delete(1)
        _measure("purged", store.purge_deleted)


def _add_parts(store: SqliteDocumentStore, content_hash: str, count: int, changed: Container[int] = ()) -> None:
    start = 0
    for number in range(count // _SEGMENTS_A_PART):
        part = _part(content_hash, number, start, changed)
        store.add_part(part)
        start += len(part.document.text)


def _part(content_hash: str, number: int, start: int, changed: Container[int]) -> NewPart:
    dice = np.random.default_rng(number)
    segments, place = [], start
    for index in range(number * _SEGMENTS_A_PART, (number + 1) * _SEGMENTS_A_PART):
        line = " ".join(f"w{word}" for word in dice.integers(0, _WORDS, 200))
        line += " changed\n" if index in changed else "\n"
        metadata = Metadata({**_FILE_NAME, "index": index, "page": index // 3})
        segments.append(TextSegment(line, metadata, place, place + len(line)))
        place += len(line)
    text = "".join(segment.text for segment in segments)
    return NewPart(
        content_hash=content_hash,
        pipeline="benchmark",
        model_id="benchmark",
        type="text",
        number=number,
        start=start,
        document=Document(text, Metadata(_FILE_NAME)),
        segments=tuple(segments),
        vectors=dice.standard_normal((_SEGMENTS_A_PART, _DIMENSION)).astype(np.float32),
        terms=tuple(segment.text.strip() for segment in segments),
    )


def _finished(content_hash: str) -> FinishedDocument:
    return FinishedDocument(
        source="upload:long.txt",
        name="long.txt",
        collection="default",
        type="text",
        content_hash=content_hash,
        size=0,
        metadata=Metadata(_FILE_NAME),
        model_id="benchmark",
        pipeline="benchmark",
    )


def _measure(what: str, work: Callable[[], object]) -> None:
    """Prints wall and processor seconds, and how much the resident memory rose meanwhile (Linux)."""
    before = highest = _resident_mb()
    done = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.02):
            highest = max(highest, _resident_mb())

    watcher = threading.Thread(target=watch)
    watcher.start()
    wall, processor = time.perf_counter(), time.process_time()
    work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    done.set()
    watcher.join()
    sys.stdout.write(f"{what}: {wall:.1f} s ({processor:.1f} s of processor), memory +{highest - before:.0f} MB\n")
    sys.stdout.flush()


def _resident_mb() -> float:
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


if __name__ == "__main__":
    main()
