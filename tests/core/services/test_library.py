import io
import os
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from core.errors import ConfigError, DocumentError, NotFoundError, StorageError
from core.services.library import LibraryService
from tests.core.services.indexing_parts import opened


@pytest.fixture
def parts(tmp_path):
    with opened(tmp_path / "data") as parts:
        yield parts


def test_a_file_is_kept_and_then_waits(parts):
    job = parts.library.add_bytes("a.txt", b"One pump.", batch="b")
    assert (job.state, job.kind, job.name, job.batch) == ("waiting", "ingest", "a.txt", "b")
    assert parts.files.read(job.payload["content_hash"]) == b"One pump."
    assert {**job.payload, "content_hash": ""} == {
        "content_hash": "",
        "name": "a.txt",
        "size": 9,
        "source": "upload:a.txt",
        "collection": "default",
        "on_conflict": "keep_both",
    }
    assert parts.library.documents() == []


def test_an_open_file_is_read_from_where_it_stands(parts):
    stream = io.BytesIO(b"skipped|kept")
    stream.seek(8)
    job = parts.library.add_bytes("a.txt", stream)
    assert (parts.files.read(job.payload["content_hash"]), job.payload["size"]) == (b"kept", 4)


class Pipe(io.RawIOBase):
    """A stream that doesn't know its length, as from the network."""

    def __init__(self, size: int) -> None:
        self.left = size

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        size = min(size, self.left)
        self.left -= size
        return b"x" * size


@pytest.mark.parametrize("data", [b"x" * 2_000_001, io.BytesIO(b"x" * 2_000_001), Pipe(50_000_000)])
def test_a_file_that_is_too_large_is_refused_before_it_is_kept(parts, data):
    with pytest.raises(DocumentError, match=r"'big.txt' is larger than the limit of 2 MB \(max_file_mb\)") as caught:
        parts.library.add_bytes("big.txt", data)
    assert caught.value.file_name == "big.txt"
    assert parts.library.jobs() == [] and list(parts.files.hashes()) == []
    assert not isinstance(data, Pipe) or data.left > 45_000_000


def test_a_file_of_exactly_the_limit_is_taken(parts):
    assert parts.library.add_bytes("big.txt", b"x" * 2_000_000).payload["size"] == 2_000_000


def test_c11_where_the_original_cannot_be_kept_nothing_is_queued(parts):
    parts.files.folder.write_text("a file where the folder should be")
    with pytest.raises(StorageError):
        parts.library.add_bytes("a.txt", b"One pump.")
    assert parts.library.jobs() == []


def test_a_path_is_its_own_source(parts, tmp_path):
    (tmp_path / "a.txt").write_text("One pump.")
    job = parts.library.add_path(tmp_path / "a.txt", collection="work", password="secret")
    assert (job.payload["source"], job.payload["on_conflict"]) == (str(tmp_path / "a.txt"), "replace")
    assert (job.payload["collection"], job.payload["password"]) == ("work", "secret")


@pytest.mark.parametrize(("name", "reason"), [("none.txt", "doesn't exist"), ("folder", "is a folder")])
def test_a_path_that_is_no_file_is_one_sentence(parts, tmp_path, name, reason):
    (tmp_path / "folder").mkdir()
    with pytest.raises(DocumentError, match=f"'{name}' {reason}"):
        parts.library.add_path(tmp_path / name)


def test_a46_odd_names_are_shown_neutralised(parts):
    job = parts.library.add_bytes("../../etc/\u202etxt.exe\n.txt", b"One pump.")
    assert job.name == "txt.exe .txt"


def test_a_waiting_job_stops_at_once_and_waits_again_when_retried(parts):
    job = parts.library.add_bytes("a.txt", b"One pump.")
    parts.library.stop_job(job.id)
    assert [job.state for job in parts.library.jobs()] == ["stopped"]
    assert parts.library.jobs(active_only=True) == []
    assert parts.library.retry_job(job.id).state == "waiting"
    assert parts.library.jobs(active_only=True)[0].id == job.id
    parts.library.stop_job(job.id)
    assert parts.library.clear_ended_jobs() == 1 and parts.library.jobs() == []


