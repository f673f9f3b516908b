"""From the setting to an embedding model."""

from __future__ import annotations

from pathlib import Path

from core import model_catalogue
from core.embedding_models.hashing import HashingEmbeddingModel
from core.embedding_models.sentence_transformers import Precision, SentenceTransformerEmbeddingModel
from core.protocols import EmbeddingModel


def open_embedding_model(name: str, models_dir: Path, precision: Precision = "auto") -> EmbeddingModel:
    """The model that `name` means: 'hashing', a name of the catalogue, or the path of a local folder.

    Nothing is loaded yet. raises UnknownNameError, or ModelError for a model that isn't here, with what to do about it.
    """
    if name == "hashing":
        return HashingEmbeddingModel()
    folder = model_catalogue.locate(name, models_dir, kind="embedding")
    return SentenceTransformerEmbeddingModel(folder, name=Path(name).name, precision=precision)
