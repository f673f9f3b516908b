"""The index in 8 bits proposes, SQLite scores: what comes out is what comparing every vector gives."""

import subprocess
import sys

import numpy as np
import pytest

from core.domain import Embedding, EmbeddingSearchRequest, TextSegment
from core.filters import metadata_key
from storage.database import Database
from storage.embedding_stores import FaissEmbeddingStore
from storage.embedding_stores.faiss_index import FaissIndex

DIMENSION = 48


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def made(kind, count=3000):
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((count, DIMENSION)).astype(np.float32)
    if kind == "random":
        return unit(noise)
    centres = unit(rng.standard_normal((12, DIMENSION)).astype(np.float32))[rng.integers(0, 12, count)]
    # Closer together than the error of 8 bits in the last case.
    return unit(centres + noise * {"clustered": 0.05, "crowded": 0.0002}[kind])


@pytest.fixture(scope="module", params=["random", "clustered", "crowded"])
def filled(request, tmp_path_factory):
    rows = made(request.param)
    with Database(tmp_path_factory.mktemp(request.param)) as database:
        store = FaissEmbeddingStore(database, exact_limit=100)
        segments = [TextSegment.from_text(f"{number}", {"n": number % 10}) for number in range(len(rows))]
        store.add_all([f"{number}" for number in range(len(rows))], [Embedding(row) for row in rows], segments)
        yield request.param, rows, store


def expected(rows, query, limit, allowed=None):
    scores = np.round(rows.astype(np.float64) @ unit(query.astype(np.float64)), 7)
    if allowed is not None:
        scores[~allowed] = -2
    return scores[np.argsort(-scores, kind="stable")][:limit].tolist()


@pytest.mark.parametrize("limit", [1, 10, 60])
def test_8_bits_scored_again_are_the_exact_best(filled, limit):
    kind, rows, store = filled
    rng = np.random.default_rng(limit)
    some = np.arange(len(rows)) % 10 < 3
    for number in range(10):
        query = unit(rows[number * 7] + 0.2 * rng.standard_normal(DIMENSION).astype(np.float32))
        found = store.search(EmbeddingSearchRequest(Embedding(query), limit))
        assert [match.cosine for match in found] == pytest.approx(expected(rows, query, limit), abs=2e-7), kind
        found = store.search(EmbeddingSearchRequest(Embedding(query), limit, filter=metadata_key("n").is_less_than(3)))
        assert [match.cosine for match in found] == pytest.approx(expected(rows, query, limit, some), abs=2e-7), kind
        assert {match.segment.metadata.get("n") for match in found} <= {0, 1, 2}


def test_ids_alone_are_those_of_the_search(filled):
    _, rows, store = filled
    request = EmbeddingSearchRequest(Embedding(rows[3]), 20, min_score=0.5)
    assert store.search_ids(request) == [(match.id, match.cosine) for match in store.search(request)]


def test_no_score_of_the_index_is_further_off_than_it_says():
    rows = made("random")
    index = FaissIndex(DIMENSION, "8bit")
    index.add(np.arange(len(rows)), rows)
    for query in rows[:20]:
        ids, scores = index.search(query, 500)
        assert np.abs(scores - rows[ids] @ query).max() < index.error < 0.02


def test_a_vector_beyond_the_reach_is_not_cut_off_but_makes_the_index_anew(tmp_path):
    rows = made("random", 300)
    far = np.zeros(DIMENSION, dtype=np.float32)
    far[0] = 1  # much larger than any number of the others
    with Database(tmp_path) as database:
        store = FaissEmbeddingStore(database, exact_limit=100)
        store.add_all([Embedding(row) for row in rows])
        store.load()
        store.add("far", Embedding(far))
        assert store.search_ids(EmbeddingSearchRequest(Embedding(far), 1)) == [("far", 1.0)]
        anew = FaissEmbeddingStore(database, exact_limit=100)
        assert anew.search_ids(EmbeddingSearchRequest(Embedding(far), 1)) == [("far", 1.0)]


def test_the_kind_follows_the_size_both_ways(tmp_path):
    rows = made("random", 130)
    with Database(tmp_path) as database:
        store = FaissEmbeddingStore(database, exact_limit=100)
        ids = store.add_all([Embedding(row) for row in rows[:100]])
        kinds = []
        for step in (lambda: None, lambda: ids.extend(store.add_all([Embedding(row) for row in rows[100:]])),
                     lambda: store.remove_all(ids[:60]), lambda: store.remove_all(ids[60:90])):  # fmt: skip
            step()
            store.load()
            store.close()
            kinds.append(next((tmp_path / "index").iterdir()).read_bytes().split(b'"kind": "')[1].split(b'"')[0])
        assert kinds == [b"exact", b"8bit", b"8bit", b"exact"]


def test_the_reach_is_known_in_a_process_that_loads_pymupdf_later():
    """Both bring a vector of floats to Python, and the one that is loaded last gives its own to the other's callers."""
    code = (
        "import faiss, pymupdf\n"
        "from storage.embedding_stores.faiss_index import FaissIndex\n"
        "print(round(FaissIndex(8, '8 bits', reach=0.25).reach, 6))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "0.25\n", done.stderr
