"""LlamaIndex, as its documentation shows it.

Loading and indexing: the starter tutorial with local models and "Indexing & Embedding" (developers.llamaindex.ai):
`SimpleDirectoryReader`, then `VectorStoreIndex.from_documents` with the default splitter (`SentenceSplitter`, 1,024
tokens, overlap 200) and the default store; "Faiss Vector Store": the same over a flat L2 index.
Embeddings: the page "HuggingFaceEmbedding", defaults. Keyword: the page "BM25 Retriever" with its English stemmer and
stop words. Hybrid: "Reciprocal Rerank Fusion Retriever" with `num_queries=1`: no questions made up by a language model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import Stemmer
from llama_index.core import Settings, SimpleDirectoryReader, StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.faiss import FaissVectorStore


class Contestant:
    PACKAGES = (
        "llama-index-core",
        "llama-index-embeddings-huggingface",
        "llama-index-readers-file",
        "llama-index-retrievers-bm25",
        "llama-index-vector-stores-faiss",
        "faiss-cpu",
        "torch",
    )
    default = "vector"

    def __init__(self, model: str, store: str = "default") -> None:
        Settings.embed_model = HuggingFaceEmbedding(model_name=model)
        self.precision = str(Settings.embed_model._model.dtype).removeprefix("torch.")
        Settings.llm = MockLLM()  # nothing asks it; without one the library wants a key of OpenAI's
        self._store = store

    def ingest(self, folder: Path) -> int:
        documents = SimpleDirectoryReader(str(folder)).load_data()
        context = None
        if self._store == "faiss":
            index = faiss.IndexFlatL2(len(Settings.embed_model.get_text_embedding("hello world")))
            context = StorageContext.from_defaults(vector_store=FaissVectorStore(faiss_index=index))
        self._index = VectorStoreIndex.from_documents(documents, storage_context=context)
        return len(self._pieces())

    def _pieces(self) -> list[Any]:
        return list(self._index.docstore.docs.values())

    def retrievers(self) -> dict[str, Callable[[str, int], list[str]]]:
        count = len(self._pieces())
        vector = self._index.as_retriever()
        keyword = BM25Retriever.from_defaults(
            docstore=self._index.docstore,
            similarity_top_k=min(10, count),
            stemmer=Stemmer.Stemmer("english"),
            language="english",
        )
        hybrid = QueryFusionRetriever([vector, keyword], num_queries=1, mode="reciprocal_rerank", use_async=True)

        def asking(retriever: Any) -> Callable[[str, int], list[str]]:
            def ask(question: str, limit: int) -> list[str]:
                vector.similarity_top_k = keyword.similarity_top_k = min(limit, count)
                hybrid.similarity_top_k = limit
                return [found.node.metadata["file_name"] for found in retriever.retrieve(question)]

            return ask

        if self._store == "faiss":
            # Its scores are distances, so that the fusion by ranks, best score first, would turn its list around.
            return {"vector": asking(vector)}
        return {"vector": asking(vector), "keyword": asking(keyword), "hybrid": asking(hybrid)}

    def embed(self, text: str) -> object:
        return Settings.embed_model.get_query_embedding(text)

    def texts(self) -> list[str]:
        return [piece.get_content(metadata_mode=MetadataMode.EMBED) for piece in self._pieces()]

    def close(self) -> None:
        pass
