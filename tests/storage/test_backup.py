"""A backup holds everything; a restore brings it back whole or changes nothing."""

import contextlib
import gzip
import hashlib
import json
import os
import sqlite3
import time
import zipfile
from pathlib import Path

import pytest

from core.errors import NewerDatabaseError, StorageError
from storage.backup import restore_backup, write_backup
from storage.conversations import SqliteConversationStore
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from storage.maintenance import SqliteMaintenance
from tests.storage.making import MODEL, new_document


@pytest.fixture
def folder(tmp_path):
    with Database(tmp_path / "data") as database:
        files = LocalFileStore(tmp_path / "data")
        files.put(b"one\ntwo\n")
        SqliteDocumentStore(database, files).save(new_document("one\ntwo\n"))
        SqliteConversationStore(database).create("Title")
    return tmp_path / "data"


@pytest.fixture
def backup(folder, tmp_path):
    with Database(folder) as database:
        SqliteMaintenance(database, LocalFileStore(folder)).backup(tmp_path / "backup.zip")
    return tmp_path / "backup.zip"


def rewrite(backup, change):
    """The same zip with `change(name, data)` in place of each member; None leaves it out."""
    with zipfile.ZipFile(backup) as archive:
        members = {name: change(name, archive.read(name)) for name in archive.namelist()}
    with zipfile.ZipFile(backup, "w") as archive:
        for name, data in members.items():
            if data is not None:
                archive.writestr(name, data)


def test_everything_comes_back(backup, folder, tmp_path):
    counts = restore_backup(backup, tmp_path / "new" / "data")
    assert counts == {"documents": 1, "segments": 2, "conversations": 1, "files": 1}
    with Database(folder) as old, Database(tmp_path / "new" / "data") as new:
        files = LocalFileStore(new.data_dir)
        documents = SqliteDocumentStore(new, files)
        assert documents.list() == SqliteDocumentStore(old, LocalFileStore(folder)).list()
        assert files.read(documents.get(1).content_hash) == b"one\ntwo\n"
        assert [row.title for row in SqliteConversationStore(new).list()] == ["Title"]
        assert SqliteMaintenance(new, files, model_id=MODEL).check() == []


def test_an_existing_file_is_not_overwritten(folder, backup, tmp_path):
    with Database(folder) as database:
        maintenance = SqliteMaintenance(database, LocalFileStore(folder))
        with pytest.raises(StorageError, match=r"'backup.zip' exists already"):
            maintenance.backup(backup)
        with pytest.raises(StorageError, match="there is no folder"):
            maintenance.backup(tmp_path / "no such folder" / "b.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.zip", "data"]


