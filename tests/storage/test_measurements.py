"""Figures of this machine, kept and forgiving."""

from sqlalchemy import text

from storage.database import Database
from storage.measurements import SqliteMeasurementStore


def test_a_figure_is_kept_over_a_restart_and_the_newest_counts(tmp_path):
    with Database(tmp_path) as database:
        store = SqliteMeasurementStore(database)
        assert store.get("speed") is None
        store.put("speed", {"reads": 92.5, "threads": [1, 2]})
        store.put("speed", {"reads": 93.0, "threads": [2]})
    with Database(tmp_path) as database:
        assert SqliteMeasurementStore(database).get("speed") == {"reads": 93.0, "threads": [2]}


def test_what_is_no_json_object_counts_as_not_measured(tmp_path):
    with Database(tmp_path) as database:
        store = SqliteMeasurementStore(database)
        for raw in ("'{'", "'[1]'", "7"):
            with database.write("test") as connection:
                connection.execute(text(f"INSERT OR REPLACE INTO measurements VALUES ('speed', {raw}, 0)"))
            assert store.get("speed") is None
        store.put("speed", {"reads": 1})
        assert store.get("speed") == {"reads": 1}
