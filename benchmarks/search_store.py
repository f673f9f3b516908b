"""A data folder with many segments, for measuring the search: real texts, some real vectors, the rest these plus noise.

    build(Path("/tmp/store"), windows(texts, 100_000), model)

Segments are windows of 120 words, 40 of them a document, the documents spread over ten collections. They are written by
the document store's own `save`, one transaction a document, as the app does.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from core.domain import Document, EmbeddingRequest, TextSegment, text_hash
from core.metadata import Metadata
from core.protocols import EmbeddingModel
from core.records import NewDocument
from core.text.terms import index_terms
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore

WINDOW_WORDS = 120
WINDOWS_PER_DOCUMENT = 40
WINDOWS_PER_PAGE = 2
COLLECTIONS = 10
REAL_VECTORS = 5000
# Length of the noise beside a vector of length 1: the copy keeps a cosine of about 0.86 with what it was made from.
NOISE = 0.6


def read_texts(files: Sequence[Path]) -> list[str]:
    """Titles and texts of JSON Lines files with "text" and perhaps "title"."""
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines() if line]
    return [f"{row.get('title') or ''} {row['text']}".strip() for row in rows]


def made_up_texts(words: int = 300_000, *, seed: int = 0) -> list[str]:
    """Texts whose words are about as frequent as in a language (Zipf), for a machine without question sets."""
    rng = np.random.default_rng(seed)
    numbers = np.minimum(rng.zipf(1.2, words), 50_000)
    syllables = ("ka", "lo", "mi", "ten", "ru", "sol", "ve", "nad", "pri", "um")
    spelled = {number: "".join(syllables[int(digit)] for digit in str(number)) for number in np.unique(numbers)}
    return [" ".join(spelled[number] for number in piece) for piece in np.array_split(numbers, words // 1000)]


def windows(texts: Sequence[str], size: int) -> list[str]:
    """`size` windows over all words, evenly spread; they overlap where there are too few words."""
    words = " ".join(texts).split()
    if len(words) < WINDOW_WORDS + size:
        words = words * (1 + (WINDOW_WORDS + size) // max(len(words), 1))
    last = len(words) - WINDOW_WORDS
    starts = np.linspace(0, last, size).astype(int)
    # The same ones for every size, so that their vectors need computing once.
    real = _real_numbers(size)
    starts[real] = np.linspace(0, last, len(real)).astype(int)
    return [" ".join(words[start : start + WINDOW_WORDS]) for start in starts]


def build(data_dir: Path, texts: Sequence[str], model: EmbeddingModel) -> dict[str, float]:
    """Fill an empty data folder; returns seconds of embedding and of writing."""
    started = time.perf_counter()
    vectors = _embedded([texts[number] for number in _real_numbers(len(texts))], model, data_dir.parent / "vectors")
    embedded = time.perf_counter()
    with Database(data_dir) as database:
        store = SqliteDocumentStore(database, LocalFileStore(data_dir))
        for start in range(0, len(texts), WINDOWS_PER_DOCUMENT):
            numbers = range(start, min(start + WINDOWS_PER_DOCUMENT, len(texts)))
            of_document = np.stack([_vector(number, len(texts), vectors) for number in numbers])
            store.save(
                new_document(start // WINDOWS_PER_DOCUMENT, [texts[n] for n in numbers], of_document, model.model_id)
            )
    return {"embed_s": embedded - started, "write_s": time.perf_counter() - embedded}


def new_document(number: int, texts: Sequence[str], vectors: np.ndarray, model_id: str) -> NewDocument:
    """Document `number` with these segments: a page, an index, a year and an author as metadata."""
    name = f"document {number}.txt"
    of_document = {"file_name": name, "year": 1980 + number % 40, "author": f"author {number % 25}"}
    segments, start = [], 0
    for index, text in enumerate(texts):
        own = {**of_document, "index": index, "page": 1 + index // WINDOWS_PER_PAGE}
        segments.append(TextSegment(text, Metadata(own), start, start + len(text)))
        start += len(text) + 1
    whole = "\n".join(texts)
    return NewDocument(
        source=f"upload:{name}",
        name=name,
        collection=f"collection {number % COLLECTIONS}",
        type="text",
        content_hash=text_hash(f"{number} {whole}"),
        size=len(whole),
        document=Document(whole, Metadata(of_document)),
        segments=tuple(segments),
        vectors=vectors,
        terms=tuple(" ".join(index_terms(text)) for text in texts),
        model_id=model_id,
        pipeline="benchmark",
    )


def _real_numbers(size: int) -> np.ndarray:
    """Which of the windows get the model's own vectors, evenly spread."""
    return np.linspace(0, size - 1, min(REAL_VECTORS, size)).astype(int)


def _vector(number: int, size: int, real: np.ndarray) -> np.ndarray:
    """The vector of window `number`: the real one next to it in the text, with noise unless it is its own."""
    numbers = _real_numbers(size)
    after = min(int(np.searchsorted(numbers, number)), len(numbers) - 1)
    if numbers[after] == number:
        return real[after]
    before = max(after - 1, 0)
    nearest = after if numbers[after] - number < number - numbers[before] else before
    noise = np.random.default_rng(number).standard_normal(real.shape[1]).astype(np.float32)
    vector = real[nearest] + noise * (NOISE / np.linalg.norm(noise))
    return vector / np.linalg.norm(vector)


def _embedded(texts: Sequence[str], model: EmbeddingModel, folder: Path) -> np.ndarray:
    """Their vectors, kept below `folder`: the slow part, and the same for every size of store."""
    key = hashlib.sha256("\0".join((model.model_id, *texts)).encode()).hexdigest()[:16]
    file = folder / f"{key}.npy"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        pieces = list(_batches(texts, 64))
        vectors = np.concatenate([model.embed_request(EmbeddingRequest(tuple(piece))).vectors for piece in pieces])
        np.save(file, vectors.astype(np.float32))
    return np.load(file, allow_pickle=False)


def _batches(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
