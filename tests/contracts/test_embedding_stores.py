"""What every embedding store must do: run for each name of the registry."""

import numpy as np
import pytest

from core.domain import Embedding, EmbeddingSearchRequest, TextSegment
from core.errors import ConfigError
from core.filters import metadata_key
from core.protocols import EmbeddingStore
from core.registry import describe
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import EMBEDDING_STORES
from storage.files import LocalFileStore
from tests.storage.making import MODEL, new_document, vector_of

BAD_VECTORS = {"zero": [0, 0], "NaN": [float("nan"), 1], "infinite": [float("inf"), 1]}


@pytest.fixture
def database(tmp_path):
    with Database(tmp_path) as database:
        yield database


@pytest.fixture(params=sorted(EMBEDDING_STORES))
def make(request, database):
    """Makes a store over the database of this test."""
    made = []

    def make(model_id=MODEL):
        made.append(EMBEDDING_STORES[request.param](database, model_id=model_id))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def store(make):
    return make()


@pytest.fixture
def documents(database):
    return SqliteDocumentStore(database, LocalFileStore(database.data_dir))


def search(store, vector, limit=10, **options):
    return store.search(EmbeddingSearchRequest(Embedding(vector), limit, **options))


def found_ids(store, vector, limit=10, **options):
    return [match.id for match in search(store, vector, limit, **options)]


def found_texts(store, vector, limit=10, **options):
    return [match.segment.text for match in search(store, vector, limit, **options)]


def test_it_is_a_store_and_says_what_it_is(store):
    assert isinstance(store, EmbeddingStore)
    assert describe(store)


def test_added_entries_are_found_best_first_with_score_and_cosine(store):
    segment = TextSegment.from_text("east", {"page": 3})
    with_segment = store.add(Embedding([1, 0]), segment)
    without = store.add(Embedding([0, 1]))
    assert store.add("mine", Embedding([-1, 0])) == "mine"
    first, second, third = search(store, [1, 0])
    assert (first.id, first.score, first.cosine, first.segment) == (with_segment, 1.0, 1.0, segment)
    assert (second.id, second.score, second.cosine, second.segment) == (without, 0.5, 0.0, None)
    assert (third.id, third.score, third.cosine, third.document_id) == ("mine", 0.0, -1.0, None)


def test_add_all_keeps_the_order_and_takes_ids_and_segments(store):
    embeddings = [Embedding([1, 0]), Embedding([0, 1])]
    segments = [TextSegment.from_text("east"), TextSegment.from_text("north")]
    ids = store.add_all(embeddings, segments)
    assert found_ids(store, [1, 0]) == ids
    assert store.add_all(["a", "b"], embeddings, [segments[0], None]) == ["a", "b"]
    assert {match.id: match.segment for match in search(store, [1, 0])}["b"] is None
    assert len(store.add_all(embeddings)) == 2
    assert store.add_all([]) == []
    assert len(search(store, [1, 0])) == 6


def test_lists_of_unequal_length_are_refused(store):
    one, segment = Embedding([1, 0]), TextSegment.from_text("a")
    for wrong in (([one, one], [segment]), (["a"], [one, one], [segment, segment]), (["a", "b"], [one], [segment])):
        with pytest.raises(ConfigError, match="lists of one length"):
            store.add_all(*wrong)
    assert search(store, [1, 0]) == []


def test_what_is_no_embedding_segment_or_id_is_refused(store):
    for wrong in (([1, 0],), (Embedding([1, 0]), "text"), (" ", Embedding([1, 0])), ()):
        with pytest.raises(ConfigError):
            store.add(*wrong)


def test_a_known_id_is_replaced(store):
    store.add_all(["a"], [Embedding([1, 0])], [TextSegment.from_text("old", {"k": 1})])
    store.add_all(["a"], [Embedding([0, 1])], [TextSegment.from_text("new", {"k": 2})])
    (match,) = search(store, [1, 0])
    assert (match.id, match.cosine, match.segment.text) == ("a", 0.0, "new")
    assert search(store, [1, 0], filter=metadata_key("k").is_equal_to(1)) == []