def test_a_folder_with_something_in_it_is_not_touched(backup, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(StorageError, match="'full' isn't empty"):
        restore_backup(backup, tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    (tmp_path / "empty").mkdir()
    assert restore_backup(backup, tmp_path / "empty")["documents"] == 1


def cut(name, data):
    return data[:-1] if name == "footnote.db" else data


def longer(name, data):
    return data + b"!" if name == "footnote.db" else data


def without_manifest(name, data):
    return None if name == "manifest.json" else data


def without_original(name, data):
    return None if name.startswith("originals") else data


def escaping(name, data):
    return data.replace(b'"originals/', b'"../originals/') if name == "manifest.json" else data


def other_format(name, data):
    return json.dumps({**json.loads(data), "format": 2}) if name == "manifest.json" else data


def absolute(name, data):
    return data.replace(b'"originals/', b'"/originals/') if name == "manifest.json" else data


def other_bytes_under_a_hash(name, data):
    """An original is called by its hash: whoever changes both the file and its checksum in the list is found out."""
    if name == "manifest.json":
        manifest = json.loads(data)
        for member, described in manifest["files"].items():
            if member.startswith("originals/"):
                described.update(sha256=hashlib.sha256(b"evil").hexdigest(), size=4)
        return json.dumps(manifest)
    return b"evil" if name.startswith("originals/") else data


def negative_size(name, data):
    return data.replace(b'"size": ', b'"size": -') if name == "manifest.json" else data


def deep_list(name, data):
    return b"[" * 100_000 if name == "manifest.json" else data


def forged_database(database):
    """The same with another database in it, whose checksum is right."""

    def change(name, data):
        if name == "footnote.db":
            return database
        if name == "manifest.json":
            manifest = json.loads(data)
            manifest["files"]["footnote.db"] = {"sha256": hashlib.sha256(database).hexdigest(), "size": len(database)}
            return json.dumps(manifest)
        return data

    return change


def made_by(*statements):
    connection = sqlite3.connect(":memory:")
    for statement in statements:
        connection.execute(statement)
    return connection.serialize()


NO_DATABASE = forged_database(b"this is no database" * 100)
FOREIGN = forged_database(made_by("CREATE TABLE music (title TEXT)"))
EMPTY = forged_database(b"")


@pytest.mark.parametrize(
    "change",
    [
        cut,
        longer,
        without_manifest,
        without_original,
        escaping,
        absolute,
        other_bytes_under_a_hash,
        negative_size,
        deep_list,
        other_format,
        NO_DATABASE,
        FOREIGN,
        EMPTY,
    ],
)
def test_a_damaged_or_hostile_backup_is_refused_and_nothing_is_left(backup, tmp_path, change):
    rewrite(backup, change)
    with pytest.raises(StorageError, match=r"'backup.zip' is (no whole backup|a backup of another format)"):
        restore_backup(backup, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.zip", "data"]


def changed(backup, *statements):
    """The backup with its database changed by `statements`, and a checksum that is right."""
    path = backup.with_name("db")
    with zipfile.ZipFile(backup) as archive:
        path.write_bytes(archive.read("footnote.db"))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    rewrite(backup, forged_database(path.read_bytes()))
    path.unlink()


SPY = "AFTER INSERT ON messages BEGIN DELETE FROM documents; END"


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        ([f"CREATE TRIGGER spy {SPY}"], "spy"),
        (["DROP TRIGGER segments_fts_insert", f"CREATE TRIGGER segments_fts_insert {SPY}"], "segments_fts_insert"),
        (["ALTER TABLE documents RENAME TO kept", "CREATE VIEW documents AS SELECT * FROM kept"], "documents"),
        (["DROP TABLE settings", "CREATE VIEW settings AS SELECT name, title AS value FROM conversations"], "settings"),
        (["DROP INDEX jobs_state", "CREATE UNIQUE INDEX jobs_state ON jobs (state)"], "jobs_state"),
        (["ALTER TABLE documents ADD COLUMN more TEXT"], "documents"),
        (["DROP TABLE segments_fts", "CREATE VIEW segments_fts_data AS SELECT 1"], "segments_fts_data"),
    ],
)
def test_a_database_with_parts_that_are_not_footnotes_is_refused(backup, tmp_path, statements, named):
    changed(backup, *statements)
    with pytest.raises(StorageError, match=rf"its database holds '{named}', which isn't Footnote's"):
        restore_backup(backup, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.zip", "data"]


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_a_database_of_an_older_format_is_restored_and_its_program_parts_are_looked_at_too(tmp_path, version):
    old = tmp_path / "old.db"
    old.write_bytes(gzip.decompress((Path(__file__).parent / f"format-{version}.db.gz").read_bytes()))
    counts = restore_backup(old, tmp_path / "new")
    assert (counts["documents"], counts["files"]) == ({"0001": 2, "0002": 4}[version], 0)
    assert counts["missing_originals"] == {"0001": 2, "0002": 3}[version]  # two of the four have the same
    with contextlib.closing(sqlite3.connect(old)) as connection:
        connection.execute("DROP TRIGGER segments_fts_delete")
        connection.execute("CREATE TRIGGER segments_fts_delete AFTER UPDATE ON jobs BEGIN DELETE FROM texts; END")
    with pytest.raises(StorageError, match="'segments_fts_delete', which isn't Footnote's"):
        restore_backup(old, tmp_path / "newer")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old.db"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE texts SET content_hash = x'0102'",
        "INSERT INTO jobs SELECT 99, 'ingest', 'failed', 'a', '{\"content_hash\": 7}', "
        "0, '', '', '{}', '', 0, 0, NULL, NULL, 0, 0",
    ],
)
def test_an_original_that_is_called_by_no_hash_is_refused(backup, tmp_path, statement):
    changed(backup, statement)
    with pytest.raises(StorageError, match=r"names the original (b'\\x01\\x02'|7), which isn't the SHA-256 of a file"):
        restore_backup(backup, tmp_path / "new")


