"""Killed with -9 at any point, a document is wholly there or wholly absent, and work goes on as if nothing had been."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import pytest
from sqlalchemy import func, select, text

from core.domain import Embedding, EmbeddingSearchRequest, text_hash
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.maintenance import SqliteMaintenance
from storage.tables import is_visible, segments, vectors
from tests.storage.making import MODEL, finished_document, new_document, parts_of, vector_of

OLD, NEW = "the cat is Mira\nshe sleeps\n", "the cat is Otto\nshe sleeps\nhe hunts\n"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")


class State(NamedTuple):
    """name -> text of the documents; the names of those that can be brought back; how many parts are kept."""

    documents: dict
    deleted: tuple = ()
    parts: int = 0


class Operation(NamedTuple):
    """What is done to a library, the states before and after it, and what makes the first of them."""

    do: Callable
    before: State
    after: State
    ready: Callable = lambda store: None


def save_new(store):
    store.save(new_document(NEW))


def save_old(store):
    store.save(new_document(OLD))


def link_second(store):
    known = new_document(OLD, "second.txt")
    values = {key: getattr(known, key) for key in ("source", "name", "collection", "content_hash", "size", "pipeline")}
    store.link_existing(**values, model_id=MODEL, on_conflict="replace")


def delete_old(store):
    store.delete(1)


def undelete_old(store):
    store.undelete(1)


def purge(store):
    store.purge_deleted()


def delete_collection(store):
    store.delete_collection("default")


def add_second_part(store):
    store.add_part(parts_of(NEW, "a.txt")[1])


def all_parts(store):
    for part in parts_of(NEW, "a.txt"):
        store.add_part(part)


def publish_new(store):
    store.publish(finished_document(NEW, "a.txt"))


def discard(store):
    store.discard_unfinished(text_hash(NEW), "p1")


def together(*steps):
    return lambda store: [step(store) for step in steps]


NOTHING, OLD_THERE, NEW_THERE = State({}), State({"a.txt": OLD}), State({"a.txt": NEW})
BOTH, OLD_DELETED = State({"a.txt": OLD, "second.txt": OLD}), State({}, ("a.txt",))
OPERATIONS = {
    "first save": Operation(save_new, NOTHING, NEW_THERE),
    "replacing save": Operation(save_new, OLD_THERE, NEW_THERE, save_old),
    "link": Operation(link_second, OLD_THERE, BOTH, save_old),
    "delete": Operation(delete_old, OLD_THERE, OLD_DELETED, save_old),
    "delete of one of two": Operation(
        delete_old, BOTH, State({"second.txt": OLD}, ("a.txt",)), together(save_old, link_second)
    ),
    "delete of a collection": Operation(
        delete_collection, BOTH, State({}, ("a.txt", "second.txt")), together(save_old, link_second)
    ),
    "undelete": Operation(undelete_old, OLD_DELETED, OLD_THERE, together(save_old, delete_old)),
    "undelete of one of two": Operation(
        undelete_old,
        State({"second.txt": OLD}, ("a.txt",)),
        BOTH,
        together(save_old, link_second, delete_old),
    ),
    "save of what was deleted": Operation(
        save_old, OLD_DELETED, State({"a.txt": OLD}, ("a.txt",)), together(save_old, delete_old)
    ),
    "purge": Operation(purge, OLD_DELETED, NOTHING, together(save_old, delete_old)),
    "first part": Operation(lambda store: store.add_part(parts_of(NEW)[0]), NOTHING, State({}, (), 1)),
    "second part": Operation(
        add_second_part, State({}, (), 1), State({}, (), 2), lambda store: store.add_part(parts_of(NEW, "a.txt")[0])
    ),
    "publish": Operation(publish_new, State({}, (), 2), NEW_THERE, all_parts),
    "replacing publish": Operation(publish_new, State({"a.txt": OLD}, (), 2), NEW_THERE, together(save_old, all_parts)),
    "publish of a re-index": Operation(
        publish_new, State({"a.txt": NEW}, (), 2), NEW_THERE, together(save_new, all_parts)
    ),
    "discard": Operation(discard, State({}, (), 2), NOTHING, all_parts),
}


def open_store(folder, fault):
    database = Database(folder, fault=fault)
    return database, SqliteDocumentStore(database, LocalFileStore(folder))


def prepare(folder, operation):
    """A data folder in the state before, with the originals of what there is and of what will be."""
    database, store = open_store(folder, lambda point: None)
    files = LocalFileStore(folder)
    for content in (OLD, NEW):
        files.put(content.encode())
    operation.ready(store)
    database.close()


def points_of(folder, operation):
    """All fault points that the operation passes, by letting it pass them."""
    passed = []
    database, store = open_store(folder, passed.append)
    operation.do(store)
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
        operation.do(store)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def state(folder):
    """What is there by every way of looking, which must agree; and the start's sweep leaves no file too many."""
    with Database(folder) as database:
        files = LocalFileStore(folder)
        store = SqliteDocumentStore(database, files)
        maintenance = SqliteMaintenance(database, files, model_id=MODEL)
        assert maintenance.check() == []
        found = {row.name: store.text(row.id).text for row in store.list()}
        for row in store.list():
            assert "".join(record.segment.text for record in store.segments(row.id)) == found[row.name]
        lines = [line for content in set(found.values()) for line in content.splitlines(keepends=True)]
        searched = FaissEmbeddingStore(database, model_id=MODEL)
        for line in set(f"{OLD}{NEW}".splitlines(keepends=True)):
            request = EmbeddingSearchRequest(Embedding(vector_of(line)), 5, min_score=1.0)
            assert {match.segment.text for match in searched.search(request)} == {*lines} & {line}
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
        store.sweep()
        unfinished = store.unfinished(text_hash(NEW), "p1", MODEL)
        deleted = tuple(sorted(row.name for row in store.deleted()))
    return State(found, deleted, unfinished.parts if unfinished else 0)


@pytest.mark.parametrize("name", OPERATIONS)
def test_c02_killed_at_each_step_a_change_is_whole_or_was_never(tmp_path, name):
    operation = OPERATIONS[name]
    prepare(tmp_path / "before", operation)
    assert state(tmp_path / "before") == operation.before
    shutil.copytree(tmp_path / "before", tmp_path / "trial")
    points = points_of(tmp_path / "trial", operation)
    assert "before commit" in points
    assert state(tmp_path / "trial") == operation.after
    files_after = sorted(LocalFileStore(tmp_path / "trial").hashes())
    for number, point in enumerate(points):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "before", folder)
        run_and_die(folder, operation, number)
        is_done = number > points.index("before commit")
        assert state(folder) == (operation.after if is_done else operation.before), point
        # Again, and it completes.
        database, store = open_store(folder, lambda point: None)
        if not is_done:
            operation.do(store)
        database.close()
        assert state(folder) == operation.after, point
        assert sorted(LocalFileStore(folder).hashes()) == files_after, point


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
