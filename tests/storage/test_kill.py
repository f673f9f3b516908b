"""Killed with -9 at any point, a document is wholly there or wholly absent, and work goes on as if nothing had been."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from sqlalchemy import func, select, text

from core.domain import Embedding, EmbeddingSearchRequest
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.maintenance import SqliteMaintenance
from storage.tables import is_visible, segments, vectors
from tests.storage.making import MODEL, new_document, vector_of

OLD, NEW = "the cat is Mira\nshe sleeps\n", "the cat is Otto\nshe sleeps\nhe hunts\n"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")


def save_new(store):
    store.save(new_document(NEW))


def link_second(store):
    known = new_document(OLD, "second.txt")
    values = {key: getattr(known, key) for key in ("source", "name", "collection", "content_hash", "size", "pipeline")}
    store.link_existing(**values, model_id=MODEL, on_conflict="replace")


def delete_old(store):
    store.delete(1)


# Every operation with the document it starts from, and the names and texts that hold before and after it.
OPERATIONS = {
    "first save": (save_new, None, {}, {"a.txt": NEW}),
    "replacing save": (save_new, OLD, {"a.txt": OLD}, {"a.txt": NEW}),
    "link": (link_second, OLD, {"a.txt": OLD}, {"a.txt": OLD, "second.txt": OLD}),
    "delete": (delete_old, OLD, {"a.txt": OLD}, {}),
}


def open_store(folder, fault):
    database = Database(folder, fault=fault)
    return database, SqliteDocumentStore(database, LocalFileStore(folder))


def prepare(folder, old):
    """A data folder in which the original of what will be saved lies ready, and `old` is saved, if any."""
    database, store = open_store(folder, lambda point: None)
    files = LocalFileStore(folder)
    files.put(NEW.encode())
    if old is not None:
        files.put(old.encode())
        store.save(new_document(old))
    database.close()


def points_of(folder, operation, old):
    """All fault points that the operation passes, by letting it pass them."""
    passed = []
    prepare(folder, old)
    database, store = open_store(folder, passed.append)
    operation(store)
    database.close()
    return passed


def run_and_die(folder, operation, at):
    """In a child process: the operation, killed when it passes point number `at`."""
    child = os.fork()
    if child == 0:
        count = iter(range(1000))

        def fault(point):
            if next(count) == at:
                os.kill(os.getpid(), signal.SIGKILL)

        _, store = open_store(folder, fault)
        operation(store)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def state(folder):
    """What is there by every way of looking, which must agree: {name: text}."""
    with Database(folder) as database:
        files = LocalFileStore(folder)
        store = SqliteDocumentStore(database, files)
        maintenance = SqliteMaintenance(database, files, model_id=MODEL)
        assert maintenance.check() == []
        found = {row.name: store.text(row.id).text for row in store.list()}
        for row in store.list():
            assert "".join(record.segment.text for record in store.segments(row.id)) == found[row.name]
        lines = {line for content in found.values() for line in content.splitlines(keepends=True)}
        searched = FaissEmbeddingStore(database, model_id=MODEL)
        for line in set(f"{OLD}{NEW}".splitlines(keepends=True)):
            request = EmbeddingSearchRequest(Embedding(vector_of(line)), 5, min_score=1.0)
            assert {match.segment.text for match in searched.search(request)} == lines & {line}
        with database.read() as connection:
            for word in ("Mira", "Otto", "hunts"):
                like = select(func.count()).select_from(segments).where(segments.c.text.like(f"%{word}%"), is_visible)
                match = text(
                    "SELECT count(*) FROM segments_fts JOIN segments ON segments.id = segments_fts.rowid "
                    "WHERE segments_fts MATCH :word AND generation != 0"
                )
                by_word = connection.execute(match, {"word": word.lower()}).scalar()
                assert by_word == connection.execute(like).scalar() == sum(word in line for line in lines)
            visible = select(func.count()).select_from(segments).where(is_visible)
            embedded = select(func.count()).select_from(segments).join(vectors).where(is_visible)
            counts = [connection.execute(query).scalar() for query in (visible, embedded)]
        assert counts == [len(lines)] * 2
    return found


@pytest.mark.parametrize("name", OPERATIONS)
def test_c02_killed_at_each_step_a_change_is_whole_or_was_never(tmp_path, name):
    operation, old, before, after = OPERATIONS[name]
    points = points_of(tmp_path / "trial", operation, old)
    assert points[:1] != []
    assert "before commit" in points
    for number, point in enumerate(points):
        folder = tmp_path / str(number)
        prepare(folder, old)
        run_and_die(folder, operation, number)
        expected = after if number > points.index("before commit") else before
        assert state(folder) == expected, point
        # Again, and it completes.
        database, store = open_store(folder, lambda point: None)
        if expected is before:
            operation(store)
        database.close()
        assert state(folder) == after, point


SAVES_WITHOUT_END = """
import sys, itertools
from pathlib import Path
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from tests.storage.making import new_document

folder = Path(sys.argv[1])
with Database(folder) as database:
    files = LocalFileStore(folder)
    store = SqliteDocumentStore(database, files)
    for number in itertools.count():
        text = "".join(f"line {line} of document {number}\\n" for line in range(30))
        files.put(text.encode())
        store.save(new_document(text, f"{number}.txt"))
        print(number, flush=True)
"""


def test_c02_killed_at_any_moment_what_was_reported_is_there(tmp_path):
    folder = tmp_path / "data"
    reported = -1
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", SAVES_WITHOUT_END, str(folder)], stdout=subprocess.PIPE, text=True, cwd="."
        )
        first = child.stdout.readline()
        time.sleep(random.Random(reported).uniform(0.05, 0.3))
        child.kill()
        reported = max([reported, *map(int, (first + child.stdout.read()).split())])
        child.wait()
        child.stdout.close()
        with Database(folder) as database:
            files = LocalFileStore(folder)
            store = SqliteDocumentStore(database, files)
            names = {row.name for row in store.list()}
            assert {f"{number}.txt" for number in range(reported + 1)} <= names
            assert {row.segments for row in store.list()} == {30}
            assert SqliteMaintenance(database, files, model_id=MODEL).check() == []
