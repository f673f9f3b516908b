"""What the search's own tests don't reach: two users, a store without a database, legs that fail."""

import pytest

from core.domain import KeywordMatch, KeywordScore, TextSegment
from core.embedding_models import HashingEmbeddingModel
from core.errors import ConfigError, RetrievalError, StorageError
from core.filters import metadata_key
from core.query import InvocationParameters, Query, QueryMetadata
from core.rag.retrievers import EmbeddingStoreContentRetriever, HybridContentRetriever, KeywordContentRetriever
from core.text.postings import Postings
from core.text.terms import index_terms, query_terms
from storage.embedding_stores import InMemoryEmbeddingStore

MODEL = HashingEmbeddingModel()


class ListIndex:
    """A keyword index over a list: what a program without a database would write."""

    def __init__(self, segments):
        self.segments = segments

    def search(self, query, *, limit, filter=None):
        scores = self._scores(query)
        hits = [
            KeywordMatch(float(bm25), f"id{n}", segment, share=float(bm25 / (scores.most or 1)))
            for n, (segment, bm25) in enumerate(zip(self.segments, scores.bm25, strict=True))
            if bm25 > 0 and (filter is None or filter.matches(segment.metadata))
        ]
        return sorted(hits, key=lambda hit: -hit.bm25)[:limit]

    def scores_of(self, query, ids):
        scores = self._scores(query)
        return {id: KeywordScore(float(scores.bm25[int(id[2:])])) for id in ids}

    def _scores(self, query):
        postings = Postings.of((n, index_terms(segment.text)) for n, segment in enumerate(self.segments))
        return postings.scores_of(query_terms(query), range(len(self.segments)))


class Failing:
    def search(self, *args, **options):
        raise StorageError("the disk is gone")


def hybrid(segments, *, index=None, vector_store=None, **options):
    store = InMemoryEmbeddingStore()
    store.add_all([f"id{n}" for n in range(len(segments))], MODEL.embed_all(segments), segments)
    vector = EmbeddingStoreContentRetriever(vector_store or store, MODEL)
    keyword = KeywordContentRetriever(index or ListIndex(segments))
    return HybridContentRetriever(vector, keyword, **options)


def segments(*texts, **metadata):
    return [TextSegment.from_text(text, metadata) for text in texts]


@pytest.mark.parametrize("tokenizer", [MODEL.tokenizer, None, lambda: MODEL.tokenizer])
def test_both_legs_without_a_database(tokenizer):
    retriever = hybrid(segments("the red pump", "a blue valve", "the green tank"), tokenizer=tokenizer, max_results=2)
    best, second = retriever.retrieve(Query("red pump"))
    assert best.segment.text == "the red pump"
    assert best.ranks == {"vector": 1, "keyword": 1, retriever.name: 1}
    assert second.ranks[retriever.name] == 2


def test_two_users_each_see_their_own_documents():
    def own(query):
        return metadata_key("user").is_equal_to(query.metadata.invocation_parameters.get("user"))

    both = segments("pump of ann", user="ann") + segments("pump of bob", user="bob")
    retriever = hybrid(both, tokenizer=MODEL.tokenizer, dynamic_filter=own)
    for user in ("ann", "bob"):
        query = Query("pump", QueryMetadata(invocation_parameters=InvocationParameters({"user": user})))
        assert [content.segment.text for content in retriever.retrieve(query)] == [f"pump of {user}"]


@pytest.mark.parametrize("failing", [{"index": Failing()}, {"vector_store": Failing()}])
def test_a_leg_that_fails_is_named_and_the_other_answers(failing):
    query = Query("red pump")
    (content,) = hybrid(segments("red pump"), tokenizer=MODEL.tokenizer, **failing).retrieve(query)
    leg = "keyword" if "index" in failing else "vector"
    assert content.segment.text == "red pump"
    assert query.metadata.invocation_parameters.get("failures") == (f"{leg}: the disk is gone",)


def test_both_legs_failing_is_an_error():
    with pytest.raises(RetrievalError, match="the disk is gone"):
        hybrid(segments("red pump"), index=Failing(), vector_store=Failing()).retrieve(Query("red pump"))


def test_candidates_are_checked_first():
    with pytest.raises(ConfigError, match="candidates=0 must be at least 1"):
        hybrid([], candidates=0)
