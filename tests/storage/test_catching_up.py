"""A cache that catches up holds what one made anew does, whatever happened meanwhile and whoever did it."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from core.domain import Embedding, EmbeddingSearchRequest
from core.filters import metadata_key
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.filter_mask import FilterMask
from storage.keyword_index import SqliteKeywordIndex
from tests.storage.making import MODEL, new_document, vector_of

WORDS = "red blue pump valve tank hose cold warm north south".split()
FILTERS = [
    metadata_key("collection").is_equal_to("x"),
    metadata_key("page").is_less_than(3),
    ~metadata_key("owner").is_equal_to("ann") & metadata_key("index").is_greater_than(0),
]


def documents_of(database):
    return SqliteDocumentStore(database, LocalFileStore(database.data_dir))


def written(rng, name):
    lines = [" ".join(rng.choice(WORDS, 5)) for _ in range(rng.integers(1, 6))]
    own = {line: {"page": int(rng.integers(1, 5))} for line in lines}
    metadata = {"owner": str(rng.choice(["ann", "bob"]))}
    return new_document("\n".join(lines), name, collection=str(rng.choice(["x", "y"])), own=own, metadata=metadata)


def answers(database, store, keywords, mask):
    """All that the caches say: by meaning, by words, and by filters."""
    said = []
    for query in ("red pump", "cold north valve", "hose"):
        for filter in (None, *FILTERS):
            request = EmbeddingSearchRequest(Embedding(vector_of(query)), 40, filter=filter)
            said.append([(match.id, match.document_id, match.cosine) for match in store.search(request)])
            found = keywords.search(query, limit=40, filter=filter)
            said.append(sorted((-round(match.bm25, 9), match.id, match.document_id) for match in found))
    with database.read() as connection:
        said += [mask.allowed(connection, filter).ids.tolist() for filter in FILTERS]
    return said


def made_anew(database):
    return FaissEmbeddingStore(database, model_id=MODEL), SqliteKeywordIndex(database), FilterMask()


def step(rng, documents):
    """One change, drawn by lot: save (often over an old version), delete, bring back, forget, rename."""
    known, gone = documents.list(), documents.deleted()
    kind = rng.choice(["save", "save", "delete", "undelete", "purge", "rename"])
    if kind == "save" or not known:
        documents.save(written(rng, f"{rng.integers(6)}.txt"))
    elif kind == "delete":
        documents.delete(int(rng.choice([document.id for document in known])))
    elif kind == "undelete" and gone:
        one = gone[int(rng.integers(len(gone)))]
        if documents.find(one.source, one.collection) is None:
            documents.undelete(one.id)
    elif kind == "purge" and gone:
        documents.purge_deleted(document_ids=[gone[-1].id])
    elif kind == "rename" and any(collection.name == "x" for collection in documents.collections()):
        documents.rename_collection("x", "z")
        documents.rename_collection("z", "x")


@pytest.mark.parametrize("seed", range(3))
def test_after_any_changes_the_caches_say_what_new_ones_do(tmp_path, seed):
    rng = np.random.default_rng(seed)
    with Database(tmp_path) as database:
        documents = documents_of(database)
        caches = made_anew(database)
        answers(database, *caches)
        for _ in range(12):
            for _ in range(rng.integers(1, 4)):
                step(rng, documents)
            assert answers(database, *caches) == answers(database, *made_anew(database))


def test_caches_from_files_that_are_behind_catch_up(tmp_path):
    rng = np.random.default_rng(9)
    with Database(tmp_path) as database:
        documents = documents_of(database)
        for number in range(6):
            documents.save(written(rng, f"{number}.txt"))
        store, keywords, mask = made_anew(database)
        answers(database, store, keywords, mask)
        store.close(), keywords.close()
        assert sorted(path.suffix for path in (tmp_path / "index").iterdir()) == [".faiss", ".postings"]
        for _ in range(10):
            step(rng, documents)
        from_files = answers(database, *made_anew(database))
        for path in (tmp_path / "index").iterdir():
            path.unlink()
        assert from_files == answers(database, *made_anew(database))


OTHER_PROCESS = """
import sys
from pathlib import Path
import numpy as np
from storage.database import Database
from tests.storage.test_catching_up import documents_of, step

with Database(Path(sys.argv[1])) as database:
    rng = np.random.default_rng(int(sys.argv[2]))
    for _ in range(12):
        step(rng, documents_of(database))
"""


def test_what_another_process_did_is_caught_up_with(tmp_path):
    with Database(tmp_path) as database:
        documents_of(database).save(new_document("red pump\ncold hose\n", "first.txt", collection="x"))
        caches = made_anew(database)
        answers(database, *caches)
        subprocess.run([sys.executable, "-c", OTHER_PROCESS, str(tmp_path), "3"], check=True)
        assert len(documents_of(database).list()) > 1
        assert answers(database, *caches) == answers(database, *made_anew(database))


def test_searches_while_another_saves_see_one_version_or_the_other(tmp_path):
    """A document of six lines is replaced again and again: each search finds six lines, all of one version."""

    def version(number):
        return new_document("".join(f"pump {line} of version {number}\n" for line in range(6)), "a.txt", collection="x")

    with Database(tmp_path) as database:
        documents = documents_of(database)
        documents.save(version(0))
        store, keywords, _ = made_anew(database)
        wrong, done = [], threading.Event()

        def search():
            request = EmbeddingSearchRequest(Embedding(vector_of("pump")), 50, filter=FILTERS[0])
            while not done.is_set():
                for found in (store.search(request), keywords.search("pump", limit=50, filter=FILTERS[0])):
                    versions = {match.segment.text.split()[-1] for match in found}
                    if len(found) != 6 or len(versions) != 1:
                        wrong.append([match.segment.text for match in found])

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(1, 25):
            documents.save(version(number))
        done.set()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_remembered_filters_take_little_memory(tmp_path):
    with Database(tmp_path) as database:
        documents_of(database).save(new_document("red pump\n", "a.txt"))
        mask = FilterMask(remembered=3, most_bytes=100)
        with database.read() as connection:
            for year in range(20):
                mask.allowed(connection, metadata_key("year").is_not_equal_to(year))
                assert len(mask._masks) <= 3
