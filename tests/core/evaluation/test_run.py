"""The comparison of retrievers on real stores, with the hashing model that ships."""

import json
from types import SimpleNamespace

import pytest

from core.embedding_models import HashingEmbeddingModel
from core.errors import UnknownNameError
from core.evaluation.run import evaluate
from core.services.search import SearchService
from core.settings import Settings
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.keyword_index import SqliteKeywordIndex
from storage.vector_scores import SqliteVectorScores

TOPICS = ("pumps", "valves", "tanks", "cables", "lamps", "doors", "roofs", "walls", "floors", "stairs", "lifts", "fans")


class Counting(HashingEmbeddingModel):
    """Counts what it embeds."""

    def embed_request(self, request):
        COUNTED.append(len(request.inputs))
        return super().embed_request(request)


COUNTED: list[int] = []


def build(settings):
    model = Counting()
    database = Database(settings.data)
    search = SearchService(
        settings,
        store=lambda: FaissEmbeddingStore(database, model_id=model.model_id),
        embedding_model=lambda: model,
        keyword_index=SqliteKeywordIndex(database),
        documents=SqliteDocumentStore(database, LocalFileStore(database.data_dir)),
        vector_scores=lambda: SqliteVectorScores(database, model_id=model.model_id),
    )
    return SimpleNamespace(search=search, close=database.close)


@pytest.fixture
def files(tmp_path):
    # Every entry but the last has one segment; the last has so many that it would fill the first results alone.
    corpus = [
        {"id": f"e{n}", "title": topic.title(), "text": f"About {topic} and repair."} for n, topic in enumerate(TOPICS)
    ]
    corpus.append(
        {"id": "long", "title": "Everything", "text": "\n\n".join(f"Repair of item {n}, in short." for n in range(60))}
    )
    queries = [{"id": f"q{n}", "text": f"repair of {topic}"} for n, topic in enumerate(TOPICS)]
    queries.append({"id": "follow", "text": "and their repair?", "history": ["Tell me about the big lamps"]})
    qrels = [f"q{n}\te{n}\t1" for n in range(len(TOPICS))] + ["follow\te4\t1"]
    for name, lines in (
        ("corpus.jsonl", map(json.dumps, corpus)),
        ("queries.jsonl", map(json.dumps, queries)),
        ("qrels.tsv", ["query_id\tcorpus_id\trel", *qrels]),
    ):
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def run(files, *retrievers):
    settings = Settings(data=files / "data", max_segment_tokens=16, overlap_tokens=0)
    corpus, queries, qrels = (files / name for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"))
    return evaluate(corpus, queries, qrels, settings.data, settings, retrievers, build=build)


def test_three_retrievers_by_default_and_a_row_for_each(files):
    results = run(files)
    assert [result.retriever for result in results] == ["vector", "keyword", "hybrid"]
    for result in results:
        assert result.questions == 13
        assert result.recall_at_5 == 1
        assert 0 < result.mrr_at_10 <= result.ndcg_at_10 <= 1
        assert result.ms_per_query > 0
        assert result.to_row().keys() == {"retriever", "recall@5", "mrr@10", "ndcg@10", "ms_per_query", "questions"}


def test_history_counts(files):
    (result,) = run(files, "keyword")
    assert result.recall_at_5 == 1


def test_a_second_run_embeds_questions_only(files):
    run(files, "keyword")
    COUNTED.clear()
    run(files, "keyword")
    assert COUNTED == []
    run(files, "vector")
    assert set(COUNTED) == {1}


def test_an_unknown_retriever_is_named(files):
    with pytest.raises(UnknownNameError, match="unknown retriever 'fuzzy'"):
        run(files, "fuzzy")
