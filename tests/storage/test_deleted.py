"""A deleted document is found by nothing, can be brought back as it was, and is gone for good once it's purged."""

import os
import time

import pytest
from sqlalchemy import func, select, text

from core.domain import Embedding, EmbeddingSearchRequest, text_hash
from core.errors import ConfigError, NotFoundError
from core.filters import metadata_key
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore, InMemoryEmbeddingStore
from storage.files import LocalFileStore
from storage.jobs import SqliteJobStore
from storage.keyword_index import SqliteKeywordIndex
from storage.maintenance import SqliteMaintenance
from storage.tables import deleted_documents, segments, superfluous_originals, texts, vectors
from storage.vector_scores import SqliteVectorScores
from tests.storage.making import MODEL, finished_document, new_document, parts_of, vector_of

CODE, OTHER = "code 7731\nthe door is red\n", "a lamp\n"


class Library:
    """Everything that looks for segments, over one data folder, kept open from change to change as the app does."""

    def __init__(self, folder):
        self.database = Database(folder)
        self.files = LocalFileStore(folder)
        self.store = SqliteDocumentStore(self.database, self.files)
        self.faiss = FaissEmbeddingStore(self.database, model_id=MODEL)
        self.in_memory = InMemoryEmbeddingStore(self.database, model_id=MODEL)
        self.keywords = SqliteKeywordIndex(self.database)

    def add(self, content, name="a.txt", **changes):
        self.files.put(content.encode())
        return self.store.save(new_document(content, name, **changes)).document

    def found(self, line, **request):
        """(segment id, document id) of what finds the line, by vector twice and by keyword, which must agree."""
        wanted = EmbeddingSearchRequest(Embedding(vector_of(line)), 5, min_score=1.0, **request)
        results = [[(hit.id, hit.document_id) for hit in kind.search(wanted)] for kind in (self.faiss, self.in_memory)]
        matches = self.keywords.search(line, limit=5, **request)
        results.append([(hit.id, hit.document_id) for hit in matches if hit.segment.text == line])
        assert results[0] == results[1] == results[2]
        return results[0]

    def search_results(self):
        """All that a few searches answer, scores included."""
        lines = f"{CODE}{OTHER}".splitlines(keepends=True)
        requests = [EmbeddingSearchRequest(Embedding(vector_of(line)), 9) for line in lines]
        return [self.faiss.search(request) for request in requests], [
            self.keywords.search(line, limit=9) for line in lines
        ]

    def check(self):
        return SqliteMaintenance(self.database, self.files, model_id=MODEL).check()

    def rows(self, *tables):
        with self.database.read() as connection:
            counts = [connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables]
        return tuple(counts)

    def close(self):
        self.keywords.close()
        self.faiss.close()
        self.database.close()


@pytest.fixture
def library(tmp_path):
    library = Library(tmp_path)
    yield library
    library.close()


def test_c04_deleted_is_found_by_nothing_before_and_after_a_restart(tmp_path):
    library = Library(tmp_path)
    document = library.add(CODE)
    library.add(OTHER, "b.txt")
    segment_id = library.found("code 7731\n")[0][0]
    library.store.delete(document.id)
    for _ in range(2):
        assert library.found("code 7731\n") == []
        assert library.found("code 7731\n", filter=metadata_key("file_name").is_equal_to("a.txt")) == []
        assert [row.name for row in library.store.list()] == ["b.txt"]
        assert (library.store.count(), library.store.list(search="a.txt")) == (1, [])
        assert [(row.documents, row.segments) for row in library.store.collections()] == [(1, 1)]
        assert (library.faiss.count(), library.in_memory.count()) == (1, 1)
        scores = SqliteVectorScores(library.database, model_id=MODEL)
        assert scores.cosines_of(Embedding(vector_of("code 7731\n")), [segment_id]) == {}
        assert library.keywords.scores_of("code", [segment_id]) == {}
        with pytest.raises(NotFoundError, match="there is no segment"):
            library.store.segment(segment_id)
        with pytest.raises(NotFoundError, match="there is no segment"):
            library.store.neighbours(segment_id, 1)
        with library.database.read() as connection:
            like = select(segments.c.id).where(segments.c.text.like("%7731%"), segments.c.generation > 0)
            assert connection.execute(like).all() == []
        assert library.check() == []
        library.close()
        library = Library(tmp_path)
    library.close()


