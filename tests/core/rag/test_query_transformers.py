from core.domain import ChatMessage
from core.query import Query, QueryMetadata
from core.rag.query_transformers import CarryOverQueryTransformer, DefaultQueryTransformer


def asked(text, *before):
    turns = []
    for question in before:
        turns += [ChatMessage("user", question), ChatMessage("assistant", f"answer to {question}")]
    return Query(text, QueryMetadata(text, chat_memory=tuple(turns)))


def carried(text, *before):
    return [query.text for query in CarryOverQueryTransformer().transform(asked(text, *before))]


def test_default_passes_through():
    query = asked("And its price?", "Tell me about V2")
    assert DefaultQueryTransformer().transform(query) == [query]


def test_d01_a_follow_up_is_asked_alone_and_with_the_turn_before():
    assert carried("And its price?", "Tell me about V2") == ["And its price?", "Tell me about V2\nAnd its price?"]


def test_d01_a_turn_that_names_nothing_leads_further_back():
    assert carried("yes, more", "Tell me about V2", "And its price?") == [
        "yes, more",
        "Tell me about V2\nAnd its price?\nyes, more",
    ]


def test_only_the_nearest_turn_that_names_something_is_carried():
    assert carried("how old?", "the first valve of the plant", "the red pump in the cellar") == [
        "how old?",
        "the red pump in the cellar\nhow old?",
    ]


def test_no_history_no_second_query():
    assert carried("Where is the pump?") == ["Where is the pump?"]


def test_metadata_stays():
    query = asked("And its price?", "Tell me about V2")
    assert all(one.metadata is query.metadata for one in CarryOverQueryTransformer().transform(query))
