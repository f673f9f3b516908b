"""Check finds what is wrong, repair mends what can be mended, and neither touches what is right."""

import os
import shutil
import sqlite3
import time

import numpy as np
import pytest

from core.domain import Embedding, EmbeddingSearchRequest
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores.faiss_store import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.jobs import SqliteJobStore
from storage.maintenance import SqliteMaintenance
from tests.storage.making import MODEL, new_document, vector_of

TEXT = "one\ntwo\nthree\n"


def embed(texts):
    return np.array([vector_of(text) for text in texts])


@pytest.fixture
def folder(tmp_path):
    """A data folder with one document and a written index file; nothing has it open."""
    with Database(tmp_path) as database:
        files = LocalFileStore(tmp_path)
        files.put(TEXT.encode())
        SqliteDocumentStore(database, files).save(new_document(TEXT))
        store = FaissEmbeddingStore(database, model_id=MODEL)
        store.load()
        store.close()
    return tmp_path


@pytest.fixture
def maintenance(folder):
    with Database(folder) as database:
        yield SqliteMaintenance(database, LocalFileStore(folder), model_id=MODEL, embed=embed)


def damage(folder, *statements):
    connection = sqlite3.connect(folder / "footnote.db", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def kinds(problems):
    return [problem.kind for problem in problems]


def found(folder, line):
    with Database(folder) as database:
        store = FaissEmbeddingStore(database, model_id=MODEL)
        matches = store.search(EmbeddingSearchRequest(Embedding(vector_of(line)), 1, min_score=1.0))
    return [match.segment.text for match in matches]


def index_file(folder):
    (path,) = (folder / "index").iterdir()
    return path


def test_a_sound_folder_has_no_problems(maintenance):
    assert maintenance.check(full=True) == maintenance.check(full=False) == []


def test_c01_a_missing_index_file_is_no_problem_and_comes_back(folder, maintenance):
    index_file(folder).unlink()
    assert maintenance.check() == []
    assert found(folder, "two\n") == ["two\n"]


def test_c01_a_segment_without_a_vector_is_found_and_embedded_again(folder, maintenance):
    damage(folder, "DELETE FROM vectors WHERE segment_id = 2")
    assert found(folder, "two\n") == []
    for full in (True, False):
        (problem,) = [problem for problem in maintenance.check(full=full) if problem.kind != "index_file"]
        assert problem.message == "1 segments of 'a.txt' have no vector by 'test-model'"
    assert maintenance.repair(maintenance.check()) == []
    assert found(folder, "two\n") == ["two\n"]


def test_without_a_model_at_hand_missing_vectors_are_reported_with_the_way_out(folder):
    damage(folder, "DELETE FROM vectors", "DELETE FROM generations WHERE id > 1")
    with Database(folder) as database:
        maintenance = SqliteMaintenance(database, LocalFileStore(folder), model_id=MODEL)
        left = maintenance.repair(maintenance.check())
    assert [(problem.kind, problem.repairable) for problem in left] == [("missing_vectors", False)]
    assert left[0].message.endswith("re-index it")


def test_damaged_vectors_are_embedded_again(folder, maintenance):
    nan = np.full(8, np.nan, dtype="<f4").tobytes().hex()
    damage(
        folder,
        "UPDATE vectors SET vector = x'0011' WHERE segment_id = 1",
        f"UPDATE vectors SET vector = x'{nan}' WHERE segment_id = 2",
    )
    problems = maintenance.check()
    assert "2 vectors have the wrong size" in problems[0].message
    assert maintenance.repair(problems) == []
    assert found(folder, "one\n") == ["one\n"]


def test_a_keyword_index_that_lost_words_is_rebuilt(folder, maintenance):
    damage(folder, "INSERT INTO segments_fts (segments_fts, rowid, terms) VALUES ('delete', 2, 'two')")
    assert kinds(maintenance.check()) == ["keyword_index"]
    assert maintenance.repair(maintenance.check()) == []


def test_a_keyword_index_with_changed_words_is_rebuilt(folder, maintenance):
    damage(folder, "DROP TRIGGER segments_fts_update", "UPDATE segments SET terms = 'other' WHERE id = 2")
    assert kinds(maintenance.check()) == ["keyword_index"]
    assert maintenance.repair(maintenance.check()) == []


@pytest.mark.parametrize("kind", ["damaged", "foreign", "not an index"])
def test_an_index_file_that_is_not_what_it_says_is_found_and_built_anew(folder, maintenance, kind):
    path = index_file(folder)
    if kind == "damaged":
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    elif kind == "foreign":
        damage(folder, "UPDATE generations SET stamp = 'another'")
    else:
        path.write_bytes(b"\x80\x04.")
    assert found(folder, "two\n") == ["two\n"]
    assert kinds(maintenance.check()) == ["index_file"]
    assert maintenance.repair(maintenance.check()) == []
    assert found(folder, "two\n") == ["two\n"]


def test_rows_that_point_nowhere_are_removed(folder, maintenance):
    damage(folder, "PRAGMA foreign_keys = OFF", "DELETE FROM segments WHERE id = 3")
    assert "dangling_row" in kinds(maintenance.check())
    assert kinds(maintenance.repair(maintenance.check())) == ["lost_segments"]  # which only a job can read again


def test_texts_of_no_document_are_removed(folder, maintenance):
    damage(folder, "DELETE FROM documents")
    assert "orphan_text" in kinds(maintenance.check())
    os.utime(LocalFileStore(folder).path(new_document(TEXT).content_hash), (0, 0))
    # Its original is one only then, and goes aside in the same run.
    assert maintenance.repair(maintenance.check()) == []
    assert list(LocalFileStore(folder).hashes()) == []
    assert [path.read_bytes() for path in (folder / "unused").iterdir()] == [TEXT.encode()]


def test_originals_that_are_gone_or_changed_are_named(folder, maintenance):
    path = LocalFileStore(folder).path(new_document(TEXT).content_hash)
    path.write_bytes(b"other")
    assert maintenance.check(full=False) == []
    (problem,) = maintenance.check()
    assert (problem.kind, problem.document_ids) == ("damaged_original", (1,))
    path.unlink()
    (problem,) = maintenance.check(full=False)
    assert problem.message == "the original file of 'a.txt' is gone; it's still searchable, add the file again"
    LocalFileStore(folder).put(TEXT.encode())
    assert maintenance.check() == []


def test_files_of_nothing_are_moved_aside_when_they_are_old_enough(folder, maintenance):
    files = LocalFileStore(folder)
    orphan = files.path(files.put(b"nobody's"))
    leftover = files.folder / "unfinished" / "half"
    leftover.write_bytes(b"ha")
    assert maintenance.check() == []
    assert maintenance.sweep() == 0
    for path in (orphan, leftover):
        os.utime(path, (0, 0))
    (problem,) = maintenance.check()
    assert problem.message == (
        "2 files in the data folder belong to nothing; a repair moves them to its folder 'unused'"
    )
    assert maintenance.sweep() == 1
    assert orphan.exists() and not leftover.exists()
    assert maintenance.repair(maintenance.check()) == []
    assert (folder / "unused" / orphan.name).read_bytes() == b"nobody's"
    assert len(list(files.hashes())) == 1


def test_a_wrong_slice_is_named(folder, maintenance):
    damage(folder, "UPDATE segments SET start = start + 1 WHERE id = 2")
    (problem,) = maintenance.check()
    assert problem.message == "1 segments of 'a.txt' are not where they say; re-index it"


def test_a_document_without_segments_is_named(folder, maintenance):
    damage(folder, "PRAGMA foreign_keys = ON", "DELETE FROM segments")
    assert "'a.txt' has no segments" in next(p for p in maintenance.check() if p.kind == "no_segments").message


def test_a_job_that_was_left_long_ago_is_freed(folder, maintenance):
    with Database(folder) as database:
        clock = lambda: time.time() - 100_000  # noqa: E731
        jobs = SqliteJobStore(database, clock=clock)
        jobs.add("ingest", "a.pdf", {})
        job = jobs.claim("gone", lease_s=10)
        assert kinds(maintenance.check()) == ["stale_job"]
        assert maintenance.repair(maintenance.check()) == []
        assert jobs.get(job.id).state == "waiting"


def test_a_damaged_database_is_said_to_be(folder):
    with Database(folder) as database:
        SqliteDocumentStore(database, LocalFileStore(folder)).save(
            new_document("\n".join(f"line {number} of a longer text" for number in range(400)), "long.txt")
        )
    path = folder / "footnote.db"
    whole = path.read_bytes()
    # A whole page of segments in the middle is overwritten.
    page = whole.index(b"line 200 of") // 4096 * 4096
    path.write_bytes(whole[:page] + b"\xff" * 4096 + whole[page + 4096 :])
    with Database(folder) as database:
        maintenance = SqliteMaintenance(database, LocalFileStore(folder), model_id=MODEL)
        problems = maintenance.check()
    assert ("damaged_database", False) in [(problem.kind, problem.repairable) for problem in problems]


def test_g07_a_pickle_beside_the_index_is_never_loaded(folder, tmp_path_factory):
    import pickle

    marker = tmp_path_factory.mktemp("outside") / "ran"

    class Evil:
        def __reduce__(self):
            return (os.system, (f"touch {marker}",))

    evil = pickle.dumps(Evil())
    index_file(folder).write_bytes(evil)
    for name in ("index.pkl", "metadata.pickle", "docstore.pkl"):
        (folder / "index" / name).write_bytes(evil)
    assert found(folder, "two\n") == ["two\n"]
    assert not marker.exists()


def test_g07_nothing_in_the_product_loads_pickles():
    from pathlib import Path

    root = Path(__file__).resolve().parents[2]
    paths = [path for part in ("core", "storage", "pages") for path in (root / part).rglob("*.py")]
    assert len(paths) > 100
    code = "\n".join(path.read_text(encoding="utf-8") for path in [*paths, root / "app.py", root / "cli.py"])
    for word in ("import pickle", "joblib", "torch.load", "allow_pickle=True", "np.load", "shelve"):
        assert word not in code


def test_c11_a_full_disk_while_the_index_is_written_costs_nothing(folder):
    # The index folder is a file: whatever is written there fails, as on a full disk.
    shutil.rmtree(folder / "index")
    (folder / "index").write_text("in the way")
    with Database(folder) as database:
        store = FaissEmbeddingStore(database, model_id=MODEL)
        assert store.count() == 3
        store.close()
    assert found(folder, "two\n") == ["two\n"]
