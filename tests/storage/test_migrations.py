"""An upgrade keeps what people have: a copy first, then one transaction.

`format-0001.db.gz` is a data folder's database as the program wrote it at format 0001 (two documents, one conversation,
a saved setting, a waiting job). It's never made again: it's what people have.
"""

import gzip
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from core.domain import ChatMessage, Embedding, EmbeddingSearchRequest, Mark
from core.errors import StorageError
from storage.chat_memories import SqliteChatMemoryStore
from storage.conversations import SqliteConversationStore
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.jobs import SqliteJobStore
from storage.maintenance import SqliteMaintenance
from storage.migrations import NEWEST
from storage.settings import SqliteSettingsStore
from tests.storage.making import MODEL, new_document, vector_of

FIXTURE = Path(__file__).parent / "format-0001.db.gz"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "footnote.db").write_bytes(gzip.decompress(FIXTURE.read_bytes()))
    return tmp_path


def version(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    finally:
        connection.close()


def everything(connection):
    tables = ("documents", "segments", "vectors")
    return [connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables]


def test_h07_an_old_database_is_copied_migrated_and_whole(folder):
    assert version(folder / "footnote.db") == "0001"
    with Database(folder) as database:
        documents = SqliteDocumentStore(database, LocalFileStore(folder))
        assert [(row.name, row.collection, row.segments) for row in documents.list()] == [
            ("staff.txt", "default", 2),
            ("config.yaml", "home", 1),
        ]
        assert documents.text(1).text == "The office cat is Mira.\nShe sleeps on the printer.\n"
        store = FaissEmbeddingStore(database, model_id=MODEL)
        query = Embedding(vector_of("port: 8080\n"))
        assert store.search(EmbeddingSearchRequest(query, 1))[0].document_id == 2
        (conversation,) = SqliteConversationStore(database).list(search="mira")
        assert SqliteConversationStore(database).messages(conversation.id)[1].text == "The office cat [1]."
        assert SqliteSettingsStore(database).load() == {"max_results": 4}
        assert SqliteJobStore(database).claim("me", lease_s=10).name == "waiting.pdf"
        SqliteChatMemoryStore(database).update_messages("new", [ChatMessage("user", "works")])
        problems = SqliteMaintenance(database, LocalFileStore(folder), model_id=MODEL).check()
        assert {problem.kind for problem in problems} == {"missing_original"}  # the fixture is the database alone
    assert version(folder / "footnote.db") == NEWEST
    (copy,) = (folder / "backups").iterdir()
    assert copy.name.startswith(f"before-{NEWEST}-from-0001-")
    assert version(copy) == "0001"


def test_h07_texts_keep_their_ids_marks_and_counter_when_they_are_cut_in_parts(folder):
    old = sqlite3.connect(folder / "footnote.db")
    old.execute("UPDATE texts SET marks = '[[0, 10, \"page\", 1]]' WHERE id = 1")
    old.execute("UPDATE sqlite_sequence SET seq = 7 WHERE name = 'texts'")  # five that are gone
    old.commit()
    before = old.execute("SELECT id, content_hash, pipeline, text, characters, seen FROM texts ORDER BY id").fetchall()
    kept = everything(old)
    old.close()
    with Database(folder) as database:
        store = SqliteDocumentStore(database, LocalFileStore(folder))
        assert store.text(1).marks == (Mark(0, 10, "page", 1),)
        new_id = store.save(new_document("one more\n", "new.txt")).document.id
        with database.read() as connection:
            text_id = connection.execute(text("SELECT text_id FROM documents WHERE id = :id"), {"id": new_id}).scalar()
        assert text_id == 8  # never one that was given out before
        store.delete(new_id)
        store.purge_deleted()
    new = sqlite3.connect(folder / "footnote.db")
    after = new.execute(
        "SELECT id, content_hash, pipeline, text_parts.text, characters, seen FROM texts JOIN text_parts "
        "ON text_id = id AND number = 0 AND start = 0 AND building = '' ORDER BY id"
    ).fetchall()
    assert after == before
    assert everything(new) == kept
    assert new.execute("PRAGMA foreign_key_check").fetchall() == []
    new.close()


def test_h07_a_migration_that_fails_changes_nothing(folder):
    connection = sqlite3.connect(folder / "footnote.db", isolation_level=None)
    connection.execute("CREATE TABLE chat_memories (somebody_elses TEXT)")  # what the migration wants to make
    connection.close()
    with pytest.raises(StorageError, match="chat_memories already exists"):
        Database(folder)
    assert version(folder / "footnote.db") == "0001"
    assert len(list((folder / "backups").iterdir())) == 1


def test_h07_two_that_start_at_once_migrate_once(folder):
    opened, errors = [], []

    def open_it():
        try:
            opened.append(Database(folder))
        except StorageError as error:
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(opened) == 3
    for database in opened:
        database.close()
    assert version(folder / "footnote.db") == NEWEST
    assert len(list((folder / "backups").iterdir())) == 1


def test_an_up_to_date_database_is_not_copied(folder):
    Database(folder).close()
    Database(folder).close()
    assert len(list((folder / "backups").iterdir())) == 1
