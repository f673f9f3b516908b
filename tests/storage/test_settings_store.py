"""Saved choices: set, changed, reset, and there after a restart."""

from sqlalchemy import text

from storage.database import Database
from storage.settings import SqliteSettingsStore


def test_choices_are_kept_until_they_are_reset(tmp_path):
    with Database(tmp_path) as database:
        store = SqliteSettingsStore(database)
        assert store.load() == {}
        store.save("max_results", 3)
        store.save("refusal", False)
        store.save("max_results", 5)
    with Database(tmp_path) as database:
        store = SqliteSettingsStore(database)
        assert store.load() == {"max_results": 5, "refusal": False}
        store.reset("max_results")
        store.reset("unknown")
        assert store.load() == {"refusal": False}


def test_a_value_that_is_no_json_is_passed_over(tmp_path):
    with Database(tmp_path) as database:
        store = SqliteSettingsStore(database)
        store.save("max_results", 5)
        with database.write() as connection:
            connection.execute(text("INSERT INTO settings (name, value) VALUES ('seed', 'not json'), ('threads', '')"))
        assert store.load() == {"max_results": 5}
        store.save("seed", 7)
        assert store.load() == {"max_results": 5, "seed": 7}
