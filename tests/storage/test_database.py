"""The database: transactions, threads, errors as sentences, and the way from an older format."""

import errno
import sqlite3
import threading

import pytest
from sqlalchemy import select, text

from core.errors import NewerDatabaseError, StorageError
from storage.database import Database
from storage.database_errors import storage_error
from storage.files import LocalFileStore
from storage.migrations import NEWEST
from storage.tables import collections, metadata


def names(database):
    with database.read() as connection:
        return sorted(connection.execute(select(collections.c.name)).scalars())


def add(connection, name):
    connection.execute(collections.insert().values(name=name, created=0))


def test_a_new_database_is_in_wal_mode_with_foreign_keys(tmp_path):
    with Database(tmp_path / "data") as database, database.read() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2


def test_an_exception_rolls_back(tmp_path):
    with Database(tmp_path) as database:
        with pytest.raises(KeyError), database.write() as connection:
            add(connection, "lost")
            raise KeyError
        with database.write() as connection:
            add(connection, "kept")
        assert names(database) == ["kept"]


def test_a_read_sees_one_unchanging_view(tmp_path):
    with Database(tmp_path) as database:
        with database.read() as connection:
            before = connection.execute(select(collections.c.name)).all()
            with database.write() as other:
                add(other, "new")
            assert connection.execute(select(collections.c.name)).all() == before == []
        assert names(database) == ["new"]


def test_a_read_keeps_no_change(tmp_path):
    with Database(tmp_path) as database:
        with database.read() as connection:
            add(connection, "slipped in")
        assert names(database) == []


def test_a_write_inside_a_write_is_refused_at_once(tmp_path):
    refused = pytest.raises(RuntimeError, match="pass the connection on")
    with Database(tmp_path) as database, database.write(), refused, database.write():
        pass


def test_c09_reads_that_lead_to_writes_never_fail_as_locked(tmp_path):
    databases = [Database(tmp_path) for _ in range(4)]  # four, as if they were processes: no lock in Python helps
    errors = []

    def work(number):
        try:
            for step in range(20):
                with databases[number].write() as connection:
                    connection.execute(select(collections)).all()
                    add(connection, f"{number}-{step}")
        except StorageError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(names(databases[0])) == 80
    for database in databases:
        database.close()


def test_c10_any_thread_may_use_a_database_that_another_made(tmp_path):
    seen = []
    with Database(tmp_path) as database:
        with database.write() as connection:
            add(connection, "here")
        thread = threading.Thread(target=lambda: seen.append(names(database)))
        thread.start()
        thread.join()
    assert seen == [["here"]]


def test_a_locked_database_is_one_sentence(tmp_path):
    with Database(tmp_path / "mine") as database, Database(tmp_path / "mine", busy_timeout_s=0.05) as other:
        with database.write() as connection:
            add(connection, "mine")
            refused = pytest.raises(StorageError, match="'mine' is being written by another Footnote; try again")
            with refused, other.write():
                pass
        assert names(other) == ["mine"]


def test_h07_a_newer_database_is_refused_and_not_touched(tmp_path):
    Database(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "footnote.db", isolation_level=None)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = (tmp_path / "footnote.db").read_bytes()
    with pytest.raises(NewerDatabaseError, match=f"newer Footnote .format 9999, this one knows {NEWEST}.; update"):
        Database(tmp_path)
    assert (tmp_path / "footnote.db").read_bytes() == before
    assert not (tmp_path / "backups").exists()


def test_somebody_elses_database_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / "footnote.db")
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(StorageError, match="wasn't made by Footnote"):
        Database(tmp_path)


def test_a_file_that_is_no_database_is_one_sentence(tmp_path):
    (tmp_path / "footnote.db").write_bytes(b"this is not a database at all" * 100)
    with pytest.raises(StorageError, match=r"'footnote.db' in .* is not a database"):
        Database(tmp_path)


def test_a_file_in_the_way_is_one_sentence(tmp_path):
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StorageError, match="'data' can't be the data folder"):
        Database(tmp_path / "data")


def test_a_full_disk_and_a_read_only_one_are_told_apart(tmp_path):
    full = storage_error(OSError(errno.ENOSPC, "No space left on device"), tmp_path / "data")
    read_only = storage_error(OSError(errno.EROFS, "Read-only file system"), tmp_path / "data")
    assert str(full) == "the disk that holds the data folder 'data' is full; free some space and try again"
    assert str(read_only).startswith("the data folder 'data' is read-only")


def test_the_tables_are_what_the_migrations_make(tmp_path):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    def ours(object, name, kind, reflected, compare_to):
        return not (name or "").startswith("segments_fts")

    with Database(tmp_path) as database, database.read() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": ours, "compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_newest_is_the_last_version(tmp_path):
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    import storage.migrations

    config = Config()
    config.set_main_option("script_location", storage.migrations.__path__[0])
    assert ScriptDirectory.from_config(config).get_heads() == [NEWEST]


@pytest.mark.parametrize("lost", ["missing", "empty"])
def test_files_without_their_database_are_no_new_library(tmp_path, lost):
    Database(tmp_path).close()
    files = LocalFileStore(tmp_path)
    content_hash = files.put(b"The only copy.")
    for path in tmp_path.glob("footnote.db*"):
        path.unlink()
    if lost == "empty":
        (tmp_path / "footnote.db").touch()
    with pytest.raises(StorageError, match=f"is {lost}.*restore a backup"):
        Database(tmp_path)
    assert files.read(content_hash) == b"The only copy."
    (tmp_path / "originals").rename(tmp_path / "saved")
    Database(tmp_path).close()
