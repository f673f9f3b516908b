import pytest

from core.domain import Content, TextSegment
from core.query import Query
from core.rag.aggregators import CONTENT_AGGREGATORS, DefaultContentAggregator, ScoreSumContentAggregator


def content(id, **scores):
    return Content(TextSegment(id), id, scores=scores)


def ids(contents):
    return "".join(content.id for content in contents)


@pytest.mark.parametrize("aggregator", CONTENT_AGGREGATORS.values())
def test_nothing_and_one_list(aggregator):
    assert aggregator().aggregate({}) == []
    assert aggregator().aggregate({Query("q"): []}) == []
    assert ids(aggregator().aggregate({Query("q"): [[content("a"), content("b")]]})) == "ab"


def test_two_stages_first_the_retrievers_then_the_queries():
    results = {
        Query("one"): [[content("a"), content("b")], [content("b")]],  # b before a
        Query("two"): [[content("c"), content("b")]],
    }
    fused = DefaultContentAggregator().aggregate(results)
    assert ids(fused) == "bca"
    assert fused[0].scores["rrf"] == pytest.approx(1 / 61 + 1 / 62)


def test_equal_segments_without_an_id_are_one_content():
    free = Content(TextSegment("same words"))
    assert len(DefaultContentAggregator().aggregate({Query("q"): [[free], [free]]})) == 1


def test_scores_of_one_retriever_are_averaged_over_queries():
    results = {
        Query("one"): [[content("a", fused=0.6), content("b", fused=0.5)]],
        Query("two"): [[content("b", fused=0.9), content("a", fused=0.1)]],
    }
    assert ids(ScoreSumContentAggregator().aggregate(results)) == "ba"


def test_scores_of_different_kinds_fall_back_to_ranks():
    results = {
        Query("one"): [[content("a", cosine=0.6)]],
        Query("two"): [[content("b", bm25=9.0), content("a", bm25=1.0)]],
    }
    assert ids(ScoreSumContentAggregator().aggregate(results)) == "ab"
