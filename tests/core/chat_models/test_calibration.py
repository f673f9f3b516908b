"""The short measurement of a machine, with the smallest real model."""

import threading

import pytest

from core.chat_models.calibration import BATCHES
from core.chat_models.llama_cpp import LlamaCppChatModel
from core.chat_models.tuning import Tuning
from core.domain import ChatMessage, ChatRequest
from core.errors import StoppedError
from core.model_catalogue import locate

TINY = "smollm2-135m"
pytestmark = pytest.mark.real_model(TINY)
HELLO = (ChatMessage("user", "Say hello to everybody who lives in this house."),)


@pytest.fixture
def model(models_dir):
    made = LlamaCppChatModel(locate(TINY, models_dir), context_tokens=512, threads=1)
    yield made
    made.close()


def test_it_finds_threads_batch_and_speeds_and_what_was_read_stays_read(model):
    list(model.stream(ChatRequest(HELLO, max_tokens=3)))
    known = model.reusable_tokens(HELLO)
    tuning = model.calibrate()
    assert (tuning.read_threads, tuning.write_threads) == (1, 1)
    assert tuning.batch_tokens in BATCHES
    assert min(tuning.reads_per_s, tuning.writes_per_s) > 0
    assert Tuning.from_json(tuning.to_json()) == tuning
    assert model.reusable_tokens(HELLO) == known > 0
    assert model._runtime.batch_tokens == tuning.batch_tokens


def test_a_question_ends_it_at_once_and_nothing_was_found(model):
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError):
        model.calibrate(stop)
    assert model._tuning is None
    assert list(model.stream(ChatRequest(HELLO, max_tokens=3)))[-1].token_usage.output_tokens == 3


def test_threads_that_a_person_chose_stay(model):
    c, context = model._loaded()._c, model._loaded()._context
    model.tune(Tuning(2, 2, 64, 100.0, 30.0))
    assert (c.llama_n_threads(context), c.llama_n_threads_batch(context)) == (1, 1)


def test_reading_and_writing_take_the_threads_that_were_found_best(models_dir):
    model = LlamaCppChatModel(locate(TINY, models_dir), context_tokens=512)
    model.tune(Tuning(2, 1, 64, 100.0, 30.0))
    try:
        c, context = model._loaded()._c, model._loaded()._context
        assert (c.llama_n_threads(context), c.llama_n_threads_batch(context)) == (1, 2)
        assert (model._runtime.batch_tokens, c.llama_n_ubatch(context)) == (64, 64)
    finally:
        model.close()


def test_the_fingerprint_is_the_files(models_dir, model, tmp_path):
    again = LlamaCppChatModel(locate(TINY, models_dir), name="another name", context_tokens=1024)
    assert again.fingerprint == model.fingerprint
    changed = tmp_path / "changed.gguf"
    data = bytearray(locate(TINY, models_dir).read_bytes())
    data[-1] ^= 1
    changed.write_bytes(data)
    assert LlamaCppChatModel(changed).fingerprint != model.fingerprint
