from dataclasses import replace

import pytest

from core.domain import Document, EmbeddingSearchRequest
from core.embedding_models import HashingEmbeddingModel
from core.errors import ConfigError, UnsupportedFeatureError
from core.filters import metadata_key
from core.ingest import EmbeddingStoreIngestor, IngestionResult, default_embedding_model
from core.model_catalogue import DEFAULT_EMBEDDING_MODEL
from core.segment_transformers import HeadingPrefix
from core.splitters import ParagraphSplitter, RecursiveSplitter
from storage.embedding_stores.in_memory import InMemoryEmbeddingStore

MODEL = HashingEmbeddingModel()
CATS, PUMPS = Document.from_text("Cats sleep.\n\nCats purr."), Document.from_text("Pumps leak.")


def found(store, query: str, **options) -> list[str]:
    request = EmbeddingSearchRequest(MODEL.embed(query), **options)
    return [match.segment.text for match in store.search(request)]


def ingestor(store, **parts) -> EmbeddingStoreIngestor:
    return EmbeddingStoreIngestor(embedding_store=store, embedding_model=MODEL, **parts)


@pytest.mark.parametrize("documents", [(CATS, PUMPS), ([CATS, PUMPS],), (iter([CATS]), PUMPS)])
def test_one_several_or_a_list(documents):
    store = InMemoryEmbeddingStore()
    result = ingestor(store, document_splitter=ParagraphSplitter(12)).ingest(*documents)
    assert result == IngestionResult(result.token_usage, documents=2, segments=3, dropped=0)
    assert result.token_usage.input_tokens == 9
    assert found(store, "leaking pumps leak", max_results=1) == ["Pumps leak."]


def test_without_a_splitter_a_document_is_one_segment():
    store = InMemoryEmbeddingStore()
    assert ingestor(store).ingest(CATS).segments == 1
    assert found(store, "cats") == [CATS.text]


def test_dropped_documents_are_counted():
    class OnlyCats:
        def transform(self, document):
            return document if "Cats" in document.text else None

    store = InMemoryEmbeddingStore()
    result = ingestor(store, document_transformer=OnlyCats()).ingest(CATS, PUMPS, Document.from_text("  "))
    assert (result.documents, result.segments, result.dropped) == (1, 1, 2)


def test_indexes_have_no_gaps_where_a_segment_is_dropped():
    class NoPurring:
        def transform(self, segment):
            return None if "purr" in segment.text else replace(segment, embedded_text=segment.text.upper())

    store = InMemoryEmbeddingStore()
    document = Document.from_text("Cats purr.\n\nCats sleep.\n\nCats eat.")
    ingestor(store, document_splitter=ParagraphSplitter(12), text_segment_transformer=NoPurring()).ingest(document)
    matches = store.search(EmbeddingSearchRequest(MODEL.embed("cats"), max_results=5))
    assert {(match.segment.index, match.segment.text) for match in matches} == {(0, "Cats sleep."), (1, "Cats eat.")}


def test_the_example_of_the_contract():
    """A user id in the metadata, 1000 tokens with 200 overlap, the file name in front, filtered by the user."""

    class OwnedBy:
        def __init__(self, user):
            self.user = user

        def transform(self, document):
            return replace(document, metadata=document.metadata.copy().put("userId", self.user))

    store = InMemoryEmbeddingStore()
    for user, text in (("12345", "My cat is called Mira."), ("67890", "My cat is called Otto.")):
        ingestor(
            store,
            document_transformer=OwnedBy(user),
            document_splitter=RecursiveSplitter(1000, 200, MODEL.tokenizer),
            text_segment_transformer=HeadingPrefix(MODEL.tokenizer, MODEL.max_tokens, ("file_name",)),
        ).ingest(Document.from_text(text, {"file_name": "cats.txt"}))
    match = store.search(EmbeddingSearchRequest(MODEL.embed("cat"), filter=metadata_key("userId").is_equal_to("12345")))
    assert [(hit.segment.text, hit.segment.embedded_text) for hit in match] == [
        ("My cat is called Mira.", "cats.txt\nMy cat is called Mira.")
    ]


def test_many_segments_are_added_in_batches_and_keep_their_order():
    store = InMemoryEmbeddingStore()
    document = Document.from_text("\n\n".join(f"number{n} here" for n in range(1100)))
    assert ingestor(store, document_splitter=ParagraphSplitter(15)).ingest(document).segments == 1100
    for number in (0, 511, 512, 1099):
        assert found(store, f"number{number} here", max_results=1) == [f"number{number} here"]


def test_what_the_model_does_not_support_is_refused_before_anything_is_stored():
    store = InMemoryEmbeddingStore()
    with pytest.raises(UnsupportedFeatureError, match="input_type='document'"):
        ingestor(store, embedding_input_type="document").ingest(CATS)
    assert found(store, "cats") == []


def test_something_else_than_documents_is_refused():
    with pytest.raises(ConfigError, match="str"):
        ingestor(InMemoryEmbeddingStore()).ingest(["a text"])


def test_the_easy_mode_takes_documents_and_a_store(monkeypatch):
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "hashing")
    store = InMemoryEmbeddingStore()
    result = EmbeddingStoreIngestor.ingest([CATS, PUMPS], store)
    assert (result.documents, result.segments) == (2, 2)
    assert found(store, "pumps leak", max_results=1) == ["Pumps leak."]


@pytest.mark.real_model(DEFAULT_EMBEDDING_MODEL)
def test_the_easy_mode_uses_the_default_model():
    store = InMemoryEmbeddingStore()
    result = EmbeddingStoreIngestor.ingest([Document.from_text("The office cat is called Mira. " * 100)], store)
    assert result.segments > 2 and result.token_usage.input_tokens > 700
    (match,) = store.search(EmbeddingSearchRequest(default_embedding_model().embed("the cat's name"), max_results=1))
    assert match.cosine > 0.3
    assert default_embedding_model() is default_embedding_model()