def test_details_that_are_no_json_are_one_sentence(backup, tmp_path):
    row = "99, 'ingest', 'failed', 'a', 'no json', 0, '', '', '{}', '', 0, 0, NULL, NULL, 0, 0"
    changed(backup, f"INSERT INTO jobs SELECT {row}")
    with pytest.raises(StorageError, match="its database can't be read: malformed JSON"):
        restore_backup(backup, tmp_path / "new")


def test_a_member_that_is_packed_as_no_backup_is_is_refused(backup, tmp_path):
    with zipfile.ZipFile(backup) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(backup, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    packed = bytearray(backup.read_bytes())
    packed[60:90] = bytes(30)  # and damaged, which raises an error of its own kind
    backup.write_bytes(packed)
    with pytest.raises(StorageError, match=r"'footnote.db' in it is packed in another way"):
        restore_backup(backup, tmp_path / "new")


def test_what_a_backup_says_to_hold_is_counted_anew(backup, tmp_path):
    def boast(name, data):
        return json.dumps({**json.loads(data), "counts": {"all your base": [1]}}) if name == "manifest.json" else data

    rewrite(backup, boast)
    counts = restore_backup(backup, tmp_path / "new")
    assert counts == {"documents": 1, "segments": 2, "conversations": 1, "files": 1}


def test_a_backup_may_be_called_as_the_database_is(folder, tmp_path):
    with Database(folder) as database:
        write_backup(database, LocalFileStore(folder), tmp_path / "footnote.db")
    assert restore_backup(tmp_path / "footnote.db", tmp_path / "new")["documents"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "footnote.db", "new"]


def test_a_database_in_use_is_not_taken_for_a_backup(folder, tmp_path):
    with Database(folder) as database:
        SqliteConversationStore(database).create("Written last, and not in the file yet")
        with pytest.raises(StorageError, match=r"'footnote.db' is a database in use.*--data \S*data'? backup FILE"):
            restore_backup(folder / "footnote.db", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
    counts = restore_backup(folder / "footnote.db", tmp_path / "new")  # closed; its originals lie beside it
    assert counts == {"documents": 1, "segments": 2, "conversations": 2, "files": 1}


def test_a_restore_that_was_killed_is_swept_by_the_next_one_whatever_its_name(backup, tmp_path):
    killed, young = tmp_path / ".footnote-restoring-1", tmp_path / ".footnote-restoring-2"
    for folder in (killed, young):
        (folder / "other").mkdir(parents=True)
    yesterday = time.time() - 25 * 3600
    os.utime(killed, (yesterday, yesterday))
    restore_backup(backup, tmp_path / "new")
    assert (killed.exists(), young.exists()) == (False, True)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.99])
