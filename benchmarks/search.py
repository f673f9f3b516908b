"""How long does a search take in a large library, and what does its index cost? Embedding of the question apart.

    python -m benchmarks.search [--size 100000] [--corpus FILE_OR_FOLDER …] [--data DIR] [--json FILE]

A corpus is a JSON Lines file with "text", or a folder with corpus.jsonl and queries.jsonl; without one, texts are made
up. The store is kept in DIR/<size> and used again. "First" is the first search of a process, or of a filter; the others
are medians over `--questions` questions, each asked once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np

from benchmarks import search_store
from core.domain import EmbeddingRequest, EmbeddingResponse
from core.embedding_models.opening import open_embedding_model
from core.filters import Filter, metadata_key
from core.protocols import EmbeddingModel
from core.services.search import SearchService
from core.settings import Settings
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.keyword_index import SqliteKeywordIndex
from storage.segment_reader import SqliteSegmentReader
from storage.vector_scores import SqliteVectorScores

RETRIEVERS = ("hybrid", "vector", "keyword")
FILTERS: dict[str, Filter | None] = {
    "none": None,
    "collection": metadata_key("collection").is_equal_to("collection 3"),
    "document": metadata_key("document_id").is_in([11, 12]),
    "year": metadata_key("year").is_greater_than(2005),
    "page": metadata_key("page").is_less_than(4),
    "collection and page": metadata_key("collection").is_equal_to("collection 3")
    & metadata_key("page").is_less_than(4),
}
# The first use of a filter is measured with values that were not asked for before.
UNUSED: dict[str, Filter] = {
    "collection": metadata_key("collection").is_equal_to("collection 7"),
    "document": metadata_key("document_id").is_in([21, 22]),
    "year": metadata_key("year").is_greater_than(2010),
    "page": metadata_key("page").is_less_than(9),
}


@dataclass
class KnownVectors:
    """The embedding model with the questions' vectors at hand, so that a search doesn't wait for the model."""

    model: EmbeddingModel
    vectors: dict[str, np.ndarray] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def learn(self, texts: Sequence[str]) -> float:
        """Milliseconds for each, one at a time as they come in real life."""
        self.model.embed("warm-up")
        started = time.perf_counter()
        for text in texts:
            self.vectors[text] = self.model.embed_request(EmbeddingRequest((text,))).vectors[0]
        return 1000 * (time.perf_counter() - started) / len(texts)

    def embed_request(self, request: EmbeddingRequest) -> EmbeddingResponse:
        return EmbeddingResponse(np.stack([self.vectors[text] for text in request.inputs]))


@dataclass(frozen=True)
class Parts:
    """What a search is made of, over one data folder, as `core.bootstrap` joins it."""

    database: Database
    documents: SqliteDocumentStore
    store: FaissEmbeddingStore
    keywords: SqliteKeywordIndex
    search: SearchService

    def close(self) -> None:
        self.store.close()
        self.keywords.close()
        self.database.close()


def open_parts(data_dir: Path, model: KnownVectors, **store_options: Any) -> Parts:
    database = Database(data_dir)
    documents = SqliteDocumentStore(database, LocalFileStore(data_dir))
    store = FaissEmbeddingStore(database, model_id=model.model_id, dimension=model.dimension, **store_options)
    keywords = SqliteKeywordIndex(database)
    scores = SqliteVectorScores(database, model_id=model.model_id)
    search = SearchService(
        Settings(data=data_dir),
        store=lambda: store,
        embedding_model=lambda: model,
        keyword_index=keywords,
        documents=documents,
        vector_scores=lambda: scores,
        segments=SqliteSegmentReader(database),
    )
    return Parts(database, documents, store, keywords, search)


def measure(
    size: int = 100_000, *, corpus: Sequence[Path] = (), data: Path | None = None, questions: int = 200
) -> dict[str, Any]:
    """All figures of one size: seconds end in _s, milliseconds in _ms, megabytes (10^6 bytes) in _mb."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = (data or Path(temporary)) / str(size)
        made = _made(folder, size, corpus)
        settings = Settings()
        model = KnownVectors(open_embedding_model(settings.embedding_model, settings.models))
        known = _questions(corpus, folder)
        asked = known[:: max(1, len(known) // questions)][:questions]
        embed_ms = model.learn(asked)
        figures: dict[str, Any] = {"segments": size, **made, "embed_question_ms": embed_ms}
        figures |= _starts(folder, model, asked)
        parts = open_parts(folder, model)
        try:
            figures["warm"] = _warm(parts.search, asked)
            figures["first_use_of_filter_ms"] = {
                name: _ms(partial(parts.search.search, asked[0], filter=one)) for name, one in UNUSED.items()
            }
            figures |= _changes(parts, model, asked)
        finally:
            parts.close()
        figures["database_mb"] = _mb(folder / "footnote.db")
        figures["index_files_mb"] = {file.suffix[1:]: _mb(file) for file in sorted((folder / "index").iterdir())}
        figures["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        return figures


def _made(folder: Path, size: int, corpus: Sequence[Path]) -> dict[str, float]:
    """The store, made in a process of its own so that its memory doesn't count here."""
    done = folder / "made.json"
    if not done.exists():
        arguments = ["--size", str(size), "--make", str(folder), *(["--corpus", *map(str, corpus)] if corpus else [])]
        subprocess.run([sys.executable, "-m", "benchmarks.search", *arguments], check=True)
    return json.loads(done.read_text())


def _make(folder: Path, size: int, corpus: Sequence[Path]) -> None:
    files = [one / "corpus.jsonl" if one.is_dir() else one for one in corpus]
    texts = search_store.windows(search_store.read_texts(files) if files else search_store.made_up_texts(), size)
    settings = Settings()
    folder.mkdir(parents=True, exist_ok=True)
    seconds = search_store.build(folder, texts, open_embedding_model(settings.embedding_model, settings.models))
    sample = [" ".join(text.split()[7:15]) for text in texts[:: max(1, size // 200)]]
    (folder / "sample.json").write_text(json.dumps(sample), encoding="utf-8")
    (folder / "made.json").write_text(json.dumps(seconds))


def _questions(corpus: Sequence[Path], folder: Path) -> list[str]:
    """Of the first corpus that has some; else eight words of every so many segments."""
    for file in (one / "queries.jsonl" for one in corpus if (one / "queries.jsonl").exists()):
        return [json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines()]
    return json.loads((folder / "sample.json").read_text(encoding="utf-8"))


def _starts(folder: Path, model: KnownVectors, asked: Sequence[str]) -> dict[str, Any]:
    """What a process pays before its first answer: without index files, and with those that the last one left."""
    for file in (folder / "index").glob("*") if (folder / "index").exists() else ():
        file.unlink()
    figures: dict[str, Any] = {}
    for name in ("without_files", "with_files"):
        parts = open_parts(folder, model)
        before = _rss_mb()
        vectors = _ms(parts.store.load) / 1000
        between = _rss_mb()
        words = _ms(parts.keywords.warm) / 1000
        figures[name] = {
            "vectors_s": vectors,
            "keywords_s": words,
            "vectors_rss_mb": between - before,
            "keywords_rss_mb": _rss_mb() - between,
        }
        parts.close()
        parts = open_parts(folder, model)
        figures[name]["first_search_next_start_ms"] = _ms(partial(parts.search.search, asked[0]))
        parts.close()
    return {"start": figures}


def _warm(search: SearchService, asked: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for retriever in RETRIEVERS:
        for name, one in FILTERS.items():
            search.search(asked[0], retriever=retriever, filter=one)
            spent = [_ms(partial(search.search, text, retriever=retriever, filter=one)) for text in asked]
            figures.setdefault(retriever, {})[name] = {
                "median_ms": statistics.median(spent),
                "p95_ms": float(np.percentile(spent, 95)),
            }
    return figures


def _changes(parts: Parts, model: KnownVectors, asked: Sequence[str]) -> dict[str, dict[str, float]]:
    """The first search after a document of 40 segments came, and after it went, with a filter and without."""
    rng = np.random.default_rng(1)
    figures: dict[str, dict[str, float]] = {"after_save_ms": {}, "after_delete_ms": {}}
    for name in ("none", "collection", "page"):
        saved, deleted = [], []
        for turn in range(5):
            vectors = rng.standard_normal((40, model.dimension)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            texts = [f"{text} {turn} {name}" for text in asked[:40]]
            new = search_store.new_document(10_000_000 + turn, texts, vectors[: len(texts)], model.model_id)
            document = parts.documents.save(new).document
            saved.append(_ms(partial(parts.search.search, asked[0], filter=FILTERS[name])))
            parts.documents.delete(document.id)
            deleted.append(_ms(partial(parts.search.search, asked[1], filter=FILTERS[name])))
        figures["after_save_ms"][name] = statistics.median(saved)
        figures["after_delete_ms"][name] = statistics.median(deleted)
    return figures


def _ms(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - started)


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _mb(file: Path) -> float:
    return file.stat().st_size / 1e6


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return round(value, 2) if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--data", type=Path, help="keep the store here and use it again")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        _make(arguments.make, arguments.size, arguments.corpus)
        return
    figures = measure(arguments.size, corpus=arguments.corpus, data=arguments.data, questions=arguments.questions)
    text = json.dumps(_rounded(figures), indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text)


if __name__ == "__main__":
    main()
