"""A long document is kept part by part, seen by nobody, and becomes visible at once."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import func, select

from core.domain import Document, Embedding, EmbeddingSearchRequest, Mark, text_hash
from core.errors import ConfigError, DocumentError, FootnoteError, NotFoundError, StorageError
from core.metadata import Metadata
from core.records import Unfinished
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore, InMemoryEmbeddingStore
from storage.files import LocalFileStore
from storage.jobs import SqliteJobStore
from storage.keyword_index import SqliteKeywordIndex
from storage.maintenance import SqliteMaintenance
from storage.tables import segments, texts, vectors
from tests.storage.making import MODEL, finished_document, new_document, parts_of, vector_of

TEXT = "the cat is Mira\nher bed is red\nthe dog is Otto\nhis bone is big\nboth eat fish\n"


def build(store, text, *, lines=2, **changes):
    for part in parts_of(text, lines=lines, **changes):
        store.add_part(part)


def publish(store, text, name="long.txt", **changes):
    return store.publish(finished_document(text, name, **changes))


def rows(database):
    """(texts, segments, vectors), visible or not."""
    with database.read() as connection:
        return tuple(
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (texts, segments, vectors)
        )


def hits(database, line):
    """How often a line is found by vector, in both stores, and by keyword; all the same."""
    request = EmbeddingSearchRequest(Embedding(vector_of(line)), 10, min_score=1.0)
    found = {
        len(FaissEmbeddingStore(database, model_id=MODEL).search(request)),
        len(InMemoryEmbeddingStore(database, model_id=MODEL).search(request)),
        sum(match.segment.text == line for match in SqliteKeywordIndex(database).search(line, limit=10)),
    }
    assert len(found) == 1
    return found.pop()


def clean(database, files):
    assert SqliteMaintenance(database, files, model_id=MODEL).check() == []


def test_parts_are_seen_by_nobody_until_they_are_published(store, database, files):
    files.put(TEXT.encode())
    build(store, TEXT)
    assert (store.list(), store.count(), store.collections()) == ([], 0, [])
    assert hits(database, "her bed is red\n") == 0
    generation = store.generation()
    result = publish(store, TEXT, pages=3, warnings=("w",))
    assert store.generation() == generation + 1
    document = result.document
    assert (result.status, document.segments, document.characters) == ("indexed", 5, len(TEXT))
    assert (document.pages, document.warnings, document.type) == (3, ("w",), "text")
    assert store.text(document.id).text == TEXT
    assert [record.segment.index for record in store.segments(document.id)] == [0, 1, 2, 3, 4]
    for record in store.segments(document.id):
        assert TEXT[record.segment.start : record.segment.end] == record.segment.text
    assert [hits(database, line) for line in TEXT.splitlines(keepends=True)] == [1] * 5
    assert rows(database) == (1, 5, 5)
    clean(database, files)


def test_it_is_what_a_save_of_the_whole_would_have_been(tmp_path):
    seen = []
    for number, way in enumerate(("saved", "published")):
        with Database(tmp_path / way) as database:
            store = SqliteDocumentStore(database, LocalFileStore(tmp_path / way))
            own = {"her bed is red": {"page": 2}}
            if number == 0:
                store.save(new_document(TEXT, "long.txt", metadata={"title": "Pets"}, own=own))
            else:
                build(store, TEXT, metadata={"title": "Pets"}, own=own)
                publish(store, TEXT, metadata={"title": "Pets"})
            record = replace(store.list()[0], added=None, updated=None)
            seen.append((record, store.text(1), [found.segment for found in store.segments(1)]))
    assert seen[0] == seen[1]


def test_marks_of_parts_count_from_the_beginning_of_the_text(store):
    first, second = parts_of("one\ntwo\n", lines=1)
    marked = (
        replace(first, document=replace(first.document, marks=(Mark(0, 3, "page", 1),))),
        replace(second, document=replace(second.document, marks=(Mark(1, 4, "page", 2),))),
    )
    for part in marked:
        store.add_part(part)
    document = publish(store, "one\ntwo\n").document
    assert store.text(document.id).marks == (Mark(0, 3, "page", 1), Mark(5, 8, "page", 2))


def test_an_excerpt_reads_over_parts(store):
    build(store, TEXT, lines=1)
    long = publish(store, TEXT).document.id
    short = store.save(new_document(TEXT[::-1], "short.txt")).document.id
    for id, text in ((long, TEXT), (short, TEXT[::-1])):
        for start in range(0, len(text) + 3, 5):
            for end in range(start, len(text) + 9, 7):
                assert store.excerpt(id, start, end) == text[start:end]
    assert store.excerpt(long, -5, 3) == "the"
    with pytest.raises(NotFoundError):
        store.excerpt(99, 0, 1)


def test_the_next_attempt_goes_on_behind_what_is_kept(store, database, files):
    files.put(TEXT.encode())
    parts = parts_of(TEXT)
    assert store.unfinished(text_hash(TEXT), "p1", MODEL) is None
    store.add_part(parts[0])
    store.add_part(replace(parts[1], after={"page": 4}))
    assert store.unfinished(text_hash(TEXT), "p1", MODEL) == Unfinished(2, parts[2].start, 4, {"page": 4})
    assert store.unfinished(text_hash(TEXT), "p2", MODEL) is None
    assert store.unfinished(text_hash(TEXT), "p1", "other") is None
    for part in parts:  # those that are there stay
        store.add_part(part)
    assert publish(store, TEXT).document.segments == 5
    assert store.text(1).text == TEXT
    assert store.unfinished(text_hash(TEXT), "p1", MODEL) is None
    clean(database, files)


def test_vectors_of_parts_need_not_be_made_again(store):
    store.add_part(parts_of(TEXT)[0])
    assert list(store.vectors_for([text_hash("her bed is red\n"), text_hash("his bone is big\n")], MODEL)) == [
        text_hash("her bed is red\n")
    ]


def test_two_that_build_the_same_end_with_one_copy(store, database, files):
    files.put(TEXT.encode())
    first, second = parts_of(TEXT), parts_of(TEXT)
    for mine, theirs in zip(first, second, strict=True):
        store.add_part(mine)
        store.add_part(theirs)
    assert publish(store, TEXT, "a.txt").status == "indexed"
    second_result = publish(store, TEXT, "b.txt")
    assert (second_result.status, second_result.duplicate_of) == ("duplicate", "a.txt")
    assert rows(database) == (1, 5, 5)
    clean(database, files)


def test_who_is_late_links_to_what_the_other_published(store, database, files):
    files.put(TEXT.encode())
    parts = parts_of(TEXT)
    build(store, TEXT)
    publish(store, TEXT, "a.txt")
    store.add_part(parts[2])  # of one that began before
    assert publish(store, TEXT, "b.txt").status == "duplicate"
    for part in parts:  # of one that looked before and began after
        store.add_part(part)
    assert publish(store, TEXT, "c.txt").status == "duplicate"
    assert publish(store, TEXT, "a.txt").status == "unchanged"
    assert rows(database) == (1, 5, 5)
    assert [record.segment.text for record in store.segments(1)] == TEXT.splitlines(keepends=True)
    clean(database, files)


def test_a_reindex_in_parts_keeps_ids_and_changes_nothing(store, database, files):
    files.put(TEXT.encode())
    store.save(new_document(TEXT, "long.txt"))
    before, generation = store.segments(1), store.generation()
    build(store, TEXT)
    assert publish(store, TEXT).status == "unchanged"
    assert (store.segments(1), store.generation()) == (before, generation)
    assert rows(database) == (1, 5, 5)
    clean(database, files)


def test_b8_unchanged_segments_keep_their_id_when_a_long_document_changes(store, database, files):
    old, new = TEXT, "first\n" + TEXT.replace("his bone is big\n", "his bowl is big\n") + "her bed is red\n"
    for text in (old, new):
        files.put(text.encode())
    build(store, old)
    before = {record.segment.text: record.id for record in store.segments(publish(store, old).document.id)}
    index = FaissEmbeddingStore(database, model_id=MODEL)
    assert index.count() == 5
    build(store, new)
    assert publish(store, new).status == "updated"
    after = store.segments(1)
    assert [record.segment.text for record in after] == new.splitlines(keepends=True)
    kept = [record.id for record in after if record.id in before.values()]
    assert kept == [before[line] for line in TEXT.splitlines(keepends=True) if line != "his bone is big\n"]
    assert index.count() == 7
    assert hits(database, "his bone is big\n") == 0
    assert hits(database, "her bed is red\n") == 2
    assert rows(database) == (1, 7, 7)
    clean(database, files)


def test_a_version_that_another_name_needs_stays(store, database, files):
    new = TEXT + "more\n"
    for text in (TEXT, new):
        files.put(text.encode())
    store.save(new_document(TEXT, "a.txt"))
    store.save(new_document(TEXT, "b.txt"))
    ids = [record.id for record in store.segments(2)]
    build(store, new)
    assert publish(store, new, "a.txt").status == "updated"
    assert [record.id for record in store.segments(2)] == ids
    assert rows(database) == (2, 11, 11)
    clean(database, files)


def test_parts_of_somebody_who_has_just_begun_are_not_published_for_the_whole(store, database, files):
    files.put(TEXT.encode())
    parts = parts_of(TEXT)
    build(store, TEXT)
    assert publish(store, TEXT, "a.txt", parts=3).status == "indexed"
    store.add_part(parts[0])  # of one that begins
    store.add_part(parts[2])  # of one that is late
    assert publish(store, TEXT, "b.txt", parts=3).status == "duplicate"
    assert store.text(1).text == TEXT
    assert store.unfinished(text_hash(TEXT), "p1", MODEL).parts == 1
    for part in parts[1:]:
        store.add_part(part)
    assert publish(store, TEXT, "c.txt", parts=3).status == "duplicate"
    assert rows(database) == (1, 5, 5)
    store.add_part(parts_of("other\nlines\n", lines=1)[0])
    with pytest.raises(StorageError, match=r"what was read of 'd.txt' is gone"):
        publish(store, "other\nlines\n", "d.txt", parts=2)
    clean(database, files)


def test_another_model_gets_vectors_beside_the_old_ones(store, database, files):
    files.put(TEXT.encode())
    store.save(new_document(TEXT, "long.txt"))
    ids = [record.id for record in store.segments(1)]
    wide = [
        replace(part, model_id="wide", vectors=np.eye(16, dtype=np.float32)[: len(part.segments)])
        for part in parts_of(TEXT)
    ]
    for part in wide:
        store.add_part(part)
    assert publish(store, TEXT, model_id="wide").status == "updated"
    assert [record.id for record in store.segments(1)] == ids
    assert rows(database) == (1, 5, 10)
    assert FaissEmbeddingStore(database, model_id="wide").count() == 5
    clean(database, files)


def test_discarded_parts_are_gone_and_what_was_found_before_stays(store, database, files):
    files.put(TEXT.encode())
    build(store, TEXT)
    store.discard_unfinished(text_hash(TEXT), "p1")
    assert rows(database) == (0, 0, 0)
    store.save(new_document(TEXT, "long.txt"))
    store.add_part(parts_of(TEXT)[0])
    store.discard_unfinished(text_hash(TEXT), "p1")
    assert rows(database) == (1, 5, 5)
    assert files.path(text_hash(TEXT)).exists()
    clean(database, files)


def test_parts_read_with_other_settings_go_when_the_document_is_there(store, database, files):
    files.put(TEXT.encode())
    store.add_part(parts_of(TEXT, pipeline="before")[0])
    build(store, TEXT)
    publish(store, TEXT)
    assert rows(database) == (1, 5, 5)
    store.add_part(parts_of(TEXT, pipeline="before")[0])
    store.save(new_document(TEXT, "long.txt"))
    assert rows(database) == (1, 5, 5)
    clean(database, files)


def test_parts_that_another_job_is_reading_stay(store, database, files):
    files.put(TEXT.encode())
    jobs = SqliteJobStore(database)
    for name in ("mine", "theirs"):
        jobs.add("ingest", name, {"content_hash": text_hash(TEXT)})
    store.add_part(parts_of(TEXT, pipeline="theirs")[0])
    store.save(new_document(TEXT, "long.txt"))
    assert store.unfinished(text_hash(TEXT), "theirs", MODEL).parts == 1


def test_parts_that_do_not_follow_are_refused(store, database):
    first, second, third = parts_of(TEXT)
    with pytest.raises(StorageError, match=r"part 1 of 'long.txt' doesn't follow .* add the file again"):
        store.add_part(second)
    store.add_part(first)
    with pytest.raises(StorageError, match="part 2"):
        store.add_part(third)
    with pytest.raises(ConfigError, match="2 segments, 1 vectors and 2 rows"):
        store.add_part(replace(second, vectors=second.vectors[:1]))
    assert rows(database) == (1, 2, 2)
    with pytest.raises(StorageError, match=r"what was read of 'other.txt' is gone"):
        publish(store, "other", "other.txt")


def test_a_document_whose_parts_hold_nothing_is_refused(store, database):
    (part,) = parts_of("one\n")
    empty = replace(
        part, document=Document("\n", Metadata()), segments=(), terms=(), vectors=np.zeros((0, 8), np.float32)
    )
    store.add_part(empty)
    with pytest.raises(DocumentError, match=r"'long.txt' holds no text"):
        publish(store, "one\n")
    assert store.list() == []


def test_c09_a_race_of_two_that_build_the_same_ends_with_one_copy(tmp_path):
    databases = [Database(tmp_path) for _ in range(3)]
    stores = [SqliteDocumentStore(database, LocalFileStore(tmp_path)) for database in databases]
    LocalFileStore(tmp_path).put(TEXT.encode())
    start = threading.Barrier(3)
    statuses, errors = [], []

    def work(number):
        start.wait()
        try:
            for part in parts_of(TEXT, lines=1):
                stores[number].add_part(part)
            statuses.append(publish(stores[number], TEXT, f"{number}.txt").status)
        except FootnoteError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (errors, sorted(statuses)) == ([], ["duplicate", "duplicate", "indexed"])
    assert rows(databases[0]) == (1, 5, 5)
    clean(databases[0], LocalFileStore(tmp_path))
    for database in databases:
        database.close()
