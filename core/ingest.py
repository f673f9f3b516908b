"""EmbeddingStoreIngestor: documents into an embedding store, for programs. The app's own way, with durable jobs, is
`core.services.indexing`.

    document -> document transformer -> splitter -> segment transformer -> embedding model -> store
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from core.domain import Document, Embedding, EmbeddingRequest, InputType, TextSegment, TokenUsage
from core.embedding_models.opening import open_embedding_model
from core.embedding_models.sentence_transformers import Precision
from core.errors import ConfigError
from core.pipeline import Pipeline
from core.protocols import DocumentSplitter, DocumentTransformer, EmbeddingModel, EmbeddingStore, TextSegmentTransformer
from core.settings import Settings

_BATCH_SEGMENTS = 512


@dataclass(frozen=True)
class IngestionResult:
    """`dropped`: documents that the document transformer dropped, or that held nothing."""

    token_usage: TokenUsage = field(default_factory=TokenUsage)
    documents: int = 0
    segments: int = 0
    dropped: int = 0


class _Ingest:
    """`ingest` by an ingestor is its method; by the class it is the easy mode, `ingest(documents, store)`."""

    def __get__(self, ingestor: EmbeddingStoreIngestor | None, owner: type) -> Callable[..., IngestionResult]:
        return ingest_documents if ingestor is None else ingestor.ingest_all


class EmbeddingStoreIngestor:
    """Runs documents through the parts it was given and adds what comes out to the store.

        EmbeddingStoreIngestor(embedding_store=store).ingest(document)      # or (d1, d2), or ([d1, d2])
        EmbeddingStoreIngestor.ingest(documents, store)                     # easy mode, see `ingest_documents`

    document_splitter     None: a document is one segment; its vector is the mean of its parts where it is long
    embedding_model       None: the model of the settings
    embedding_input_type  "document" for models that tell documents from queries; None sends nothing
    """

    ingest = _Ingest()

    def __init__(
        self,
        *,
        embedding_store: EmbeddingStore,
        document_transformer: DocumentTransformer | None = None,
        document_splitter: DocumentSplitter | None = None,
        text_segment_transformer: TextSegmentTransformer | None = None,
        embedding_model: EmbeddingModel | None = None,
        embedding_input_type: InputType | None = None,
    ) -> None:
        self._store = embedding_store
        self._document_transformer = document_transformer
        self._splitter = document_splitter
        self._segment_transformer = text_segment_transformer
        self._model = embedding_model or default_embedding_model()
        self._input_type = embedding_input_type

    def ingest_all(self, *documents: Document | Iterable[Document]) -> IngestionResult:
        """What `ingestor.ingest` runs: any mix of documents and lists of documents."""
        usage, kept, dropped, count = TokenUsage(), 0, 0, 0
        waiting: list[TextSegment] = []
        for document in _flat(documents):
            segments = self._segments(document)
            kept, dropped = (kept + 1, dropped) if segments else (kept, dropped + 1)
            count += len(segments)
            waiting += segments
            while len(waiting) >= _BATCH_SEGMENTS:
                usage += self._add(waiting[:_BATCH_SEGMENTS])
                del waiting[:_BATCH_SEGMENTS]
        if waiting:
            usage += self._add(waiting)
        return IngestionResult(usage, kept, count, dropped)

    def _segments(self, document: Document) -> list[TextSegment]:
        transformed = self._document_transformer.transform(document) if self._document_transformer else document
        if transformed is None or not transformed.text.strip():
            return []
        segments = self._splitter.split(transformed) if self._splitter else [transformed.to_text_segment()]
        if self._segment_transformer is None:
            return segments
        changed = (self._segment_transformer.transform(segment) for segment in segments)
        return [_numbered(segment, index) for index, segment in enumerate(item for item in changed if item is not None)]

    def _add(self, segments: Sequence[TextSegment]) -> TokenUsage:
        texts = tuple(segment.text_to_embed for segment in segments)
        response = self._model.embed_request(EmbeddingRequest(texts, input_type=self._input_type))
        self._store.add_all([Embedding(row) for row in response.vectors], list(segments))
        return response.token_usage


def ingest_documents(documents: Document | Iterable[Document], store: EmbeddingStore) -> IngestionResult:
    """Easy mode: recursive splitting (300 tokens, 30 overlap, capped at what the model reads) and the default model."""
    model = default_embedding_model()
    splitter = Pipeline().splitter(model)
    return EmbeddingStoreIngestor(embedding_store=store, document_splitter=splitter, embedding_model=model).ingest_all(
        documents
    )


def default_embedding_model() -> EmbeddingModel:
    """The one that the settings name, from this computer's models folder."""
    settings = Settings.load()
    return _opened_once(settings.embedding_model, settings.models, settings.embedding_precision)


@cache
def _opened_once(name: str, models_dir: Path, precision: Precision) -> EmbeddingModel:
    """Easy mode asks for the model by name again and again; it lies in memory once."""
    return open_embedding_model(name, models_dir, precision)


def _flat(documents: Iterable[Document | Iterable[Document]]) -> Iterable[Document]:
    for item in documents:
        if isinstance(item, Document):
            yield item
            continue
        for document in item:
            if not isinstance(document, Document):
                raise ConfigError(f"ingest takes documents, not {type(document).__name__}; use Document.from_text")
            yield document


def _numbered(segment: TextSegment, index: int) -> TextSegment:
    if segment.index == index:
        return segment
    return replace(segment, metadata=segment.metadata.copy().put("index", index))
