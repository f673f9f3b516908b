"""Documents: visible at once, replaced at once, gone wholly; the same content is kept once."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import func, select, text

from core.domain import text_hash
from core.errors import ConfigError, DocumentError, NotFoundError
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from storage.jobs import SqliteJobStore
from storage.tables import segments, texts, vectors
from tests.storage.making import MODEL, new_document, vector_of


def counts(database):
    """Texts, and the segments and vectors that can be found."""
    found = select(func.count()).select_from(segments).where(segments.c.generation > 0)
    with_vector = select(func.count()).select_from(segments).join(vectors).where(segments.c.generation > 0)
    queries = (select(func.count()).select_from(texts), found, with_vector)
    with database.read() as connection:
        return tuple(connection.execute(query).scalar_one() for query in queries)


def found_by_word(database, word):
    with database.read() as connection:
        statement = text(
            "SELECT count(*) FROM segments_fts JOIN segments ON segments.id = segments_fts.rowid "
            "WHERE segments_fts MATCH :word AND generation > 0"
        )
        return connection.execute(statement, {"word": f'"{word}"'}).scalar()


def link(store, new, **changes):
    values = {key: getattr(new, key) for key in ("source", "name", "collection", "content_hash", "size", "pipeline")}
    return store.link_existing(**(values | {"model_id": MODEL, "on_conflict": "replace"} | changes))


def test_a_saved_document_is_read_back_whole(store):
    new = new_document("one\ntwo\n", metadata={"title": "Numbers"}, own={"two": {"page": 2}}, pages=2, warnings=("w",))
    result = store.save(new)
    document = result.document
    assert result.status == "indexed"
    assert (document.name, document.source, document.collection) == ("a.txt", "upload:a.txt", "default")
    assert (document.pages, document.segments, document.characters, document.size) == (2, 2, 8, 8)
    assert (document.warnings, document.content_hash, document.state) == (("w",), text_hash("one\ntwo\n"), "indexed")
    assert store.text(document.id).text == "one\ntwo\n"
    first, second = store.segments(document.id)
    assert (second.segment.text, second.segment.start, second.segment.end, second.document_id) == ("two\n", 4, 8, 1)
    assert second.segment.metadata.to_dict() == {
        "title": "Numbers",
        "file_name": "a.txt",
        "source": "upload:a.txt",
        "collection": "default",
        "page": 2,
        "index": 1,
    }
    assert store.segment(first.id) == first
    assert store.neighbours(first.id, 1) == [first, second]
    assert store.find("upload:a.txt", "default") == store.get(1) == document


def test_every_change_raises_the_generation(store):
    numbers = [store.generation()]
    document = store.save(new_document("one")).document
    numbers.append(store.generation())
    store.save(new_document("one"))
    assert store.generation() == numbers[-1]
    store.delete(document.id)
    numbers.append(store.generation())
    assert numbers == sorted(set(numbers))


def test_a42_same_name_from_two_folders_are_two_documents(store):
    store.save(new_document("total 100", "readings.txt", source="/north/readings.txt"))
    store.save(new_document("total 200", "readings.txt", source="/south/readings.txt"))
    assert [(row.id, row.source) for row in store.list()] == [(1, "/north/readings.txt"), (2, "/south/readings.txt")]


def test_a42_the_same_upload_name_with_other_content_is_kept_beside_the_first(store, database):
    for content in ("total 100", "total 200", "total 300"):
        store.save(new_document(content, "readings.txt", on_conflict="keep_both"))
    names = ["readings.txt", "readings (2).txt", "readings (3).txt"]
    assert [row.name for row in store.list()] == names
    # Each of them once more is nothing new, under whatever number it was kept.
    for content, name in zip(("total 100", "total 200", "total 300"), names, strict=True):
        again = new_document(content, "readings.txt", on_conflict="keep_both")
        for result in (link(store, again, on_conflict="keep_both"), store.save(again)):
            assert (result.status, result.document.name) == ("unchanged", name)
    assert counts(database) == (3, 3, 3)


def test_a43_two_names_of_one_content_share_it_and_part_without_harm(store, database, files):
    content = b"port: 8080"
    files.put(content)
    store.save(new_document("port: 8080", "a/config.yaml", metadata={"owner": "ann", "title": "Ports"}))
    second = new_document("port: 8080", "b/config.yaml")
    result = link(store, second)
    assert (result.status, result.duplicate_of) == ("duplicate", "a/config.yaml")
    assert result.document.shared_with == ("a/config.yaml",)
    assert result.document.metadata == {"title": "Ports"}  # who owns the first copy says nothing about the second
    assert [row.name for row in store.list()] == ["a/config.yaml", "b/config.yaml"]
    assert counts(database) == (1, 1, 1)
    store.delete(1)
    assert counts(database) == (1, 1, 1)
    assert found_by_word(database, "8080") == 1
    assert store.segments(2)[0].segment.metadata.get("file_name") == "b/config.yaml"
    assert files.read(second.content_hash) == content
    store.delete(2)
    assert (counts(database), found_by_word(database, "8080")) == ((1, 0, 0), 0)
    store.purge_deleted()
    assert counts(database) == (0, 0, 0)


def test_a44_the_same_file_again_changes_nothing(store, database):
    new = new_document("alpha\nbeta\n", "x.txt")
    assert store.save(new).status == "indexed"
    assert [store.save(new).status, link(store, new).status] == ["unchanged", "unchanged"]
    assert counts(database) == (1, 2, 2)
    assert len(store.list()) == 1


def test_a44_a_race_of_two_uploads_ends_with_one_copy(tmp_path):
    databases = [Database(tmp_path) for _ in range(4)]
    stores = [SqliteDocumentStore(database, LocalFileStore(tmp_path)) for database in databases]
    start = threading.Barrier(4)
    statuses = []

    def save(number):
        start.wait()
        name = "same.txt" if number < 2 else f"other {number}.txt"
        statuses.append(stores[number].save(new_document("alpha\nbeta\n", name)).status)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Of the two with one name, the other found it unchanged.
    assert statuses.count("indexed") == 1
    assert set(statuses) <= {"indexed", "duplicate", "unchanged"}
    assert counts(databases[0]) == (1, 2, 2)
    assert len(stores[0].list()) == 3
    for database in databases:
        database.close()


def test_a45_a_changed_file_leaves_nothing_of_the_old_text(store, database, files):
    files.put(b"The office cat is Mira\n")
    old = store.save(new_document("The office cat is Mira\n", "staff.txt")).document
    result = store.save(new_document("The office cat is Otto\n", "staff.txt"))
    assert (result.status, result.document.id) == ("updated", old.id)
    assert (found_by_word(database, "mira"), found_by_word(database, "otto")) == (0, 1)
    assert counts(database) == (1, 1, 1)
    with pytest.raises(NotFoundError, match="add the file again"):
        files.read(old.content_hash)


def test_b8_unchanged_segments_keep_their_id_and_vector(store):
    before = store.save(new_document("one\ntwo\nthree\n")).document
    ids = [record.id for record in store.segments(before.id)]
    store.save(new_document("zero\none\nthree\n"))
    after = store.segments(before.id)
    assert [record.id for record in after][1:] == [ids[0], ids[2]]
    assert [(record.segment.start, record.segment.index) for record in after] == [(0, 0), (5, 1), (9, 2)]
    assert after[0].id not in ids
    with pytest.raises(NotFoundError, match="there is no segment"):
        store.segment(ids[1])


def test_a_text_that_another_name_needs_stays_when_one_name_changes(store, database):
    store.save(new_document("one\ntwo\n", "a.txt"))
    link(store, new_document("one\ntwo\n", "b.txt"))
    store.save(new_document("one\nthree\n", "a.txt"))
    assert [record.segment.text for record in store.segments(2)] == ["one\n", "two\n"]
    assert [record.segment.text for record in store.segments(1)] == ["one\n", "three\n"]
    assert counts(database) == (2, 4, 4)


def test_a_new_pipeline_cuts_the_same_content_anew(store, database):
    store.save(new_document("one two"))
    other = new_document("one two", pipeline="p2")
    assert link(store, other) is None
    assert store.save(other).status == "updated"
    assert counts(database) == (1, 1, 1)


def test_another_model_adds_vectors_beside_the_old_ones(store, database):
    new = new_document("one\ntwo\n")
    store.save(new)
    assert link(store, new, model_id="other") is None
    wide = replace(new, model_id="other", vectors=np.eye(2, 16, dtype=np.float32))
    assert store.save(wide).status == "updated"
    assert counts(database) == (1, 2, 4)
    assert link(store, new, model_id="other").status == "unchanged"


def test_vectors_are_found_by_what_was_embedded(store):
    store.save(new_document("one\ntwo\n"))
    found = store.vectors_for([text_hash("one\n"), text_hash("unknown")], MODEL)
    assert list(found) == [text_hash("one\n")]
    np.testing.assert_allclose(found[text_hash("one\n")], vector_of("one\n"), atol=1e-7)
    assert store.vectors_for([text_hash("one\n")], "other") == {}


@pytest.mark.parametrize(
    "damaged",
    [vector_of("one\n").tobytes()[:-4], np.full(8, np.nan, np.float32).tobytes(), bytes(32)],
    ids=["short", "NaN", "zero"],
)
def test_a_damaged_vector_is_not_used_again(store, database, damaged):
    store.save(new_document("one\ntwo\n"))
    with database.write() as connection:
        of_one = select(segments.c.id).where(segments.c.embedded_hash == text_hash("one\n")).scalar_subquery()
        connection.execute(vectors.update().where(vectors.c.segment_id == of_one).values(vector=damaged))
    assert list(store.vectors_for([text_hash("one\n"), text_hash("two\n")], MODEL)) == [text_hash("two\n")]


def test_c04_a_deleted_document_is_gone_with_its_file(store, database, files):
    files.put(b"code 7731")
    document = store.save(new_document("code 7731")).document
    path = files.path(document.content_hash)
    assert store.delete(document.id) == document
    assert counts(database) == (1, 0, 0)
    assert found_by_word(database, "7731") == 0
    assert path.exists()  # it can be brought back
    assert store.purge_deleted() == 1
    assert counts(database) == (0, 0, 0)
    assert not path.exists()
    with pytest.raises(NotFoundError, match="there is no document 1"):
        store.get(document.id)


def test_c04_a_file_that_was_put_again_or_that_a_job_needs_stays(store, database, files):
    document = store.save(new_document("code 7731")).document
    files.put(b"code 7731")  # somebody else uploads it again, and hasn't made a job yet
    store.delete(document.id)
    store.purge_deleted()
    assert files.read(document.content_hash) == b"code 7731"
    document = store.save(new_document("code 7731")).document
    SqliteJobStore(database).add("ingest", "again", {"content_hash": document.content_hash})
    store.delete(document.id)
    store.purge_deleted()
    assert files.read(document.content_hash) == b"code 7731"


def test_ids_are_never_reused(store, database):
    seen = set()
    for round in range(3):
        document = store.save(new_document(f"text {round}")).document
        with database.read() as connection:
            ids = {("d", document.id), *(("s", id) for id in connection.execute(select(segments.c.id)).scalars())}
        assert not ids & seen
        seen |= ids
        store.delete(document.id)
        store.purge_deleted()


def test_a46_odd_names_are_shown_without_what_turns_them_around(store):
    names = [
        "файл.txt",
        "長" * 100 + ".pdf",
        ".hidden",
        "-dash",
        "  blanks  ",
        "inv\u202efdp.exe",
        "nul\0.txt",
        "\udcff.txt",
    ]
    shown = [store.save(new_document(f"text {name!r}", name)).document.name for name in names]
    assert shown == [
        "файл.txt",
        "長" * 100 + ".pdf",
        ".hidden",
        "-dash",
        "blanks",
        "inv\ufffdfdp.exe",
        "nul\ufffd.txt",
        "\ufffd.txt",
    ]
    assert [store.find(f"upload:{name}", "default").name for name in names] == shown


def test_a11_no_control_character_is_stored_and_offsets_stay(store, database):
    new = new_document("ab\0cd\x07\nsecond \ud800\n", metadata={"title": "Scan\0Title"}, terms=("ab\0cd", "second"))
    document = store.save(new).document
    assert store.text(document.id).text == "ab cd \nsecond \ufffd\n"
    assert store.get(document.id).metadata == {"title": "Scan Title"}
    whole = store.text(document.id).text
    for record in store.segments(document.id):
        assert whole[record.segment.start : record.segment.end] == record.segment.text
    assert (found_by_word(database, "ab"), found_by_word(database, "cd")) == (1, 1)


def test_vectors_that_do_not_fit_are_refused_and_nothing_is_kept(store, database):
    new = new_document("one\ntwo\n")
    for bad, sentence in (
        (np.full((2, 8), np.nan), "vector 0 is zero or holds NaN"),
        (np.zeros((2, 8)), "vector 0 is zero"),
        (np.eye(1, 8), "2 segments, 1 vectors and 2 rows of terms"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            store.save(replace(new, vectors=bad.astype(np.float32)))
    assert counts(database) == (0, 0, 0)


def test_c07_vectors_of_another_size_are_refused_with_the_way_out(store, database):
    store.save(new_document("one"))
    wide = replace(new_document("two", "b.txt"), vectors=np.eye(1, 16, dtype=np.float32))
    with pytest.raises(ConfigError, match=r"16 dimensions .* 8 dimensions made by 'test-model'.*re-index"):
        store.save(wide)
    assert [row.name for row in store.list()] == ["a.txt"]
    assert counts(database) == (1, 1, 1)


def test_a_document_without_segments_is_refused(store):
    with pytest.raises(DocumentError, match=r"'a.txt' holds no text"):
        store.save(new_document(""))


def test_collections(store):
    store.save(new_document("one\ntwo\n", "a.txt", collection="tax"))
    store.save(new_document("three", "b.txt", collection="home"))
    store.add_collection("empty")
    assert [(row.name, row.documents, row.segments) for row in store.collections()] == [
        ("empty", 0, 0),
        ("home", 1, 1),
        ("tax", 1, 2),
    ]
    with pytest.raises(ConfigError, match="there is a collection called 'tax' already"):
        store.add_collection("tax")
    with pytest.raises(ConfigError, match="there is a collection called 'home' already"):
        store.rename_collection("tax", "home")
    store.rename_collection("tax", "taxes")
    assert store.segments(1)[0].segment.metadata.get("collection") == "taxes"
    assert (store.count(), store.count(collection="taxes")) == (2, 1)
    assert store.delete_collection("taxes") == 1
    assert [row.name for row in store.list()] == ["b.txt"]
    with pytest.raises(NotFoundError, match="no collection called 'taxes'"):
        store.delete_collection("taxes")


def test_the_list_is_searched_literally_and_whatever_the_case(store):
    for number, name in enumerate(["100% Wolle.txt", "1000 Wollen.txt", "Übung.txt", "ÜBUNG 2.txt"]):
        store.save(new_document(f"text {number}", name))
    assert [row.name for row in store.list(search="100%")] == ["100% Wolle.txt"]
    assert [row.name for row in store.list(search="übung")] == ["Übung.txt", "ÜBUNG 2.txt"]
    assert [row.name for row in store.list(limit=2, offset=1)] == ["1000 Wollen.txt", "Übung.txt"]
