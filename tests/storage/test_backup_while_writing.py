"""A backup is one moment of a folder that others write into, and gives the same answers wherever it's restored."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
import zipfile

import pytest

from core.bootstrap import build_services
from core.errors import StorageError
from core.settings import Settings
from storage.backup import restore_backup
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from storage.jobs import SqliteJobStore
from storage.maintenance import SqliteMaintenance
from tests.storage.making import MODEL, new_document

WRITER = """
import itertools, sys
from pathlib import Path
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from tests.storage.test_backup_while_writing import write_and_delete

with Database(Path(sys.argv[1])) as database:
    print("ready", flush=True)
    write_and_delete(database, "process", itertools.repeat(None))
"""


def write_and_delete(database, name, rounds) -> None:
    """Documents come, change and go for good at full speed; each has an original."""
    files = LocalFileStore(database.data_dir)
    documents = SqliteDocumentStore(database, files)
    for number, _ in enumerate(rounds):
        text = "".join(f"{name} {number} line {line}\n" for line in range(8))
        files.put(text.encode())
        documents.save(new_document(text, f"{name}{number % 7}.txt"))
        if number % 3 == 2:
            gone = next(record for record in documents.list() if record.name.startswith(name))
            documents.delete(gone.id)
            documents.purge_deleted(document_ids=[gone.id])


def test_backups_beside_two_writers_hold_whole_documents_with_all_their_originals(tmp_path):
    data = tmp_path / "data"
    with Database(data) as database:
        write_and_delete(database, "before", range(3))
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(data)], stdout=subprocess.PIPE, text=True)
        stop = threading.Event()
        thread = threading.Thread(target=write_and_delete, args=(database, "thread", iter(lambda: stop.is_set(), True)))
        thread.start()
        try:
            assert process.stdout.readline() == "ready\n"
            maintenance = SqliteMaintenance(database, LocalFileStore(data))
            counts = []
            for number in range(4):
                counts.append(maintenance.backup(tmp_path / f"{number}.zip"))
                time.sleep(0.2)
        finally:
            stop.set()
            thread.join()
            process.kill()
            process.wait()
            process.stdout.close()
    for number, counted in enumerate(counts):
        restored = tmp_path / f"restored{number}"
        assert restore_backup(tmp_path / f"{number}.zip", restored) == counted
        with Database(restored) as database:
            files = LocalFileStore(restored)
            records = SqliteDocumentStore(database, files).list()
            assert counted["files"] == len(records) == counted["documents"] > 0
            assert {record.segments for record in records if record.name[:6] != "before"} <= {8}
            assert all(files.is_intact(record.content_hash) for record in records)
            assert SqliteMaintenance(database, files, model_id=MODEL).check() == []
    assert sorted(path.name for path in tmp_path.glob(".*")) == []
    assert list((data / "originals" / "held").iterdir()) == []


QUERIES = [
    *(f"price of part {number}" for number in range(0, 40, 4)),
    *(f"which tank holds {number * 7} litres" for number in range(3, 33, 6)),
    "a part that is red", "the oldest tank", "xk-17", "litres of oil", "nothing like it",
]  # fmt: skip


def answers(services):
    found = {}
    for query in QUERIES:
        for retriever in ("vector", "keyword", "hybrid"):
            contents = services.search.search(query, retriever=retriever, limit=5).contents
            found[query, retriever] = [(content.id, content.document_id, content.scores) for content in contents]
    return found


def services_on(folder):
    return build_services(Settings(data=folder, chat_model="echo", embedding_model="hashing"))


def test_a_restored_backup_gives_the_same_answers_to_twenty_questions(tmp_path):
    assert len(QUERIES) == 20
    services = services_on(tmp_path / "data")
    for number in range(40):
        text = f"Part XK-{number} costs {number * 3} euros.\n\nTank {number} holds {number * 7} litres of oil."
        services.library.add_bytes(f"part{number}.txt", text.encode(), collection="parts" if number % 2 else "tanks")
    services.indexing.run_until_idle()
    services.library.delete(services.library.documents()[3].id)
    before = answers(services)
    counts = services.maintenance.backup(tmp_path / "backup.zip")
    services.close()
    assert counts == {"documents": 39, "segments": 39, "conversations": 0, "files": 39}

    shutil.rmtree(tmp_path / "data")
    restore_backup(tmp_path / "backup.zip", tmp_path / "elsewhere" / "new")
    restored = services_on(tmp_path / "elsewhere" / "new")
    assert answers(restored) == before
    assert restored.library.deleted() == []  # what was deleted isn't carried away
    assert restored.maintenance.check() == []
    restored.close()


def test_what_is_deleted_or_unfinished_is_not_carried_and_not_even_in_free_pages(tmp_path):
    services = services_on(tmp_path / "data")
    services.library.add_bytes("kept.txt", b"The pump is blue.")
    services.library.add_bytes("gone.txt", b"The password is zebra9917.")
    services.indexing.run_until_idle()
    services.library.delete(services.library.documents()[1].id)
    services.close()
    with Database(tmp_path / "data") as database:
        jobs = SqliteJobStore(database)
        files = LocalFileStore(tmp_path / "data")
        content_hash = files.put(b"waiting")
        jobs.add("ingest", "waiting.txt", {"content_hash": content_hash, "name": "waiting.txt"})
        assert jobs.claim("somebody", lease_s=1000).name == "waiting.txt"
        SqliteMaintenance(database, files).backup(tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert b"zebra9917" not in archive.read("footnote.db")
        assert sum(name.startswith("originals/") for name in archive.namelist()) == 2
    restore_backup(tmp_path / "b.zip", tmp_path / "new")
    with Database(tmp_path / "new") as database:
        assert SqliteJobStore(database).claim("me", lease_s=10).name == "waiting.txt"  # nobody's lease is in the way
        assert SqliteDocumentStore(database, LocalFileStore(tmp_path / "new")).deleted() == []


def test_an_original_with_other_bytes_is_not_passed_on_as_the_right_one(tmp_path):
    with Database(tmp_path / "data") as database:
        files = LocalFileStore(tmp_path / "data")
        files.path(files.put(b"one\n")).write_bytes(b"other")
        SqliteDocumentStore(database, files).save(new_document("one\n"))
        assert SqliteMaintenance(database, files).backup(tmp_path / "b.zip")["files"] == 0
    assert restore_backup(tmp_path / "b.zip", tmp_path / "new")["documents"] == 1


def test_a_damaged_database_is_not_backed_up_as_if_it_were_whole(tmp_path):
    with Database(tmp_path / "data") as database:
        documents = SqliteDocumentStore(database, LocalFileStore(tmp_path / "data"))
        documents.save(new_document("\n".join(f"line {number} of a longer text" for number in range(400)), "long.txt"))
    path = tmp_path / "data" / "footnote.db"
    whole = path.read_bytes()
    page = whole.index(b"line 200 of") // 4096 * 4096
    path.write_bytes(whole[:page] + b"\xff" * 4096 + whole[page + 4096 :])
    with Database(tmp_path / "data") as database:
        maintenance = SqliteMaintenance(database, LocalFileStore(tmp_path / "data"))
        with pytest.raises(StorageError, match="damaged"):
            maintenance.backup(tmp_path / "b.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_a_copy_that_an_upgrade_kept_is_restored_with_its_originals(tmp_path):
    with Database(tmp_path / "data") as database:
        files = LocalFileStore(tmp_path / "data")
        files.put(b"one\ntwo\n")
        SqliteDocumentStore(database, files).save(new_document("one\ntwo\n"))
    kept = tmp_path / "data" / "backups" / "before.db"
    kept.parent.mkdir()
    shutil.copyfile(tmp_path / "data" / "footnote.db", kept)
    counts = restore_backup(kept, tmp_path / "new")
    assert counts == {"documents": 1, "segments": 2, "conversations": 0, "files": 1}
    with Database(tmp_path / "new") as database:
        maintenance = SqliteMaintenance(database, LocalFileStore(tmp_path / "new"), model_id=MODEL)
        assert maintenance.check() == []
