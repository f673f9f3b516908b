import pytest

from core.domain import Embedding, EmbeddingSearchRequest
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.vector_scores import SqliteVectorScores
from tests.storage.making import MODEL, new_document, vector_of


def test_the_cosines_are_those_of_the_search(tmp_path):
    with Database(tmp_path) as database:
        SqliteDocumentStore(database, LocalFileStore(tmp_path)).save(new_document("one\ntwo\nthree\n"))
        query = Embedding(vector_of("a question"))
        found = FaissEmbeddingStore(database, model_id=MODEL).search(EmbeddingSearchRequest(query, max_results=3))
        wanted = {match.id: match.cosine for match in found[1:]}
        assert SqliteVectorScores(database, model_id=MODEL).cosines_of(query, [*wanted, "unknown"]) == pytest.approx(
            wanted
        )


def test_another_model_or_dimension_has_none(tmp_path):
    with Database(tmp_path) as database:
        SqliteDocumentStore(database, LocalFileStore(tmp_path)).save(new_document("one\n"))
        (match,) = FaissEmbeddingStore(database, model_id=MODEL).search(
            EmbeddingSearchRequest(Embedding(vector_of("one")))
        )
        assert SqliteVectorScores(database, model_id="other").cosines_of(Embedding(vector_of("one")), [match.id]) == {}
        assert SqliteVectorScores(database, model_id=MODEL).cosines_of(Embedding([1.0, 0.0]), [match.id]) == {}