def test_c04_purged_is_gone_from_the_disk_too(library, tmp_path):
    document = library.add(CODE)
    path = library.files.path(document.content_hash)
    library.store.delete(document.id)
    assert path.exists()
    assert library.store.purge_deleted() == 1
    assert not path.exists()
    assert library.rows(texts, segments, vectors, deleted_documents, superfluous_originals) == (0,) * 5
    with library.database.read() as connection:
        assert (
            connection.execute(text("SELECT count(*) FROM segments_fts WHERE segments_fts MATCH '7731'")).scalar() == 0
        )
    with pytest.raises(NotFoundError, match="document 1 can't be brought back; it's gone for good"):
        library.store.undelete(document.id)
    assert library.check() == []


def test_c04_brought_back_it_is_found_as_before(library):
    document = library.add(CODE, metadata={"title": "Doors"}, pages=2, warnings=("w",))
    library.add(OTHER, "b.txt")
    before, records = library.search_results(), library.store.segments(document.id)
    library.store.delete(document.id)
    assert library.search_results() != before
    (row,) = library.store.deleted()
    assert (row.id, row.name, row.source, row.collection) == (document.id, "a.txt", "upload:a.txt", "default")
    assert (row.type, row.segments, row.size) == ("text", 2, len(CODE))
    assert library.store.undelete(document.id) == document
    assert library.store.segments(document.id) == records
    assert library.search_results() == before
    assert library.store.deleted() == []
    assert library.check() == []
    # Asked again from another window: it is back already.
    assert library.store.undelete(document.id) == document
    assert library.store.segments(document.id) == records
    with pytest.raises(NotFoundError, match="document 77 can't be brought back"):
        library.store.undelete(77)


def test_deleted_ones_are_listed_newest_first(library):
    for number in range(3):
        library.add(f"text {number}\n", f"{number}.txt")
    for number in (2, 1, 3):
        library.store.delete(number)
    assert [row.id for row in library.store.deleted()] == [3, 1, 2]


def test_a_content_that_another_name_has_stays_found(library):
    library.add(CODE, "a.txt")
    library.add(CODE, "b.txt")
    ids = library.found("code 7731\n")
    library.store.delete(1)
    assert library.found("code 7731\n") == [(ids[0][0], 2)]
    library.store.delete(2)
    assert library.found("code 7731\n") == []
    library.store.purge_deleted(document_ids=[1])
    assert library.store.undelete(2).shared_with == ()
    assert library.found("code 7731\n") == [(ids[0][0], 2)]
    assert library.check() == []


def test_the_same_bytes_again_are_there_at_once(library):
    document = library.add(CODE, metadata={"title": "Doors", "owner": "ann"})
    ids = [record.id for record in library.store.segments(document.id)]
    library.store.delete(document.id)
    known = new_document(CODE)
    values = {key: getattr(known, key) for key in ("source", "name", "collection", "content_hash", "size", "pipeline")}
    linked = library.store.link_existing(**values, model_id=MODEL, on_conflict="keep_both")
    assert (linked.status, linked.document.id, linked.document.metadata) == ("indexed", 2, {"title": "Doors"})
    assert [record.id for record in library.store.segments(2)] == ids
    with pytest.raises(
        ConfigError, match=r"'a.txt' can't be brought back: 'a.txt' in collection 'default' has its source"
    ):
        library.store.undelete(1)
    library.store.delete(2)
    assert library.add(CODE).id == 3
    assert [record.id for record in library.store.segments(3)] == ids
    library.store.purge_deleted()
    assert library.found("code 7731\n") == [(ids[0], 3)]
    assert library.files.path(document.content_hash).exists()
    assert library.check() == []


def test_a_deleted_version_comes_back_after_others_came_and_went(library):
    library.add(CODE)
    library.store.delete(1)
    library.add(OTHER)  # the same source
    library.store.delete(2)
    library.store.undelete(1)
    assert len(library.found("code 7731\n")) == 1
    assert library.found("a lamp\n") == []
    assert library.check() == []


def test_an_old_version_that_a_deleted_name_has_is_kept_for_it(library):
    library.add(CODE, "a.txt")
    library.add(CODE, "b.txt")
    library.store.delete(2)
    library.add(OTHER, "a.txt")  # replaces it
    assert library.found("code 7731\n") == []
    library.store.undelete(2)
    assert [document for _, document in library.found("code 7731\n")] == [2]
    assert library.check() == []


