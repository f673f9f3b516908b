import pytest

from core.domain import Embedding, TextSegment
from core.embedding_models import HashingEmbeddingModel
from core.errors import ConfigError, UnsupportedFeatureError
from core.filters import metadata_key
from core.query import InvocationParameters, Query, QueryMetadata
from core.rag.retrievers import EmbeddingStoreContentRetriever
from storage.embedding_stores import InMemoryEmbeddingStore

MODEL = HashingEmbeddingModel()


def store_of(*texts, **metadata):
    store = InMemoryEmbeddingStore()
    add(store, *texts, **metadata)
    return store


def add(store, *texts, **metadata):
    segments = [TextSegment.from_text(text, metadata) for text in texts]
    store.add_all(MODEL.embed_all(segments), segments)


def found(retriever, text, **parameters):
    query = Query(text, QueryMetadata(text, invocation_parameters=InvocationParameters(parameters)))
    return [content.segment.text for content in retriever.retrieve(query)]


def test_nearest_first_with_scores_and_ranks():
    retriever = EmbeddingStoreContentRetriever(store_of("blue sky", "red pump", "green tree"), MODEL)
    best, *others = retriever.retrieve(Query("red pump"))
    assert (best.segment.text, best.ranks, len(others)) == ("red pump", {"vector": 1}, 2)
    assert best.scores["cosine"] == pytest.approx(1)
    assert best.scores["score"] == pytest.approx(1)


def test_three_results_by_default_and_nothing_from_an_empty_store():
    assert len(found(EmbeddingStoreContentRetriever(store_of(*"abcde"), MODEL), "a")) == 3
    assert found(EmbeddingStoreContentRetriever(InMemoryEmbeddingStore(), MODEL), "a") == []


def test_min_score_is_inclusive():
    store = store_of("red pump", "green tree")
    assert found(EmbeddingStoreContentRetriever(store, MODEL, min_score=1.0), "red pump") == ["red pump"]


def test_an_entry_without_a_segment_is_no_content():
    store = store_of("red pump")
    store.add(Embedding(MODEL.embed("red pump").vector))
    assert found(EmbeddingStoreContentRetriever(store, MODEL), "red pump") == ["red pump"]


def test_the_dynamic_values_win():
    store = store_of("a one", "a two", "a three")
    retriever = EmbeddingStoreContentRetriever(
        store,
        MODEL,
        max_results=3,
        filter=metadata_key("user").is_equal_to("nobody"),
        dynamic_max_results=lambda query: query.metadata.invocation_parameters.get("most"),
        dynamic_min_score=lambda query: 0.0,
        dynamic_filter=lambda query: None,
    )
    assert len(found(retriever, "a", most=2)) == 2


def test_two_users_each_see_their_own_documents():
    store = store_of("pump of ann", user="ann")
    add(store, "pump of bob", user="bob")
    retriever = EmbeddingStoreContentRetriever(
        store,
        MODEL,
        dynamic_filter=lambda query: metadata_key("user").is_equal_to(query.metadata.invocation_parameters.get("user")),
    )
    assert found(retriever, "pump", user="ann") == ["pump of ann"]
    assert found(retriever, "pump", user="bob") == ["pump of bob"]


def test_an_input_type_is_sent_only_where_it_was_asked_for():
    retriever = EmbeddingStoreContentRetriever(store_of("a"), MODEL, embedding_input_type="query")
    with pytest.raises(UnsupportedFeatureError):
        retriever.retrieve(Query("a"))


def test_parts_may_come_later():
    retriever = EmbeddingStoreContentRetriever(lambda: store_of("red pump"), lambda: MODEL)
    assert found(retriever, "red pump") == ["red pump"]


def test_the_store_may_know_its_model():
    class Knowing(InMemoryEmbeddingStore):
        embedding_model = MODEL

    store = Knowing()
    add(store, "red pump")
    assert found(EmbeddingStoreContentRetriever.from_store(store), "red pump") == ["red pump"]


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"max_results": 0}, "max_results=0 must be at least 1"),
        ({"min_score": -1}, "min_score=-1 must be between 0 and 1"),
    ],
)
def test_limits_are_checked_first(limits, sentence):
    with pytest.raises(ConfigError, match=sentence):
        EmbeddingStoreContentRetriever(InMemoryEmbeddingStore(), MODEL, **limits)
