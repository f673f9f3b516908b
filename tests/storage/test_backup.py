"""A backup holds everything; a restore brings it back whole or changes nothing."""

import json
import zipfile

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


@pytest.mark.parametrize("change", [cut, longer, without_manifest, without_original, escaping, other_format])
def test_a_damaged_or_hostile_backup_is_refused_and_nothing_is_left(backup, tmp_path, change):
    rewrite(backup, change)
    with pytest.raises(StorageError, match=r"'backup.zip' is (no whole backup|a backup of another format)"):
        restore_backup(backup, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.zip", "data"]


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
    with pytest.raises(NewerDatabaseError):
        restore_backup(tmp_path / "newer.zip", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "newer.zip"]


def test_a_folder_that_is_missing_is_named(folder, tmp_path):
    with (
        Database(folder) as database,
        pytest.raises(StorageError, match=r"no folder '.*nowhere' for the backup"),
    ):
        write_backup(database, LocalFileStore(folder), tmp_path / "nowhere" / "b.zip")
