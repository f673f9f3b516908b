"""A model that is opened when it is first needed, so that the app also opens where the model isn't there yet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Literal

from core.domain import Embedding, EmbeddingRequest, EmbeddingResponse, TextSegment
from core.errors import FootnoteError
from core.protocols import EmbeddingModel, TokenCountEstimator

State = Literal["idle", "loading", "ready", "missing", "failed"]


class DeferredEmbeddingModel:
    """Stands for the model that `opener` opens. One that can't be opened is tried again at its next use: it may have
    been fetched meanwhile.

        DeferredEmbeddingModel("all-minilm-l6-v2", lambda: open_embedding_model("all-minilm-l6-v2", models_dir))

    state, message  for the settings page: how it is, and one sentence where it isn't well
    """

    def __init__(self, name: str, opener: Callable[[], EmbeddingModel]) -> None:
        self.name = name
        self.state: State = "idle"
        self.message = ""
        self._opener = opener
        self._lock = threading.Lock()
        self._opening_lock = threading.Lock()
        self._opened: EmbeddingModel | None = None
        self._model: EmbeddingModel | None = None  # opened and loaded

    def warm_up(self) -> None:
        """Opens, loads and runs the model once. What goes wrong is in `state` and `message`, and raised at its use."""
        try:
            self.embed("warm-up")
        except FootnoteError:
            return

    @property
    def model_id(self) -> str:
        """Asked of the model as it's opened, before it is loaded: with some models it's known without."""
        return (self._model or self._open()).model_id

    @property
    def dimension(self) -> int:
        return self._ready().dimension

    @property
    def max_tokens(self) -> int:
        return self._ready().max_tokens

    @property
    def tokenizer(self) -> TokenCountEstimator:
        return self._ready().tokenizer

    def embed_request(self, request: EmbeddingRequest) -> EmbeddingResponse:
        return self._ready().embed_request(request)

    def embed(self, text: str | TextSegment) -> Embedding:
        return self._ready().embed(text)

    def embed_all(self, segments: Sequence[str | TextSegment]) -> list[Embedding]:
        return self._ready().embed_all(segments)

    def supported_parameters(self) -> frozenset[str]:
        return self._ready().supported_parameters()

    def supported_content_types(self) -> frozenset[str]:
        return self._ready().supported_content_types()

    def _ready(self) -> EmbeddingModel:
        if self._model is not None:
            return self._model
        with self._lock:
            if self._model is None:
                self.state, self.message = "loading", ""
                try:
                    model = self._open()
                    _ = model.dimension  # loads it
                except FootnoteError as error:
                    self._opened, opened = None, self._opened
                    self.state, self.message = "failed" if opened else "missing", str(error)
                    raise
                finally:
                    self.state = "failed" if self.state == "loading" else self.state
                self._model, self.state = model, "ready"
        return self._model

    def _open(self) -> EmbeddingModel:
        with self._opening_lock:
            if self._opened is None:
                try:
                    self._opened = self._opener()
                except FootnoteError as error:
                    self.state, self.message = "missing", str(error)
                    raise
            return self._opened