def test_removed_entries_are_not_found(store):
    vectors = [Embedding([1, number]) for number in range(5)]
    segments = [TextSegment.from_text("t", {"n": number}) for number in range(5)]
    store.add_all(list("abcde"), vectors, segments)
    store.remove("a")
    store.remove("unknown")
    assert sorted(found_ids(store, [1, 0])) == list("bcde")
    store.remove_all(["b", "unknown"])
    assert sorted(found_ids(store, [1, 0])) == list("cde")
    store.remove_all(metadata_key("n").is_greater_than(3))
    assert sorted(found_ids(store, [1, 0])) == list("cd")
    store.remove_all()
    assert search(store, [1, 0]) == []


def test_remove_all_of_nothing_raises_and_removes_nothing(store):
    store.add("a", Embedding([1, 0]))
    for nothing in ([], None, (), "a"):
        with pytest.raises(ConfigError, match="removes everything"):
            store.remove_all(nothing)
    for nothing in (None, "", " "):
        with pytest.raises(ConfigError, match="not blank"):
            store.remove(nothing)
    assert found_ids(store, [1, 0]) == ["a"]


def test_an_entry_without_a_segment_matches_no_filter(store):
    store.add("a", Embedding([1, 0]))
    page = metadata_key("page").is_equal_to(1)
    assert found_ids(store, [1, 0], filter=page) == found_ids(store, [1, 0], filter=~page) == []
    store.remove_all(~page)
    assert found_ids(store, [1, 0]) == ["a"]


def test_min_score_is_inclusive(store):
    store.add_all(
        ["same", "across", "against"], [Embedding([3, 4]), Embedding([-4, 3]), Embedding([-3, -4])], [None] * 3
    )
    assert found_ids(store, [3, 4], min_score=1.0) == ["same"]
    assert found_ids(store, [3, 4], min_score=0.5) == ["same", "across"]
    assert found_ids(store, [3, 4], min_score=0.0) == ["same", "across", "against"]


def test_a_vector_is_as_near_to_itself_as_can_be(store):
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((50, 384)).astype(np.float32) * 7
    ids = store.add_all([Embedding(vector) for vector in vectors])
    for id, vector in zip(ids, vectors, strict=True):
        assert found_ids(store, vector, min_score=1.0) == [id]


def test_c12_more_results_than_entries_and_an_empty_store(store):
    assert search(store, [1, 0], 8) == []
    store.add_all([Embedding([1, number]) for number in range(4)])
    assert len(search(store, [1, 0], 8)) == 4
    assert search(store, [1, 0], 8, filter=metadata_key("page").is_equal_to(1)) == []


def test_c13_long_vectors_do_not_win(store):
    store.add("unit", Embedding([1, 0]))
    store.add("long", Embedding([5, 5]))
    first, second = search(store, [1, 0])
    assert (first.id, first.score) == ("unit", 1.0)
    assert second.id == "long"
    assert second.cosine == pytest.approx(2**-0.5, abs=1e-6)


def test_a_given_embedding_stays_as_it_is(store):
    embedding, query = Embedding([5, 5]), Embedding([3, 4])
    store.add(embedding)
    store.search(EmbeddingSearchRequest(query))
    assert embedding.vector.tolist() == [5, 5]
    assert query.vector.tolist() == [3, 4]


def test_a_returned_segment_may_be_changed(store):
    segment = TextSegment.from_text("a", {"page": 1})
    store.add(Embedding([1, 0]), segment)
    segment.metadata.put("page", 2)
    search(store, [1, 0])[0].segment.metadata.put("page", 3)
    assert search(store, [1, 0])[0].segment.metadata.get("page") == 1


@pytest.mark.parametrize("kind", BAD_VECTORS)
def test_vectors_that_have_no_direction_are_refused(store, kind):
    store.add("a", Embedding([1, 0]))
    with pytest.raises(ConfigError, match="zero or holds NaN or infinity"):
        store.add("b", Embedding(BAD_VECTORS[kind]))
    with pytest.raises(ConfigError, match="zero or holds NaN or infinity"):
        search(store, BAD_VECTORS[kind])
    assert found_ids(store, [1, 0]) == ["a"]


