"""LangChain, as its documentation shows it.

Loading, splitting, indexing: "Build a semantic search engine" (docs.langchain.com, LangChain, Python): pieces of 1,000
characters that overlap by 200, each with its start; the FAISS tab of the same page: a flat L2 index that starts empty.
Text files: "DirectoryLoader" with `loader_cls=TextLoader`; PDF: `PyPDFLoader`, a document a page.
Embeddings: the HuggingFaceEmbeddings page of the integrations, defaults. Hybrid: the BM25Retriever and
EnsembleRetriever pages, defaults (words split at blanks; both with weight 0.5).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.document_loaders import DirectoryLoader, PyPDFLoader, TextLoader
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter

LOADERS = {"**/*.txt": TextLoader, "**/*.md": TextLoader, "**/*.pdf": PyPDFLoader}


class Contestant:
    PACKAGES = (
        "langchain",
        "langchain-community",
        "langchain-huggingface",
        "langchain-text-splitters",
        "faiss-cpu",
        "rank-bm25",
        "torch",
    )
    default = "vector"

    def __init__(self, model: str) -> None:
        self._embeddings = HuggingFaceEmbeddings(model_name=model)
        self.precision = str(self._embeddings._client.dtype).removeprefix("torch.")

    def ingest(self, folder: Path) -> int:
        documents = []
        for glob, loader in LOADERS.items():
            documents += DirectoryLoader(str(folder), glob=glob, loader_cls=loader).load()
        splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200, add_start_index=True)
        self._pieces = splitter.split_documents(documents)
        self._store = FAISS(
            embedding_function=self._embeddings,
            index=faiss.IndexFlatL2(len(self._embeddings.embed_query("hello world"))),
            docstore=InMemoryDocstore(),
            index_to_docstore_id={},
        )
        self._store.add_documents(documents=self._pieces)
        return len(self._pieces)

    def retrievers(self) -> dict[str, Callable[[str, int], list[str]]]:
        keyword = BM25Retriever.from_documents(self._pieces)
        vector = self._store.as_retriever()
        hybrid = EnsembleRetriever(retrievers=[keyword, vector], weights=[0.5, 0.5])

        def asking(retriever: Any) -> Callable[[str, int], list[str]]:
            def ask(question: str, limit: int) -> list[str]:
                keyword.k = limit
                vector.search_kwargs = {"k": limit}
                return [Path(found.metadata["source"]).name for found in retriever.invoke(question)]

            return ask

        return {"vector": asking(vector), "keyword": asking(keyword), "hybrid": asking(hybrid)}

    def embed(self, text: str) -> object:
        return self._embeddings.embed_query(text)

    def texts(self) -> list[str]:
        return [piece.page_content for piece in self._pieces]

    def close(self) -> None:
        pass
