"""Haystack, as its documentation shows it.

Indexing: the tutorial "Preprocessing Different File Types" (haystack.deepset.ai): files by type to their converters,
joined, cleaned, split into 150 words that overlap by 50, embedded with this very model, written to an
`InMemoryDocumentStore`. Retrieval: the tutorial "Creating a Hybrid Retrieval Pipeline": both in-memory retrievers and a
`DocumentJoiner`, here with reciprocal rank fusion; its last step, a second model that ranks anew, is left out for all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from haystack import Pipeline
from haystack.components.converters import MarkdownToDocument, PyPDFToDocument, TextFileToDocument
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.routers import FileTypeRouter
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_integrations.components.embedders.sentence_transformers import (
    SentenceTransformersDocumentEmbedder,
    SentenceTransformersTextEmbedder,
)

CONVERTERS = {
    "text/plain": TextFileToDocument,
    "text/markdown": MarkdownToDocument,
    "application/pdf": PyPDFToDocument,
}


class Contestant:
    PACKAGES = ("haystack-ai", "sentence-transformers-haystack", "pypdf", "torch")
    default = "vector"

    def __init__(self, model: str) -> None:
        self._document_embedder = SentenceTransformersDocumentEmbedder(model=model, progress_bar=False)
        self._text_embedder = SentenceTransformersTextEmbedder(model=model, progress_bar=False)
        self._document_embedder.warm_up()
        self._text_embedder.warm_up()
        self.precision = str(self._text_embedder.embedding_backend.model.dtype).removeprefix("torch.")

    def ingest(self, folder: Path) -> int:
        self._store = InMemoryDocumentStore()
        files = sorted(path for path in folder.iterdir() if path.is_file())
        self._indexing().run({"router": {"sources": files}})
        return self._store.count_documents()

    def _indexing(self) -> Pipeline:
        pipeline = Pipeline()
        pipeline.add_component("router", FileTypeRouter(mime_types=list(CONVERTERS)))
        pipeline.add_component("joiner", DocumentJoiner())
        for kind, converter in CONVERTERS.items():
            pipeline.add_component(converter.__name__, converter())
            pipeline.connect(f"router.{kind}", f"{converter.__name__}.sources")
            pipeline.connect(converter.__name__, "joiner")
        pipeline.add_component("cleaner", DocumentCleaner())
        pipeline.add_component("splitter", DocumentSplitter(split_by="word", split_length=150, split_overlap=50))
        pipeline.add_component("embedder", self._document_embedder)
        pipeline.add_component("writer", DocumentWriter(self._store))
        for one, next_one in (("joiner", "cleaner"), ("cleaner", "splitter"), ("splitter", "embedder")):
            pipeline.connect(one, next_one)
        pipeline.connect("embedder", "writer")
        return pipeline

    def retrievers(self) -> dict[str, Callable[[str, int], list[str]]]:
        vector = Pipeline()
        vector.add_component("text_embedder", self._text_embedder_again())
        vector.add_component("vector", InMemoryEmbeddingRetriever(self._store))
        vector.connect("text_embedder.embedding", "vector.query_embedding")
        keyword = Pipeline()
        keyword.add_component("keyword", InMemoryBM25Retriever(self._store))
        hybrid = Pipeline()
        hybrid.add_component("text_embedder", self._text_embedder_again())
        hybrid.add_component("vector", InMemoryEmbeddingRetriever(self._store))
        hybrid.add_component("keyword", InMemoryBM25Retriever(self._store))
        hybrid.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
        hybrid.connect("text_embedder.embedding", "vector.query_embedding")
        hybrid.connect("keyword", "joiner")
        hybrid.connect("vector", "joiner")

        def asking(pipeline: Pipeline, last: str, parts: set[str]) -> Callable[[str, int], list[str]]:
            def ask(question: str, limit: int) -> list[str]:
                inputs = {
                    "text_embedder": {"text": question},
                    "vector": {"top_k": limit},
                    "keyword": {"query": question, "top_k": limit},
                }
                found = pipeline.run({name: inputs[name] for name in parts})[last]["documents"]
                return [Path(document.meta["file_path"]).name for document in found]

            return ask

        return {
            "vector": asking(vector, "vector", {"text_embedder", "vector"}),
            "keyword": asking(keyword, "keyword", {"keyword"}),
            "hybrid": asking(hybrid, "joiner", {"text_embedder", "vector", "keyword"}),
        }

    def _text_embedder_again(self) -> SentenceTransformersTextEmbedder:
        """A component belongs to one pipeline; the model behind it is loaded once."""
        again = SentenceTransformersTextEmbedder(model=self._text_embedder.model, progress_bar=False)
        again.warm_up()
        return again

    def embed(self, text: str) -> object:
        return self._text_embedder.run(text=text)["embedding"]

    def texts(self) -> list[str]:
        return [document.content or "" for document in self._store.filter_documents()]

    def close(self) -> None:
        pass
