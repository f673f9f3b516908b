"""C11 at any write: each operation on a disk with ever more room, from none on until it goes through.

Each time it fails: one sentence that names the disk, the state before, a clean check, nothing half written left; and
with room the same operation works.
"""

from __future__ import annotations

import gzip
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.bootstrap import build_services
from core.domain import Embedding, EmbeddingSearchRequest
from core.errors import StorageError
from core.services.library import LibraryService
from core.settings import Settings
from storage.backup import restore_backup
from storage.conversations import SqliteConversationStore
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.jobs import SqliteJobStore
from storage.maintenance import SqliteMaintenance
from storage.settings import SqliteSettingsStore
from tests.storage.making import MODEL, finished_document, new_document, parts_of, vector_of
from tests.storage.tiny_disk import TinyDisk, mounted

ROOMS = (0, 8 << 10, 40 << 10, 100 << 10, 250 << 10, 600 << 10, 1500 << 10)
LONG = "".join(f"line {number} {chr(97 + number % 26) * 300}\n" for number in range(600))
SHORT = "a new line\nand another\n"
FULL = r"the disk that holds .* is full|can't be read or written \(is it full\?\)|the disk has no room"
OLD = Path(__file__).parent / "format-0002.db.gz"


@dataclass
class World:
    """A small library on the disk: one document, one deleted one, one conversation; and a backup elsewhere."""

    disk: TinyDisk
    database: Database
    backup: Path

    def __post_init__(self) -> None:
        self.files = LocalFileStore(self.database.data_dir)
        self.documents = SqliteDocumentStore(self.database, self.files)
        self.jobs = SqliteJobStore(self.database)
        self.library = LibraryService(self.documents, self.files, self.jobs)
        self.conversations = SqliteConversationStore(self.database)
        self.settings = SqliteSettingsStore(self.database)
        self.maintenance = SqliteMaintenance(self.database, self.files, model_id=MODEL)
        self.store = FaissEmbeddingStore(self.database, model_id=MODEL)

    def fill(self) -> None:
        for name in ("kept", "gone"):
            text = f"{name}: a line of text\nand a second one\n"
            self.files.put(text.encode())
            self.documents.save(new_document(text, f"{name}.txt"))
        self.documents.delete(2)
        conversation = self.conversations.create("Title")
        self.conversations.add_turn(conversation.id, "a question", request_key="k")
        self.maintenance.backup(self.backup)

    def state(self) -> list:
        """Everything that a person can see."""
        query = EmbeddingSearchRequest(Embedding(vector_of("kept: a line of text\n")), 3)
        (conversation,) = self.conversations.list()
        return [
            self.documents.list(),
            self.documents.deleted(),
            self.store.search(query),
            [(message.text, message.state) for message in self.conversations.messages(conversation.id)],
            [job.name for job in self.jobs.list()],
            self.settings.load(),
        ]

    def half_written(self) -> list[str]:
        folder = self.database.data_dir
        return [
            path.name
            for pattern in ("originals/unfinished/*", "originals/held/*", "index/*.tmp", "backups/*.tmp", "../.*")
            for path in folder.glob(pattern)
        ]

    def shrink(self) -> None:
        """Nothing that a step before has taken may help the next one."""
        connection = sqlite3.connect(self.database.path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()


def save(world: World, text: str, name: str = "new.txt") -> None:
    world.files.put(text.encode())
    world.documents.save(new_document(text, name))


def save_in_parts(world: World) -> None:
    world.files.put(LONG.encode())
    for part in parts_of(LONG, lines=100):
        world.documents.add_part(part)
    world.documents.publish(finished_document(LONG, "long.txt"))


OPERATIONS: dict[str, Callable[[World], object]] = {
    "upload": lambda world: world.library.add_bytes("new.txt", LONG.encode()),
    "ingest": lambda world: save(world, SHORT),
    "ingest_long": lambda world: save(world, LONG),
    "ingest_in_parts": save_in_parts,
    "replace": lambda world: save(world, LONG, "kept.txt"),
    "delete": lambda world: world.documents.delete(1),
    "undelete": lambda world: world.documents.undelete(2),
    "purge": lambda world: world.documents.purge_deleted(),
    "backup": lambda world: world.maintenance.backup(world.disk.folder / "new.zip"),
    "restore": lambda world: restore_backup(world.backup, world.disk.folder / "restored"),
    "question": lambda world: world.conversations.add_turn(
        world.conversations.list()[0].id, "x" * 50_000, request_key="new"
    ),
    "answer": lambda world: world.conversations.update_message(2, text="x" * 200_000, state="complete"),
    "setting": lambda world: world.settings.save("seed", 7),
    "collection": lambda world: world.documents.add_collection("boats"),
}


@pytest.fixture
def disk(tmp_path):
    with mounted(tmp_path / "tiny", 8) as found:
        if found is None:
            pytest.skip("mounting a tiny file system isn't allowed here")
        yield found


@pytest.mark.parametrize("name", OPERATIONS)
def test_c11_an_operation_on_a_full_disk_changes_nothing_and_works_with_room(disk, tmp_path, name):
    operate = OPERATIONS[name]
    with Database(disk.folder / "data") as database:
        world = World(disk, database, tmp_path / "backup.zip")
        world.fill()
        before, failures = world.state(), 0
        for room in (*ROOMS, None):
            world.shrink()
            disk.empty() if room is None else disk.leave(room)
            try:
                operate(world)
            except StorageError as error:
                failures += 1
                disk.empty()
                assert re.search(FULL, str(error))
                assert world.state() == before
                assert world.half_written() == []
                assert world.maintenance.check() == []
            else:
                break
        else:
            pytest.fail("it never went through")
        disk.empty()
        assert failures, "there was no room, and it went through all the same"
        assert world.maintenance.check() == []
        assert world.half_written() == []


def test_c11_h07_an_upgrade_on_a_full_disk_leaves_the_old_database_usable(disk):
    folder = disk.folder / "data"
    folder.mkdir()
    (folder / "footnote.db").write_bytes(gzip.decompress(OLD.read_bytes()))
    for room in (*ROOMS, None):
        disk.empty() if room is None else disk.leave(room)
        try:
            database = Database(folder)
        except StorageError as error:
            disk.empty()
            assert re.search(FULL, str(error))
            with sqlite3.connect(folder / "footnote.db") as old:
                assert old.execute("SELECT version_num FROM alembic_version").fetchone() == ("0002",)
                assert old.execute("SELECT count(*) FROM documents").fetchone() == (4,)
                assert old.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            old.close()
            assert list(folder.glob("backups/*.tmp")) == []
        else:
            break
    with database:
        assert room != 0
        documents = SqliteDocumentStore(database, LocalFileStore(folder))
        assert [record.name for record in documents.list()] == ["staff.txt", "copy.txt", "pump.md", "long.txt"]


def test_c11_without_room_for_the_index_file_searches_go_on(disk):
    with Database(disk.folder / "data") as database:
        world = World(disk, database, disk.folder.parent / "backup.zip")
        world.fill()
        before = world.state()
        disk.leave(0)
        store = FaissEmbeddingStore(database, model_id=MODEL)
        store.load()
        store.close()  # would write it
        assert list((disk.folder / "data" / "index").glob("*.faiss*")) == []
        assert world.state() == before


def test_c11_a_job_on_a_full_disk_says_so_and_is_done_when_it_is_tried_again_with_room(disk):
    services = build_services(Settings(data=disk.folder / "data", chat_model="echo", embedding_model="hashing"))
    services.library.add_bytes("kept.txt", b"The pump is blue.")
    services.indexing.run_until_idle()
    text = "\n\n".join(f"Part {number} is made of {'steel' * 40}." for number in range(120))
    disk.leave(len(text) + (140 << 10))  # enough for the file and its job, not for its segments
    job = services.library.add_bytes("long.txt", text.encode())
    services.indexing.run_until_idle()
    (failed,) = [found for found in services.library.jobs() if found.id == job.id]
    disk.empty()
    assert (failed.state, bool(re.search(FULL, failed.reason))) == ("failed", True)
    assert [document.name for document in services.library.documents()] == ["kept.txt"]
    assert services.maintenance.check() == []
    services.library.retry_job(job.id)
    services.indexing.run_until_idle()
    assert [document.name for document in services.library.documents()] == ["kept.txt", "long.txt"]
    assert services.maintenance.check() == []
    services.close()