def test_a_backup_that_is_cut_off_is_refused(backup, tmp_path, share):
    whole = backup.read_bytes()
    backup.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StorageError, match=r"'backup.zip' is no whole backup \(.*\); nothing was restored"):
        restore_backup(backup, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.zip", "data"]


def test_a_link_in_a_backup_is_not_followed_and_nothing_is_written_outside(backup, tmp_path):
    (tmp_path / "secret").write_text("mine")
    with zipfile.ZipFile(backup) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    (original,) = [name for name in members if name.startswith("originals/")]
    with zipfile.ZipFile(backup, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            if name == original:
                info.external_attr, data = 0o120777 << 16, str(tmp_path / "secret").encode()
            archive.writestr(info, data)
    with pytest.raises(StorageError, match="is damaged"):
        restore_backup(backup, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.zip", "data", "secret"]


def test_a_bomb_is_not_unpacked(backup, tmp_path):
    """1 GB of zeros in a megabyte: what the list promises is looked at first, and then held to."""
    with zipfile.ZipFile(backup) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    (original,) = [name for name in members if name.startswith("originals/")]
    manifest["files"][original]["size"] = 1 << 30
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(backup, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            if name != original:
                archive.writestr(name, data)
        with archive.open(original, "w") as packed:
            for _ in range(16):
                packed.write(bytes(1 << 20))
    with pytest.raises(StorageError, match="it says to hold more than it can"):
        restore_backup(backup, tmp_path / "new")
    manifest["files"][original]["size"] = 8
    rewrite(backup, lambda name, data: json.dumps(manifest) if name == "manifest.json" else data)
    with pytest.raises(StorageError, match="is damaged"):
        restore_backup(backup, tmp_path / "new")
    manifest["files"]["footnote.db"]["size"] = 1 << 60
    rewrite(backup, lambda name, data: json.dumps(manifest) if name == "manifest.json" else data)
    with pytest.raises(StorageError, match=r"the disk has no room for what is in 'backup.zip'"):
        restore_backup(backup, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.zip", "data"]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="without a folder that nobody can write to")
def test_a_place_that_can_not_be_written_is_named_and_nothing_changes(folder, backup, tmp_path):
    (tmp_path / "file").write_text("mine")
    for place, said in (
        (tmp_path / "file", "'file' is a file; restore into a new folder"),
        (tmp_path / "file" / "below", "a file is in the way"),
        (Path("/proc/footnote"), "can't be written to"),
    ):
        with pytest.raises(StorageError, match=said):
            restore_backup(backup, place)
    with Database(folder) as database:
        maintenance = SqliteMaintenance(database, LocalFileStore(folder))
        with pytest.raises(StorageError, match=r"the backup can't be written to 'proc'"):
            maintenance.backup(Path("/proc/backup.zip"))
        with pytest.raises(StorageError, match=r"there is no folder"):
            maintenance.backup(tmp_path / "file" / "backup.zip")
    with pytest.raises(StorageError, match=r"the backup 'data' can't be read"):
        restore_backup(folder, tmp_path / "new")
    assert (tmp_path / "file").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.zip", "data", "file"]


def test_what_is_no_zip_or_not_there_is_said(tmp_path):
    (tmp_path / "text.zip").write_text("not a zip")
    with pytest.raises(StorageError, match=r"'text.zip' is no whole backup"):
        restore_backup(tmp_path / "text.zip", tmp_path / "new")
    with pytest.raises(StorageError, match=r"there is no backup 'none.zip'"):
        restore_backup(tmp_path / "none.zip", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_h07_a_backup_by_a_newer_footnote_is_refused(folder, tmp_path):
    with Database(folder) as database:
        with database.write() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        SqliteMaintenance(database, LocalFileStore(folder)).backup(tmp_path / "newer.zip")
    with pytest.raises(NewerDatabaseError, match=r"'newer.zip' was written by a newer Footnote; update this one"):
        restore_backup(tmp_path / "newer.zip", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "newer.zip"]


def test_a_folder_that_is_missing_is_named(folder, tmp_path):
    with (
        Database(folder) as database,
        pytest.raises(StorageError, match=r"no folder '.*nowhere' for the backup"),
    ):
        write_backup(database, LocalFileStore(folder), tmp_path / "nowhere" / "b.zip")


@pytest.mark.parametrize(
    "place", ["footnote.db-journal", "footnote.db-wal", "index/x.faiss", "originals/in.zip", "unused/a.zip"]
)
def test_a_backup_is_not_laid_among_the_files_that_footnote_keeps(folder, place):
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / "footnote.db-wal").unlink(missing_ok=True)
    with Database(folder) as database:
        with pytest.raises(StorageError, match=r"exists already|put the backup outside the data folder"):
            write_backup(database, LocalFileStore(folder), folder / place)
        (folder / "backups").mkdir(exist_ok=True)
        write_backup(database, LocalFileStore(folder), folder / "backups" / "a.zip")
    assert not zipfile.is_zipfile(folder / place)


def test_a_name_that_is_too_long_is_one_sentence(folder, backup, tmp_path):
    with Database(folder) as database, pytest.raises(StorageError, match="too long"):
        write_backup(database, LocalFileStore(folder), tmp_path / ("a" * 300))
    with pytest.raises(StorageError, match="too long"):
        restore_backup(backup, tmp_path / ("b" * 300))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="without a file that never ends")
def test_what_never_ends_is_no_backup(tmp_path):
    with pytest.raises(StorageError, match="the backup 'zero' can't be read: it isn't a file"):
        restore_backup(Path("/dev/zero"), tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
