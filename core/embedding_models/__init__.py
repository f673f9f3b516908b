"""Embedding models: text to vectors of length 1. A new one is one file and one line here; see README.md."""

from core.embedding_models.deferred import DeferredEmbeddingModel
from core.embedding_models.hashing import HashingEmbeddingModel
from core.embedding_models.opening import open_embedding_model
from core.embedding_models.sentence_transformers import SentenceTransformerEmbeddingModel

EMBEDDING_MODELS = {
    "hashing": HashingEmbeddingModel,
    "sentence_transformers": SentenceTransformerEmbeddingModel,
}

__all__ = [
    "EMBEDDING_MODELS",
    "DeferredEmbeddingModel",
    "HashingEmbeddingModel",
    "SentenceTransformerEmbeddingModel",
    "open_embedding_model",
]
