"""Two processes on one data folder: each finds what the other committed, and neither breaks the other's index."""

import subprocess
import sys

import pytest

from core.domain import Embedding, EmbeddingSearchRequest
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore, InMemoryEmbeddingStore
from storage.files import LocalFileStore
from storage.maintenance import SqliteMaintenance
from tests.storage.making import MODEL, new_document, vector_of

# Reads a command a line: save NAME, delete ID, count NAME; answers each with a line.
OTHER_PROCESS = """
import sys
from pathlib import Path
from core.domain import Embedding, EmbeddingSearchRequest
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from tests.storage.making import MODEL, new_document, vector_of

folder = Path(sys.argv[1])
with Database(folder) as database:
    files = LocalFileStore(folder)
    documents = SqliteDocumentStore(database, files)
    store = FaissEmbeddingStore(database, model_id=MODEL)
    for line in sys.stdin:
        command, value = line.split()
        if command == "save":
            files.put(f"text {value}".encode())
            print(documents.save(new_document(f"text {value}", value)).document.id, flush=True)
        elif command == "delete":
            print(documents.delete(int(value)).id, flush=True)
        else:
            request = EmbeddingSearchRequest(Embedding(vector_of(f"text {value}")), 9, min_score=1.0)
            print(len(store.search(request)), flush=True)
    store.close()
"""


class Other:
    def __init__(self, folder):
        self._process = subprocess.Popen(
            [sys.executable, "-c", OTHER_PROCESS, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, command, value):
        self._process.stdin.write(f"{command} {value}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.stdout.read()
        self._process.stdout.close()
        assert self._process.wait(timeout=30) == 0


@pytest.fixture
def folder(tmp_path):
    Database(tmp_path).close()
    return tmp_path


def test_h09_each_finds_what_the_other_committed_at_its_next_search(folder):
    other = Other(folder)
    with Database(folder) as database:
        files = LocalFileStore(folder)
        documents = SqliteDocumentStore(database, files)
        store = FaissEmbeddingStore(database, model_id=MODEL)

        def count(name):
            return len(store.search(EmbeddingSearchRequest(Embedding(vector_of(f"text {name}")), 9, min_score=1.0)))

        mine = theirs = []
        for number in range(13):  # four operations a round, 52 in all
            mine, theirs = f"mine-{number}", f"theirs-{number}"
            files.put(f"text {mine}".encode())
            my_id = documents.save(new_document(f"text {mine}", mine)).document.id
            assert (count(mine), other("count", mine)) == (1, 1)
            their_id = other("save", theirs)
            assert (count(theirs), other("count", theirs)) == (1, 1)
            if number % 2:
                other("delete", my_id)
                documents.delete(their_id)
                assert [count(mine), count(theirs), other("count", mine), other("count", theirs)] == [0] * 4
            else:
                documents.save(new_document(f"text {mine}", mine))  # unchanged
                store.close()
        store.close()
        other.close()
        assert SqliteMaintenance(database, files, model_id=MODEL).check() == []
        # Whoever wrote the index file last: a new store takes it, and answers as the reference does.
        again, reference = (
            FaissEmbeddingStore(database, model_id=MODEL),
            InMemoryEmbeddingStore(database, model_id=MODEL),
        )
        request = EmbeddingSearchRequest(Embedding(vector_of("anything")), 50)
        assert again.search(request) == reference.search(request)
        assert again.count() == 14


def test_two_stores_of_one_process_agree(folder):
    with Database(folder) as one, Database(folder) as two:
        stores = [FaissEmbeddingStore(database, model_id=MODEL) for database in (one, two)]
        documents = [SqliteDocumentStore(database, LocalFileStore(folder)) for database in (one, two)]
        query = EmbeddingSearchRequest(Embedding(vector_of("x")), 50)
        for number in range(6):
            documents[number % 2].save(new_document(f"text {number}", f"{number}.txt"))
            assert stores[0].search(query) == stores[1].search(query)
        documents[0].delete(3)
        documents[1].save(new_document("changed", "4.txt"))
        assert stores[0].search(query) == stores[1].search(query)
        assert [stores[0].count(), stores[1].count()] == [5, 5]
