"""The allowed segments are those that `Filter.matches`, asked of each, lets through."""

import pytest

from core.errors import ConfigError
from core.filters import Filter, metadata_key
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from storage.filter_mask import FilterMask
from storage.segment_rows import load_segments
from tests.storage.making import new_document


@pytest.fixture
def database(tmp_path):
    with Database(tmp_path) as database:
        store = SqliteDocumentStore(database, LocalFileStore(tmp_path))
        store.save(new_document("a1\na2\n", "a.txt", metadata={"year": 2030}, own={"a2": {"page": 2}}))
        store.save(new_document("b1\nb2\n", "b.txt", metadata={"year": 2031}, own={"b1": {"year": 1}}))
        yield database


def allowed(database, filter, mask=None):
    with database.read() as connection:
        ids = (mask or FilterMask()).allowed(connection, filter).ids
        return [
            found.segment.text.strip() for _, found in sorted(load_segments(connection, ids.tolist(), filter).items())
        ]


def test_no_filter_allows_all(database):
    with database.read() as connection:
        assert FilterMask().allowed(connection, None) is None


def test_a_segments_own_value_wins_over_its_documents(database):
    year = metadata_key("year")
    assert allowed(database, year.is_equal_to(2030)) == ["a1", "a2"]
    assert allowed(database, year.is_equal_to(2031)) == ["b2"]
    assert allowed(database, year.is_less_than(2000)) == ["b1"]


def test_document_and_segment_keys_may_stand_in_one_filter(database):
    page, name = metadata_key("page"), metadata_key("file_name")
    assert allowed(database, name.is_equal_to("a.txt") & page.is_equal_to(2)) == ["a2"]
    assert allowed(database, name.is_equal_to("b.txt") | page.is_equal_to(2)) == ["a2", "b1", "b2"]
    assert allowed(database, ~(name.is_equal_to("b.txt") | page.is_equal_to(2))) == ["a1"]


def test_a_remembered_mask_is_not_that_of_an_older_generation(database):
    mask, filter = FilterMask(), metadata_key("collection").is_equal_to("default")
    assert allowed(database, filter, mask) == ["a1", "a2", "b1", "b2"]
    SqliteDocumentStore(database, LocalFileStore(database.data_dir)).delete(1)
    assert allowed(database, filter, mask) == ["b1", "b2"]
    SqliteDocumentStore(database, LocalFileStore(database.data_dir)).rename_collection("default", "other")
    assert allowed(database, filter, mask) == []


def test_the_same_filter_is_evaluated_once_a_generation(database):
    class Counted(Filter):
        asked = 0

        def keys(self):
            return frozenset({"file_name"})

        def matches(self, metadata):
            self.asked += 1
            return metadata.get("file_name") == "a.txt"

    mask, filter = FilterMask(), Counted()
    with database.read() as connection:
        first = mask.allowed(connection, filter)
        assert filter.asked == 2  # once a document, though there are four segments
        assert mask.allowed(connection, filter) is first
        assert filter.asked == 2


def test_a_filter_on_another_type_is_said_to_be(database):
    with pytest.raises(ConfigError, match="can't compare metadata 'year'=2030"):
        allowed(database, metadata_key("year").is_equal_to("2030"))
