"""Where vectors are searched. To add a store: one file here and one line below.

A store is made as `Store(database, model_id=…, dimension=…)` and passes `tests/contracts/test_embedding_stores.py`.
"""

from storage.embedding_stores.faiss_store import FaissEmbeddingStore
from storage.embedding_stores.in_memory import InMemoryEmbeddingStore

EMBEDDING_STORES = {
    "faiss": FaissEmbeddingStore,
    "in_memory": InMemoryEmbeddingStore,
}