def test_c07_another_dimension_is_refused_with_the_way_out(store):
    store.add("a", Embedding([1, 0]))
    for attempt in (
        lambda: store.add(Embedding([1, 0, 0])),
        lambda: store.add_all([Embedding([1, 0]), Embedding([1, 0, 0])]),
        lambda: search(store, [1, 0, 0]),
    ):
        with pytest.raises(ConfigError, match=r"3 dimensions .* 2 dimensions made by 'test-model'.*re-index"):
            attempt()
    assert found_ids(store, [1, 0]) == ["a"]


def test_two_dimensions_in_one_call_are_refused_in_an_empty_store_too(store):
    with pytest.raises(ConfigError, match="re-index"):
        store.add_all([Embedding([1, 0]), Embedding([1, 0, 0])])
    assert store.count() == 0


def test_filters_act_and_returned_segments_match_them(store):
    pages = [1, 2, 3, 4]
    segments = [
        TextSegment.from_text(f"page {page}", {"page": page, "part": "a" if page < 3 else "b"}) for page in pages
    ]
    store.add_all([Embedding([1, page / 10]) for page in pages], segments)
    page, part = metadata_key("page"), metadata_key("part")
    cases = {
        page.is_equal_to(2): [2],
        page.is_not_equal_to(2): [1, 3, 4],
        page.is_greater_than(2): [3, 4],
        page.is_greater_than_or_equal_to(2.0): [2, 3, 4],
        page.is_less_than(2): [1],
        page.is_less_than_or_equal_to(2): [1, 2],
        page.is_in([1, 4, 9]): [1, 4],
        page.is_in([]): [],
        page.is_not_in([1, 4]): [2, 3],
        part.contains_string("a"): [1, 2],
        part.is_equal_to("a") & page.is_greater_than(1): [2],
        part.is_equal_to("a") | page.is_equal_to(4): [1, 2, 4],
        ~part.is_equal_to("a"): [3, 4],
        metadata_key("missing").is_equal_to(1): [],
        metadata_key("missing").is_not_equal_to(1): [1, 2, 3, 4],
    }
    for filter, expected in cases.items():
        found = [match.segment.metadata.get("page") for match in search(store, [1, 0], filter=filter)]
        assert found == expected, filter
    with pytest.raises(ConfigError, match="can't compare"):
        search(store, [1, 0], filter=page.is_equal_to("2"))


def test_true_is_not_one(store):
    store.add(Embedding([1, 0]), TextSegment.from_text("flag", {"flag": True}))
    assert len(search(store, [1, 0], filter=metadata_key("flag").is_equal_to(True))) == 1
    with pytest.raises(ConfigError, match="can't compare"):
        search(store, [1, 0], filter=metadata_key("flag").is_equal_to(1))


def test_c15_a_filter_acts_before_the_best_are_taken(store):
    near = [TextSegment.from_text(f"a{number}", {"of": "A"}) for number in range(50)]
    far = [TextSegment.from_text(f"b{number}", {"of": "B"}) for number in range(5)]
    store.add_all([Embedding([1, number / 1000]) for number in range(50)], near)
    store.add_all([Embedding([number / 1000, 1]) for number in range(5)], far)
    found = found_texts(store, [1, 0], 4, filter=metadata_key("of").is_equal_to("B"))
    assert found == ["b4", "b3", "b2", "b1"]


# ── segments of documents ──


def test_documents_are_found_as_soon_as_they_are_saved_and_not_after(store, documents):
    assert search(store, vector_of("one\n")) == []
    document = documents.save(new_document("one\ntwo\n", metadata={"title": "T"}, own={"two": {"page": 2}})).document
    match = search(store, vector_of("two\n"), 1)[0]
    assert (match.score, match.document_id, match.segment.text) == (1.0, document.id, "two\n")
    assert (match.segment.start, match.segment.end, match.segment.index) == (4, 8, 1)
    assert match.segment.metadata.to_dict() == {
        "title": "T",
        "page": 2,
        "index": 1,
        "file_name": "a.txt",
        "source": "upload:a.txt",
        "collection": "default",
    }
    assert documents.segment(match.id).segment == match.segment
    documents.save(new_document("one\nthree\n"))
    assert sorted(found_texts(store, vector_of("two\n"))) == ["one\n", "three\n"]
    documents.delete(document.id)
    assert search(store, vector_of("one\n")) == []


