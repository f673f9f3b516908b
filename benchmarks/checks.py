"""How long a look at a large data folder takes: the fast check of each start, the full one, and a backup.

    python -m benchmarks.checks [--segments 100000] [--folder DIR]

Made-up text and random vectors: what is in them doesn't matter here, how much there is does. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from core.domain import Document, TextSegment
from core.metadata import Metadata
from core.records import NewDocument
from core.text.terms import index_terms
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from storage.maintenance import SqliteMaintenance

MODEL, DIMENSION, WORDS_A_SEGMENT, SEGMENTS_A_DOCUMENT = "made-up", 384, 120, 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="made here, and kept; else a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary) / "data"
        print(json.dumps(measured(folder, options.segments), indent=1))


def measured(folder: Path, segments: int) -> dict[str, float]:
    with Database(folder) as database:
        files = LocalFileStore(folder)
        if not SqliteDocumentStore(database, files).count():
            fill(database, files, segments)
        terms = lambda text: " ".join(index_terms(text))  # noqa: E731
        maintenance = SqliteMaintenance(database, files, model_id=MODEL, terms=terms)
        fast = [seconds(lambda: expect_none(maintenance.check(full=False))) for _ in range(3)]
        target = folder.parent / "checks-backup.zip"
        target.unlink(missing_ok=True)
        found = {
            "segments": segments,
            "database_mb": database.path.stat().st_size / 1e6,
            "fast_check_first_s": fast[0],
            "fast_check_again_s": min(fast[1:]),
            "full_check_s": seconds(lambda: expect_none(maintenance.check())),
            "backup_s": seconds(lambda: maintenance.backup(target)),
        }
        target.unlink()
    return {name: round(value, 3) for name, value in found.items()}


def fill(database: Database, files: LocalFileStore, segments: int) -> None:
    chance, store = random.Random(1), SqliteDocumentStore(database, files)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 10))) for _ in range(20_000)]
    for number in range(max(1, segments // SEGMENTS_A_DOCUMENT)):
        store.save(made_up(files, number, words, chance))


def made_up(files: LocalFileStore, number: int, words: list[str], chance: random.Random) -> NewDocument:
    pieces = [" ".join(chance.choices(words, k=WORDS_A_SEGMENT)) for _ in range(SEGMENTS_A_DOCUMENT)]
    text, found, start = "\n".join(pieces), [], 0
    for index, piece in enumerate(pieces):
        found.append(TextSegment(piece, Metadata({"index": index}), start, start + len(piece)))
        start += len(piece) + 1
    vectors = np.random.default_rng(number).standard_normal((len(pieces), DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    files.put(text.encode())
    return NewDocument(
        source=f"upload:{number}.txt",
        name=f"{number}.txt",
        collection=f"collection {number % 10}",
        type="text",
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        size=len(text),
        document=Document(text),
        segments=tuple(found),
        vectors=vectors,
        terms=tuple(" ".join(index_terms(piece)) for piece in pieces),
        model_id=MODEL,
        pipeline="made-up",
    )


def expect_none(problems: list) -> None:
    if problems:
        raise SystemExit(f"a sound folder is said to be damaged: {problems[:3]}")


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
