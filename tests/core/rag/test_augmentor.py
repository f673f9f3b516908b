import threading

import pytest

from core.domain import ChatMessage, Content, TextSegment
from core.errors import ConfigError, RetrievalError
from core.query import Query, QueryMetadata
from core.rag.augmentor import DefaultRetrievalAugmentor
from core.rag.injectors import DefaultContentInjector
from core.rag.query_routers import DefaultQueryRouter, IntentQueryRouter
from core.rag.query_transformers import CarryOverQueryTransformer


def content(id, text=None):
    return Content(TextSegment(text or f"text {id}"), id)


class Fixed:
    """Answers every query with the same contents and remembers who asked."""

    def __init__(self, *contents, name="fixed"):
        self.name, self.contents, self.asked, self.threads = name, list(contents), [], []

    def retrieve(self, query):
        self.asked.append(query.text)
        self.threads.append(threading.current_thread())
        return self.contents


class Broken:
    name = "broken"

    def retrieve(self, query):
        raise RetrievalError("the index is gone")


def ids(contents):
    return "".join(content.id for content in contents)


def test_the_five_steps():
    augmentor = DefaultRetrievalAugmentor(Fixed(content("a"), content("b")), content_injector=DefaultContentInjector())
    result = augmentor.augment(Query("Where?"))
    assert ids(result.contents) == "ab"
    assert result.message == "Where?\n\nAnswer using the following information:\ntext a\n\ntext b"
    assert list(result.trace.seconds) == ["transform", "route", "retrieve", "aggregate", "inject"]
    (run,) = result.trace.runs
    assert (run.query, run.retriever, ids(run.contents), run.error) == ("Where?", "fixed", "ab", "")


def test_one_query_and_one_retriever_run_in_the_callers_thread():
    retriever = Fixed(content("a"))
    DefaultRetrievalAugmentor(retriever).augment(Query("q"))
    assert retriever.threads == [threading.current_thread()]


def test_several_run_in_parallel():
    together = threading.Barrier(2, timeout=5)

    class Waits:
        def retrieve(self, query):
            together.wait()
            return [content("a")]

    assert (
        ids(DefaultRetrievalAugmentor(query_router=DefaultQueryRouter(Waits(), Waits())).augment(Query("q")).contents)
        == "a"
    )


def test_a_failing_retriever_is_reported_and_the_others_answer():
    augmentor = DefaultRetrievalAugmentor(query_router=DefaultQueryRouter(Broken(), Fixed(content("a"))))
    result = augmentor.augment(Query("q"))
    assert ids(result.contents) == "a"
    assert result.trace.failures == ("broken: the index is gone",)


def test_all_retrievers_failing_is_an_error():
    with pytest.raises(RetrievalError, match="the index is gone"):
        DefaultRetrievalAugmentor(Broken()).augment(Query("q"))


def test_what_is_cut_is_named_with_its_reason():
    retriever = Fixed(content("a", "same"), content("b", "same "), content("c"), content("d"))
    result = DefaultRetrievalAugmentor(retriever, max_contents=2).augment(Query("q"))
    assert ids(result.contents) == "ac"
    assert [(cut.content.id, cut.reason) for cut in result.trace.cut] == [
        ("b", "says the same, word for word, as a better one"),
        ("d", "ranked below the best 2"),
    ]


def test_equal_queries_are_asked_once():
    class Doubling:
        def transform(self, query):
            return [query, query.with_text(query.text)]

    retriever = Fixed(content("a"))
    DefaultRetrievalAugmentor(retriever, query_transformer=Doubling()).augment(Query("q"))
    assert retriever.asked == ["q"]


@pytest.mark.parametrize("parts", [{}, {"content_retriever": Fixed(), "query_router": DefaultQueryRouter()}])
def test_a_retriever_or_a_router(parts):
    with pytest.raises(ConfigError, match="content_retriever or a query_router"):
        DefaultRetrievalAugmentor(**parts)


def routed(text, *before):
    search, overview = Fixed(content("s"), name="search"), Fixed(content("o"), name="overview")
    augmentor = DefaultRetrievalAugmentor(
        query_router=IntentQueryRouter(search, overview, lambda query: ["a.txt", "b.txt"]),
        query_transformer=CarryOverQueryTransformer(),
    )
    history = tuple(ChatMessage("user", turn) for turn in before)
    return augmentor.augment(Query(text, QueryMetadata(text, chat_memory=history)))


@pytest.mark.parametrize(
    ("text", "decision", "found"),
    [
        ("thanks!", "small_talk", ""),
        ("hello Mirko", "search", "s"),
        ("summarise the second file", "overview", "o"),
        ("what is this about?", "overview", "o"),
    ],
)
def test_d10_d11_the_decision_is_in_the_trace(text, decision, found):
    result = routed(text)
    assert (result.trace.decision, ids(result.contents), result.message) == (decision, found, text)


def test_d11_thanks_in_a_conversation_looks_nothing_up():
    assert routed("thanks!", "Where is the pump?").contents == ()


def test_the_record_is_plain_json():
    import json

    result = DefaultRetrievalAugmentor(Fixed(content("a", "secret text"))).augment(Query("q"))
    assert "secret" not in json.dumps(result.trace.to_record())
    assert result.trace.to_record()["runs"][0]["contents"][0]["segment_id"] == "a"


def scored(name, text, score):
    return Content(TextSegment(text), text, scores={name: score})


def test_what_is_far_behind_the_best_is_cut_and_said_so():
    found = Fixed(*(scored("fused", text, score) for text, score in (("a", 0.8), ("b", 0.3), ("c", 0.41), ("d", 0.39))))
    result = DefaultRetrievalAugmentor(found, min_share=0.5).augment(Query("q"))
    assert ids(result.contents) == "abc"  # the first two always stay
    assert [(cut.content.id, cut.reason) for cut in result.trace.cut] == [("d", "scores below 50% of the best one")]


def test_scores_that_cant_be_compared_cut_nothing():
    found = Fixed(*(scored("rrf", text, score) for text, score in (("a", 0.8), ("b", 0.3), ("c", 0.1))))
    assert ids(DefaultRetrievalAugmentor(found, min_share=0.5).augment(Query("q")).contents) == "abc"
    with pytest.raises(ConfigError, match="min_share=2"):
        DefaultRetrievalAugmentor(found, min_share=2)