def test_a_collection_comes_back_with_its_document(library):
    library.add(CODE, "a.txt", collection="tax")
    library.add(OTHER, "b.txt", collection="tax")
    library.store.delete(2)
    library.store.rename_collection("tax", "taxes")
    assert library.store.delete_collection("taxes") == 1
    assert library.store.collections() == []
    assert {row.collection for row in library.store.deleted()} == {"taxes"}
    assert library.store.undelete(1).collection == "taxes"
    assert library.store.undelete(2).collection == "taxes"
    assert [(row.name, row.documents) for row in library.store.collections()] == [("taxes", 2)]
    assert library.found("a lamp\n", filter=metadata_key("collection").is_equal_to("taxes")) != []


def test_only_the_old_ones_are_purged(library):
    library.add(CODE, "a.txt")
    library.add(OTHER, "b.txt")
    library.store.delete(1)
    library.store.delete(2)
    with library.database.write() as connection:
        connection.execute(text("UPDATE deleted_documents SET deleted = deleted - 7200 WHERE id = 1"))
    assert library.store.purge_deleted(older_than_s=3600, document_ids=[2]) == 0
    assert library.store.purge_deleted(older_than_s=3600) == 1
    assert [row.id for row in library.store.deleted()] == [2]
    assert library.store.purge_deleted(document_ids=[1, 99]) == 0


def test_vectors_of_deleted_documents_need_not_be_made_again(library):
    library.add(CODE)
    library.store.delete(1)
    assert len(library.store.vectors_for([text_hash("code 7731\n")], MODEL)) == 1


def test_a_long_document_goes_and_comes_back(library):
    library.files.put(CODE.encode())
    for part in parts_of(CODE, lines=1):
        library.store.add_part(part)
    id = library.store.publish(finished_document(CODE)).document.id
    before = library.search_results()
    library.store.delete(id)
    assert library.found("code 7731\n") == []
    library.store.undelete(id)
    assert library.search_results() == before
    library.store.delete(id)
    for part in parts_of(CODE, lines=1):  # the same bytes while they lie in the deleted ones
        library.store.add_part(part)
    result = library.store.publish(finished_document(CODE))
    assert result.status == "indexed"
    assert [record.segment.text for record in library.store.segments(result.document.id)] == CODE.splitlines(True)
    assert len(library.found("code 7731\n")) == 1
    assert library.check() == []


def test_the_sweep_removes_what_a_commit_made_superfluous_and_nothing_else(library, tmp_path):
    document = library.add(CODE)
    path = library.files.path(document.content_hash)
    kept = library.files.path(library.files.put(b"just being added"))
    waiting = library.files.put(b"a job waits for it")
    SqliteJobStore(library.database).add("ingest", "w.txt", {"content_hash": waiting})
    with library.database.write() as connection:  # as a kill after the commit leaves it
        for content_hash in (document.content_hash, waiting, "f" * 64):
            row = {"content_hash": content_hash, "seen": time.time()}
            connection.execute(superfluous_originals.insert().values(**row))
    assert library.store.sweep() == 3
    assert path.exists() and kept.exists() and library.files.path(waiting).exists()
    library.store.delete(document.id)
    again = time.time() + 60
    os.utime(path, (again, again))  # somebody puts it once more
    library.store.purge_deleted()
    assert path.exists()
    assert library.store.sweep() == 0


def test_the_sweep_forgets_parts_that_no_job_goes_on_with(library):
    jobs = SqliteJobStore(library.database)
    contents = [f"{name}\nmore\n" for name in ("young", "old", "failed")]
    for content in contents:
        library.store.add_part(parts_of(content, lines=1)[0])
        library.files.put(content.encode())
    jobs.add("ingest", "f.txt", {"content_hash": text_hash(contents[2])})
    with library.database.write() as connection:
        connection.execute(
            texts.update().where(texts.c.content_hash != text_hash(contents[0])).values(seen=time.time() - 3600)
        )
    assert [problem.kind for problem in library.check()] == ["orphan_text"]
    assert library.store.sweep() == 1
    left = [bool(library.store.unfinished(text_hash(content), "p1", MODEL)) for content in contents]
    assert left == [True, False, True]
    assert library.check() == []


def test_replacing_a_copy_takes_nothing_from_a_deleted_one(library):
    """Both names stood for one text; what replaces one of them mustn't take over the segments of the other."""
    library.add(CODE, "a.txt")
    copy = library.add(CODE, "b.txt")
    library.store.delete(copy.id)
    library.add("code 7731\na new line\n", "a.txt")
    assert library.store.undelete(copy.id).name == "b.txt"
    assert [record.segment.text for record in library.store.segments(copy.id)] == CODE.splitlines(keepends=True)
    assert [document for _, document in library.found("the door is red\n")] == [copy.id]
    assert library.check() == []
