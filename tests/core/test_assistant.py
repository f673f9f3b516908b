import threading

import pytest

from core.assistant import Assistant
from core.chat_models.echo import EchoChatModel
from core.domain import ChatMessage, Content, TextSegment
from core.errors import ConfigError, ContextOverflowError, RetrievalError
from core.events import Complete, Failed, Partial, Reading, Retrieved
from core.memory import MessageWindowChatMemory
from core.rag.injectors import NumberedContentInjector

FEE = Content(TextSegment("Breakfast is at eight. The fee for cancelling is 25 euros."), id="fee")


class Shelf:
    """A retriever with fixed contents that keeps the queries it was asked."""

    def __init__(self, *contents, error=None):
        self.contents, self.error, self.queries = list(contents), error, []

    def retrieve(self, query):
        self.queries.append(query)
        if self.error:
            raise self.error
        return self.contents


def test_it_answers_from_the_contents():
    result = Assistant(EchoChatModel(), content_retriever=Shelf(FEE)).chat("What is the fee for cancelling?")
    assert result.content == "The fee for cancelling is 25 euros."
    assert (result.sources, result.finish_reason) == ((FEE,), "stop")
    assert result.token_usage.output_tokens == 7


def test_events_come_in_order_and_make_the_answer():
    events = list(Assistant(EchoChatModel(reply="one two"), content_retriever=Shelf(FEE)).stream("Why?"))
    assert [type(event) for event in events] == [Retrieved, Reading, Partial, Partial, Complete]
    assert events[0].contents == (FEE,)
    assert "".join(event.text for event in events if isinstance(event, Partial)) == events[-1].result.content


def test_callbacks_come_in_order_and_nothing_runs_before_start():
    shelf, said = Shelf(FEE), []
    stream = (
        Assistant(EchoChatModel(reply="one two"), content_retriever=shelf)
        .stream("Why?")
        .on_complete_response(lambda result: said.append(result.content))
        .on_partial_response(said.append)
        .on_retrieved(lambda contents: said.append(len(contents)))
    )
    assert (shelf.queries, said) == ([], [])
    stream.start()
    assert said == [1, "one", " two", "one two"]


def test_an_error_goes_to_its_callback_or_is_raised_and_leaves_no_question_in_memory():
    assistant = Assistant(EchoChatModel(), content_retriever=Shelf(error=RetrievalError("the index is locked")))
    failed = []
    assistant.stream("Why?").on_error(failed.append).start()
    assert [str(error) for error in failed] == ["the index is locked"]
    assert [type(event) for event in assistant.stream("Why?")] == [Failed]
    for run in (lambda: assistant.chat("Why?"), lambda: assistant.stream("Why?").start()):
        with pytest.raises(RetrievalError, match="the index is locked"):
            run()
    assert assistant.memory().messages() == []


@pytest.mark.parametrize("augmented", [True, False])
def test_e15_memory_keeps_the_question_as_it_was_asked_or_with_its_contents(augmented):
    options = {} if augmented else {"store_retrieved_content_in_chat_memory": False}
    assistant = Assistant(EchoChatModel(context_tokens=400), content_retriever=Shelf(FEE, FEE, FEE, FEE), **options)
    for turn in range(10):
        events = list(assistant.stream(f"What is the fee {turn}?"))
        prompt = events[0].prompt
        assert "The fee for cancelling" in prompt.user_message
        assert prompt.tokens < 400
        old = [message.text for message in prompt.messages[:-1]]
        assert any("Breakfast" in text for text in old) is (augmented and turn > 0)
    asked = [message.text for message in assistant.memory().messages() if message.role == "user"]
    assert (asked[-1] == "What is the fee 9?") is not augmented
    assert asked[-1].startswith("What is the fee 9?")


def test_a_follow_up_sees_the_turns_before_it():
    shelf = Shelf(FEE)
    assistant = Assistant(EchoChatModel(reply="Yes."), content_retriever=shelf)
    assistant.chat("Is there a fee?", parameters={"user": "ada"})
    assistant.chat("Why?")
    first, second = (query.metadata for query in shelf.queries)
    assert first.chat_memory == ()
    assert first.invocation_parameters.get("user") == "ada"
    assert (second.user_message, len(second.chat_memory)) == ("Why?", 2)


def test_each_memory_id_has_its_own_memory():
    assistant = Assistant(EchoChatModel(reply="Yes."))
    assistant.chat("Hello", memory_id="a")
    assistant.chat("Hello", memory_id="b")
    assistant.chat("Again", memory_id="a")
    assert [len(assistant.memory(name).messages()) for name in ("a", "b")] == [4, 2]


def test_the_system_message_of_the_memory_wins():
    memory = MessageWindowChatMemory(4)
    memory.add(ChatMessage("system", "From memory."))
    with_memory = Assistant(EchoChatModel(), chat_memory=memory, system_message="From the assistant.")
    without = Assistant(EchoChatModel(), system_message="From the assistant.")
    first = [next(iter(assistant.stream("Hi"))).prompt.messages[0].text for assistant in (with_memory, without)]
    assert first == ["From memory.", "From the assistant."]


@pytest.mark.parametrize("reply", ["", "  \n ", "<think></think>", "<think>hm</think>\n"])
def test_e16_an_empty_answer_says_so_and_is_not_remembered(reply):
    assistant = Assistant(EchoChatModel(reply=reply))
    assert assistant.chat("Why?").finish_reason == "empty"
    assert assistant.memory().messages() == []


def test_e14_stop_keeps_what_was_said():
    stop = threading.Event()
    seen = []
    for event in Assistant(EchoChatModel(reply="one two three")).stream("Why?", stop=stop):
        seen.append(event)
        if isinstance(event, Partial):
            stop.set()
    assert (seen[-1].result.content, seen[-1].result.finish_reason) == ("one", "stopped")


def test_e01_a_question_longer_than_the_context_is_one_sentence():
    with pytest.raises(ContextOverflowError, match="the question is too long"):
        Assistant(EchoChatModel(context_tokens=64), content_retriever=Shelf(FEE)).chat("word " * 80)


def test_own_injector_and_both_of_a_pair():
    assistant = Assistant(EchoChatModel(), content_retriever=Shelf(FEE), content_injector=NumberedContentInjector())
    assert '<source id="1">' in next(iter(assistant.stream("Why?"))).prompt.user_message
    with pytest.raises(ConfigError, match="chat_memory or chat_memory_provider"):
        Assistant(EchoChatModel(), chat_memory=MessageWindowChatMemory(2), chat_memory_provider=MessageWindowChatMemory)
    with pytest.raises(ConfigError, match="content_retriever or retrieval_augmentor"):
        Assistant(EchoChatModel(), content_retriever=Shelf(), retrieval_augmentor=Shelf())