def test_c04_a_deleted_document_is_not_found_before_nor_after_a_restart(make, documents):
    store = make()
    document = documents.save(new_document("code 7731")).document
    assert found_texts(store, vector_of("code 7731")) == ["code 7731"]
    documents.delete(document.id)
    assert search(store, vector_of("code 7731")) == []
    store.close()
    assert search(make(), vector_of("code 7731")) == []


def test_c05_each_remaining_document_is_its_own_best_hit(make, documents):
    store = make()
    texts = [f"text number {number}" for number in range(4)]
    ids = [documents.save(new_document(text, f"{text}.txt")).document.id for text in texts]
    search(store, vector_of(texts[0]))
    documents.delete(ids[1])
    store.close()
    for searched in (store, make()):
        for number in (0, 2, 3):
            match = search(searched, vector_of(texts[number]), 1)[0]
            assert (match.segment.text, match.document_id) == (texts[number], ids[number])


def test_filters_name_documents_by_their_own_and_their_standard_keys(store, documents):
    documents.save(new_document("red apple", "apple.txt", collection="fruit", metadata={"owner": "ann"}))
    documents.save(new_document("red car", "car.txt", collection="things", metadata={"owner": "bob"}))
    expected = {
        metadata_key("document_id").is_in([1]): ["red apple"],
        metadata_key("collection").is_equal_to("things"): ["red car"],
        metadata_key("file_name").contains_string("app"): ["red apple"],
        metadata_key("source").is_equal_to("upload:car.txt"): ["red car"],
        metadata_key("owner").is_equal_to("ann"): ["red apple"],
        ~metadata_key("owner").is_equal_to("ann"): ["red car"],
        metadata_key("owner").is_equal_to("bob") & metadata_key("index").is_equal_to(0): ["red car"],
        metadata_key("owner").is_equal_to("bob") & metadata_key("index").is_equal_to(1): [],
    }
    for filter, texts in expected.items():
        assert found_texts(store, vector_of("red"), filter=filter) == texts, filter


def test_a_shared_text_is_found_through_any_of_its_documents_that_matches(store, documents):
    documents.save(new_document("shared text", "a.txt", collection="one"))
    documents.save(new_document("shared text", "b.txt", collection="two"))
    query = vector_of("shared text")
    assert [(match.document_id) for match in search(store, query)] == [1]
    (match,) = search(store, query, filter=metadata_key("collection").is_equal_to("two"))
    assert (match.document_id, match.segment.metadata.get("file_name")) == (2, "b.txt")
    # Both conditions hold for one of the documents each, and for none of them together.
    mixed = metadata_key("collection").is_equal_to("two") & metadata_key("file_name").is_equal_to("a.txt")
    assert search(store, query, filter=mixed) == []
    documents.delete(1)
    assert [match.document_id for match in search(store, query)] == [2]


def test_a_segments_own_key_does_not_stand_for_its_document(store, documents):
    documents.save(new_document("secret", "a.txt", own={"secret": {"collection": "public", "source": "else"}}))
    assert search(store, vector_of("secret"), filter=metadata_key("collection").is_equal_to("public")) == []


def test_segments_of_documents_are_not_removed_one_by_one(store, documents):
    documents.save(new_document("one\ntwo\n"))
    id = found_ids(store, vector_of("one\n"), 1)[0]
    for attempt in (
        lambda: store.remove(id),
        lambda: store.remove_all([id]),
        lambda: store.remove_all(metadata_key("index").is_equal_to(0)),
        lambda: store.remove_all(),
        lambda: store.add(id, Embedding(vector_of("x"))),
    ):
        with pytest.raises(ConfigError, match="delete the document instead"):
            attempt()
    assert len(search(store, vector_of("one\n"))) == 2


def test_c07_documents_of_another_model_are_named_with_the_way_out(make, documents):
    documents.save(new_document("one\ntwo\n"))
    with pytest.raises(
        ConfigError, match=r"2 segments here were embedded by 'test-model', and none by 'new'.*re-index"
    ):
        search(make(model_id="new"), [1, 0, 0])
    assert len(search(make(), vector_of("one\n"))) == 2
