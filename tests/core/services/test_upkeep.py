"""What the start looks after by itself, and what it leaves alone. Damages are in `tests/storage/test_damage.py`."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from core.bootstrap import Services, build_services
from core.settings import Settings
from storage.upkeep.losses import LOST_DETAILS


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


def readings(services) -> list[str]:
    """States of the jobs that read a document again, newest first."""
    return [job.state for job in services.library.jobs() if job.kind == "reindex"]


def test_a_document_with_two_problems_is_read_again_once(folder):
    change(folder, "DELETE FROM segments")
    change(folder, f"""UPDATE texts SET warnings = '["{LOST_DETAILS}"]'""")
    with closing(services_on(folder)) as services:
        kinds = {problem.kind for problem in services.maintenance.look()}
        assert kinds >= {"no_segments", "lost_details"}
        services.maintenance.look_after()
        assert readings(services) == ["waiting"]
        services.maintenance.look_after()  # of another process, say
        assert readings(services) == ["waiting"]
        services.indexing.run_until_idle()
        assert services.maintenance.look() == []


def test_what_was_read_again_in_vain_is_said_and_tried_again_only_when_a_person_asks(folder):
    change(folder, "DELETE FROM segments")
    (folder / "originals").rename(folder / "away")
    with closing(services_on(folder)) as services:
        services.maintenance.look_after()
        services.indexing.run_until_idle()
        assert readings(services) == ["failed"]
    with closing(services_on(folder)) as services:
        services.maintenance.look_after()
        assert readings(services) == ["failed"]
        assert "no_segments" in {problem.kind for problem in services.maintenance.left}
        shutil.rmtree(folder / "originals", ignore_errors=True)
        (folder / "away").rename(folder / "originals")
        assert services.maintenance.repair(services.maintenance.check()) == []
        assert readings(services) == ["done", "failed"]


def test_a_document_that_is_about_to_be_read_again_is_found_among_many_jobs(folder):
    change(folder, "DELETE FROM segments")
    with closing(services_on(folder)) as services:
        services.maintenance.look_after()
        columns = "kind, state, name, payload, progress, phase, reason, result, batch, attempts, stop_requested"
        rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT"
        values = "'ingest', 'waiting', 'a.txt', '{}', 0, '', '', '{}', '', 0, 0, 0, 0 FROM n"
        change(folder, f"INSERT INTO jobs ({columns}, created, updated) {rows} {values}")
        services.maintenance.look_after()
        change(folder, "DELETE FROM jobs WHERE kind = 'ingest'")
        assert readings(services) == ["waiting"]
