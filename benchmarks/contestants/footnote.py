"""Footnote itself, through the services that the app and the command line use."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from core.bootstrap import build_services
from core.errors import DocumentError
from core.records import DEFAULT_COLLECTION
from core.settings import Settings


class Contestant:
    PACKAGES = ("faiss-cpu", "sentence-transformers", "pymupdf", "torch")

    def __init__(self, model: str, precision: str = "auto") -> None:
        self._data = tempfile.TemporaryDirectory(prefix="bench-data-")
        settings = Settings.load(data=Path(self._data.name), embedding_model=model, embedding_precision=precision)
        self._services = build_services(settings)
        self.default = settings.retriever
        model_id = self._services.search.embedding_model.model_id
        self.precision = next((name for name in ("bfloat16", "float32") if name in model_id), model_id)

    def ingest(self, folder: Path) -> int:
        """The same as `cli.py ingest FOLDER`, and one search, so that nothing is left for the first question to do."""
        for row in self._services.batches.ingest([str(folder)], collection=DEFAULT_COLLECTION):
            if row["error"]:
                raise DocumentError(f"{row['source']}: {row['error']}")
        self._services.search.search("warm-up")
        return sum(document.segments for document in self._services.library.documents())

    def retrievers(self) -> dict[str, Callable[[str, int], list[str]]]:
        names = {document.id: document.name for document in self._services.library.documents()}

        def asking(retriever: str) -> Callable[[str, int], list[str]]:
            def ask(question: str, limit: int) -> list[str]:
                found = self._services.search.search(question, limit=limit, retriever=retriever)
                return [names[content.document_id] for content in found.contents]

            return ask

        return {name: asking(name) for name in dict.fromkeys(("vector", "keyword", self.default))}

    def embed(self, text: str) -> object:
        return self._services.search.embedding_model.embed(text)

    def texts(self) -> list[str]:
        library = self._services.library
        records = [record for document in library.documents() for record in library.segments(document.id)]
        return [record.segment.text_to_embed for record in records]

    def close(self) -> None:
        self._services.close()
        self._data.cleanup()
