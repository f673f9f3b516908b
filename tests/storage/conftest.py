"""A data folder's database, its files and its documents."""

import pytest

from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore


@pytest.fixture
def database(tmp_path):
    with Database(tmp_path) as database:
        yield database


@pytest.fixture
def files(database):
    return LocalFileStore(database.data_dir)


@pytest.fixture
def store(database, files):
    return SqliteDocumentStore(database, files)
