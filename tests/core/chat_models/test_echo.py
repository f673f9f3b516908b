import threading

from core.chat_models.echo import EchoChatModel
from core.domain import ChatMessage, ChatRequest, Content, TextSegment
from core.rag.injectors import CONTENT_INJECTORS


def answer(model, *texts, **options):
    deltas = list(model.stream(ChatRequest(tuple(ChatMessage("user", text) for text in texts), **options)))
    return "".join(delta.text for delta in deltas), deltas[-1]


def test_it_repeats_the_sentence_that_fits_the_question_for_every_injector():
    contents = [
        Content(TextSegment("The cat sleeps. Breakfast is at eight.")),
        Content(TextSegment("A room costs 90 euros. The fee for cancelling is 25 euros.")),
    ]
    for injector in CONTENT_INJECTORS.values():
        asked = injector().inject(contents, "What is the fee for cancelling?")
        assert answer(EchoChatModel(), asked)[0] == "The fee for cancelling is 25 euros."
        unknown = injector().inject(contents, "Who painted Guernica?")
        assert answer(EchoChatModel(), unknown)[0] == "The documents don't say."


def test_it_counts_words_and_stops_in_the_middle():
    model = EchoChatModel(reply="one two three four")
    text, last = answer(model, "hello there")
    assert (text, last.finish_reason) == ("one two three four", "stop")
    assert (last.token_usage.input_tokens, last.token_usage.output_tokens) == (10, 4)
    assert answer(model, "x", max_tokens=2)[0] == "one two"
    assert answer(model, "x", max_tokens=2)[1].finish_reason == "length"
    assert answer(model, "x", stop=("three",))[0] == "one two "


def test_a_set_stop_ends_it():
    stop = threading.Event()
    stream = EchoChatModel(reply="one two three").stream(ChatRequest((ChatMessage("user", "x"),)), stop)
    assert [next(stream).text, next(stream).text] == ["", "one"]
    stop.set()
    assert [delta.finish_reason for delta in stream] == ["stopped"]
