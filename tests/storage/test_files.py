"""Originals: whole or not there, under their hash and nothing else."""

import hashlib
import io

import pytest

from core.errors import NotFoundError, StorageError
from core.protocols import FileStore
from storage.files import LocalFileStore


@pytest.fixture
def files(tmp_path):
    return LocalFileStore(tmp_path)


def names(files):
    return sorted(path.relative_to(files.folder).as_posix() for path in files.folder.rglob("*") if path.is_file())


def test_bytes_and_streams_are_kept_under_their_hash(files):
    store: FileStore = files
    content = b"x" * 3_000_000
    expected = hashlib.sha256(content).hexdigest()
    assert store.put(content) == store.put(io.BytesIO(content)) == expected
    assert store.read(expected) == content
    assert names(files) == [f"{expected[:2]}/{expected}"]
    assert list(files.hashes()) == [expected]


def test_a_damaged_file_is_mended_when_it_is_put_again(files):
    content_hash = files.put(b"content")
    files.path(content_hash).write_bytes(b"cont")
    assert not files.is_intact(content_hash)
    files.put(b"content")
    assert files.is_intact(content_hash)


def test_a_stream_that_breaks_leaves_nothing(files):
    class Broken(io.RawIOBase):
        left = 2

        def read(self, size=-1):
            self.left -= 1
            if self.left < 0:
                raise OSError(5, "Input/output error")
            return b"x" * 10

    with pytest.raises(StorageError, match="can't be used"):
        files.put(Broken())
    assert names(files) == []


def test_what_is_not_there_and_what_is_no_hash_is_said(files):
    with pytest.raises(NotFoundError, match="add the file again"):
        files.read("ab" * 32)
    with pytest.raises(NotFoundError, match="add the file again"):
        files.path("ab" * 32)
    for wrong in ("../../etc/passwd", "AB" * 32, "", "ab"):
        with pytest.raises(StorageError, match="is not the SHA-256"):
            files.read(wrong)
