"""A disk that is really full: one sentence, the old data usable, nothing half written left behind."""

import contextlib
import os
import subprocess
import sys

import pytest

from core.domain import Embedding, EmbeddingSearchRequest
from core.errors import StorageError
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.maintenance import SqliteMaintenance
from tests.storage.making import MODEL, new_document, vector_of

BIG = "".join(f"line {number} {chr(120) * 2000}\n" for number in range(1500))


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 2 MB, where this system lets us have one."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a tiny file system isn't allowed here")
    yield folder / "data"
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_c11_a_full_disk_loses_nothing_and_says_so(tiny_disk):
    with Database(tiny_disk) as database:
        files = LocalFileStore(tiny_disk)
        documents = SqliteDocumentStore(database, files)
        files.put(b"kept")
        documents.save(new_document("kept", "kept.txt"))
        store = FaissEmbeddingStore(database, model_id=MODEL)
        store.load()
        full = pytest.raises(StorageError, match="the disk that holds the data folder 'data' is full; free some space")
        with full:
            files.put(BIG.encode())
        assert [path.name for path in (files.folder / "unfinished").iterdir()] == []
        with full:
            documents.save(new_document(BIG, "big.txt"))
        filler = tiny_disk / "filler"
        with contextlib.suppress(OSError), filler.open("wb") as stream:
            stream.write(b"x" * 4_000_000)
        store.close()  # would write it
        assert list((tiny_disk / "index").iterdir()) == []
        assert [row.name for row in documents.list()] == ["kept.txt"]
        request = EmbeddingSearchRequest(Embedding(vector_of("kept")), 5)
        assert [match.segment.text for match in store.search(request)] == ["kept"]
        filler.unlink()
        documents.save(new_document("room again", "new.txt"))
        files.put(b"room again")
        assert SqliteMaintenance(database, files, model_id=MODEL).check() == []


LIMITED = """
import resource, sys
from pathlib import Path
from core.errors import StorageError
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from tests.storage.making import new_document
from tests.storage.test_full_disk import BIG

folder = Path(sys.argv[1])
with Database(folder) as database:
    documents, files = SqliteDocumentStore(database, LocalFileStore(folder)), LocalFileStore(folder)
    documents.save(new_document("kept", "kept.txt"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
    for attempt in (lambda: files.put(BIG.encode()), lambda: documents.save(new_document(BIG, "big.txt"))):
        try:
            attempt()
        except StorageError as error:
            print(error)
    print([row.name for row in documents.list()], list((files.folder / "unfinished").iterdir()))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes are POSIX")
def test_c11_a_file_that_may_not_grow_is_one_sentence_too(tmp_path):
    done = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path / "data")], capture_output=True, text=True)
    assert done.stderr == "the database refused: disk I/O error\n"  # the log
    first, second, last = done.stdout.splitlines()
    assert first == "the disk that holds the data folder 'data' is full; free some space and try again"
    assert second == "the disk that holds the data folder 'data' can't be read or written (is it full?)"
    assert last == "['kept.txt'] []"
