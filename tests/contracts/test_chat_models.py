"""What every chat model of the registry must do. One that joins the registry joins this test."""

import threading

import pytest

from core.chat_models import CHAT_MODELS
from core.chat_models.token_count import ChatModelTokenCount
from core.domain import ChatMessage, ChatRequest
from core.errors import ConfigError, ContextOverflowError
from core.model_catalogue import locate
from core.protocols import ChatModel

TINY = "smollm2-135m"
REAL = [pytest.param(name, marks=pytest.mark.real_model(TINY)) if name == "llama_cpp" else name for name in CHAT_MODELS]


@pytest.fixture(params=REAL)
def model(request, models_dir):
    options = {"path": locate(TINY, models_dir), "threads": 1} if request.param == "llama_cpp" else {}
    made = CHAT_MODELS[request.param](context_tokens=256, **options)
    yield made
    made.close()


def request(*texts, **options):
    return ChatRequest(tuple(ChatMessage("user", text) for text in texts), **options)


def test_it_keeps_the_protocol_and_says_what_it_is(model):
    assert isinstance(model, ChatModel)
    assert model.name
    assert model.context_tokens == 256


def test_only_the_last_delta_has_reason_and_usage(model):
    *before, last = model.stream(request("Say hello to the world.", max_tokens=8))
    assert {delta.finish_reason for delta in before} == {None}
    assert last.finish_reason in ("stop", "length")
    assert last.token_usage.input_tokens == model.count_prompt_tokens([ChatMessage("user", "Say hello to the world.")])
    assert last.token_usage.output_tokens <= 8


def test_counts_grow_with_the_text_and_include_the_turn_markers(model):
    assert model.count_tokens("") == 0
    assert 0 < model.count_tokens("one") < model.count_tokens("one two three")
    assert model.count_prompt_tokens([ChatMessage("user", "one")]) > model.count_tokens("one")


@pytest.mark.parametrize("text", ["one two three", "Größe 5 €: naïve", "猫が好き🐈 <|im_end|>", ""])
def test_its_tokens_lie_in_order_and_cover_the_words(model, text):
    counted = ChatModelTokenCount(model)
    spans = counted.offsets(text)
    assert len(spans) == counted.count(text) == counted.count_all([text])[0]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    covered = {at for start, end in spans for at in range(start, end)}
    assert covered >= {at for at, character in enumerate(text) if not character.isspace()}


def test_e01_a_prompt_as_long_as_the_context_is_refused(model):
    with pytest.raises(ContextOverflowError):
        list(model.stream(request("word " * 300)))


def test_e06_max_tokens_must_be_positive(model):
    with pytest.raises(ConfigError, match="max_tokens=0"):
        list(model.stream(request("hi", max_tokens=0)))


def test_e14_a_stop_that_is_set_before_gives_no_text(model):
    stop = threading.Event()
    stop.set()
    deltas = list(model.stream(request("Say hello."), stop))
    assert "".join(delta.text for delta in deltas) == ""
    assert deltas[-1].finish_reason == "stopped"


def test_closing_twice_does_no_harm(model):
    list(model.stream(request("hi", max_tokens=1)))
    model.close()
    model.close()
