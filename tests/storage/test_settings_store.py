"""Saved choices: set, changed, reset, and there after a restart."""

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
