"""What the start looks after by itself, and what it leaves alone. Damages are in `tests/storage/test_damage.py`."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from core.bootstrap import Services, build_services
from core.settings import Settings


def services_on(folder, **chosen) -> Services:
    return build_services(Settings(**{"data": folder, "chat_model": "echo", "embedding_model": "hashing"} | chosen))


@pytest.fixture
def folder(tmp_path):
    services = services_on(tmp_path)
    services.library.add_bytes("pump.txt", b"The pump P1 costs 100 euros.")
    services.indexing.run_until_idle()
    services.close()
    return tmp_path


def change(folder, statement: str) -> None:
    with closing(sqlite3.connect(folder / "footnote.db", isolation_level=None)) as connection:
        connection.execute(statement)


def models_with_vectors(folder) -> list[tuple[str, int]]:
    query = "SELECT name, count(*) FROM vectors JOIN embedding_models ON id = model_id GROUP BY name ORDER BY name"
    with closing(sqlite3.connect(folder / "footnote.db")) as connection:
        return connection.execute(query).fetchall()


def test_the_start_mends_by_itself_in_the_background(folder):
    change(folder, "DELETE FROM vectors")
    services = services_on(folder)
    services.start()
    services.close()  # waits for the step that runs
    with closing(services_on(folder)) as again:
        again.maintenance.look_after()
        assert again.maintenance.check() == []
        assert again.search.search("price of the pump", retriever="vector").contents


def test_h02_without_its_model_the_start_looks_all_the_same_and_leaves_what_needs_it_to_be_said(folder):
    change(folder, "DELETE FROM vectors")
    with closing(services_on(folder, embedding_model=str(folder / "gone"))) as services:
        services.maintenance.look_after()
        (problem,) = [problem for problem in services.maintenance.left if problem.kind == "missing_vectors"]
        assert (problem.repairable, problem.message) == (False, "1 segments of 'pump.txt' have no vector")


def test_c07_what_another_model_has_embedded_is_not_embedded_anew_without_being_asked(folder):
    change(folder, "UPDATE embedding_models SET name = 'an older one'")
    with closing(services_on(folder)) as services:
        services.maintenance.look_after()
        assert services.maintenance.left == ()  # the search says it, with the way out
        assert models_with_vectors(folder) == [("an older one", 1)]
        problems = services.maintenance.check()
        assert "other_model" in {problem.kind for problem in problems}
        assert services.maintenance.repair(problems) == []
        assert models_with_vectors(folder) == [("an older one", 1), ("hashing-1-384", 1)]  # nothing is taken away


def test_a_look_loads_no_model(folder):
    with closing(services_on(folder)) as services:
        assert services.maintenance.look() == []
        assert services.models.embedding_state().state == "idle"


def test_a_repair_that_is_stopped_leaves_the_rest_for_the_next_start(folder):
    change(folder, "DELETE FROM vectors")
    with closing(services_on(folder)) as services:
        services.maintenance.close()
        services.maintenance.look_after()
        assert [problem.kind for problem in services.maintenance.left] == ["missing_vectors"]
    with closing(services_on(folder)) as services:
        services.maintenance.look_after()
        assert services.maintenance.left == ()