def test_documents_collections_and_originals(parts):
    parts.library.add_collection("work")
    parts.library.add_bytes("a.txt", b"One pump.", collection="work")
    parts.run()
    (document,) = parts.library.documents(collection="work")
    assert parts.library.document(document.id) == document
    assert parts.library.document_text(document.id).text == "One pump."
    assert parts.library.original(document.id) == ("a.txt", b"One pump.")
    (segment,) = parts.library.segments(document.id)
    assert parts.library.segment(segment.id) == segment and segment.segment.text == "One pump."
    parts.library.rename_collection("work", "home")
    assert [collection.name for collection in parts.library.collections() if collection.documents] == ["home"]
    assert parts.library.delete(document.id).name == "a.txt"
    assert parts.library.documents() == []
    with pytest.raises(NotFoundError):
        parts.library.document(document.id)
    assert parts.library.delete_collection("home") == 0


def test_a_delete_can_be_undone_until_its_time_is_over(parts):
    for name in ("a.txt", "b.txt"):
        parts.library.add_bytes(name, f"{name} holds a pump.".encode())
    parts.run()
    first, second = parts.library.documents()
    parts.library.delete(first.id)
    assert parts.library.sweep_deleted() == 0
    assert [row.id for row in parts.library.deleted()] == [first.id]
    assert parts.library.undelete(first.id) == first
    parts.library.delete_collection("default")
    with parts.database.write() as connection:
        connection.execute(text("UPDATE deleted_documents SET deleted = deleted - 86401 WHERE id = 1"))
    assert parts.library.sweep_deleted() == 1
    assert [row.id for row in parts.library.deleted()] == [second.id]
    assert parts.library.purge_deleted([second.id]) == 1
    assert (parts.library.deleted(), list(parts.files.hashes())) == ([], [])
    with pytest.raises(NotFoundError, match="can't be brought back"):
        parts.library.undelete(second.id)


@pytest.mark.parametrize("ask", ["deleted", "undelete"])
def test_the_time_to_undo_ends_while_the_app_runs(parts, ask):
    parts.library.add_bytes("a.txt", b"One pump.")
    parts.run()
    (document,) = parts.library.documents()
    parts.library.delete(document.id)
    with parts.database.write() as connection:
        connection.execute(text("UPDATE deleted_documents SET deleted = deleted - 86401"))
    if ask == "deleted":
        assert parts.library.deleted() == []
    else:
        with pytest.raises(NotFoundError, match="can't be brought back"):
            parts.library.undelete(document.id)
    assert list(parts.files.hashes()) == []


def test_what_was_deleted_long_ago_goes_while_the_app_runs_and_nobody_asks(tmp_path):
    calls = []

    def sweep():
        calls.append(1)
        if len(calls) == 1:
            raise StorageError("the disk is full")
        if len(calls) == 2:
            raise ZeroDivisionError
        parts.library.sweep_deleted()

    with opened(tmp_path / "data", each_hour=sweep, hour_s=0.5) as parts:
        parts.library.add_bytes("a.txt", b"One pump.")
        parts.run()
        parts.library.delete(parts.library.documents()[0].id)
        with parts.database.write() as connection:
            connection.execute(text("UPDATE deleted_documents SET deleted = deleted - 86401"))
        deadline = time.monotonic() + 20
        while list(parts.files.hashes()):
            assert time.monotonic() < deadline, "it wasn't purged"
            time.sleep(0.02)
        assert parts.documents.deleted() == []


def test_without_hours_to_undo_a_delete_is_for_good(parts):
    library = LibraryService(parts.documents, parts.files, parts.jobs, undo_hours=0)
    library.add_bytes("a.txt", b"One pump.")
    parts.run()
    library.delete(library.documents()[0].id)
    assert (library.deleted(), list(parts.files.hashes())) == ([], [])


def test_reindexing_a_document_that_is_not_there_is_refused(parts):
    with pytest.raises(NotFoundError):
        parts.library.reindex(7)


def test_what_is_no_regular_file_is_refused_and_never_waited_for(parts, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(DocumentError, match="isn't a regular file"):
            parts.library.add_path(path)


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_a_path_that_no_file_can_have_is_one_sentence(parts, tmp_path, name):
    with pytest.raises(DocumentError, match="can't be read"):
        parts.library.add_path(tmp_path / name)


def test_a_wrong_collection_name_is_refused_before_anything_is_kept(parts):
    for refused in (
        lambda: parts.library.add_bytes("a.txt", b"One pump.", collection=" "),
        lambda: parts.library.add_collection("a" * 101),
        lambda: parts.library.add_collection("a\tb"),
    ):
        with pytest.raises(ConfigError, match="collection's name"):
            refused()
    assert (list(parts.files.hashes()), parts.library.jobs(), parts.library.collections()) == ([], [], [])
    assert parts.library.add_bytes("a.txt", b"One pump.", collection=" x ").payload["collection"] == "x"
