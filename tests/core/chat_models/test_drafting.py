"""Drafts: where they come from, when they pause, and that the text is the same with them."""

import itertools
import threading

import pytest

from core.chat_models.drafting import DraftGain, PromptLookup
from core.chat_models.llama_cpp import LlamaCppChatModel
from core.chat_models.tuning import Tuning
from core.domain import ChatMessage, ChatRequest
from core.model_catalogue import locate

TINY = "smollm2-135m"


def test_what_followed_the_last_tokens_before_is_drafted():
    lookup = PromptLookup([1, 2, 3, 4, 5, 6, 9, 3])
    assert lookup.draft() == []
    lookup.add(4)
    assert lookup.draft() == [5, 6]
    assert lookup.draft(1) == [5]
    lookup.add(5)
    assert lookup.draft() == [6, 9]


def test_three_equal_tokens_count_more_than_two_and_the_last_place_most():
    lookup = PromptLookup([7, 1, 2, 10, 8, 1, 2, 20, 7, 1, 2])
    assert lookup.draft(1) == [10]
    assert PromptLookup([6, 1, 2, 10, 8, 1, 2, 20, 7, 1, 2]).draft(1) == [20]


def test_what_ends_a_turn_is_never_drafted():
    assert PromptLookup([1, 2, 99, 4, 1, 2], endings={99}).draft() == []
    assert PromptLookup([1, 2, 3, 99, 1, 2], endings={99}).draft() == [3]


def test_drafting_that_does_not_pay_pauses_longer_each_time_and_comes_back():
    gain = DraftGain(1.2, 1.5)
    tried = []
    for turn in range(400):
        if gain.may_draft():
            tried.append(turn)
            gain.learn(2, 0)
    assert 10 < len(tried) < 60
    gaps = [b - a for a, b in itertools.pairwise(tried)]
    assert max(gaps) == 64
    paying = DraftGain(1.2, 1.5)
    for _ in range(50):
        assert paying.may_draft()
        paying.learn(2, 1)


# ── with the smallest real model ─────────────────────────────────────────────

PASSAGE = (
    "The keeper of the northern lighthouse, Ada Mellor, wound the clock each evening at nine and wrote the height of "
    "the tide into a green book. In the winter of 1911 the lamp went out three times, and each time she lit it by hand."
)
ASKED = (
    ChatRequest((ChatMessage("user", f"{PASSAGE}\n\nRepeat the passage word by word."),), max_tokens=60),
    ChatRequest((ChatMessage("user", f"{PASSAGE}\n\nWho wound the clock?"),), max_tokens=25),
    ChatRequest((ChatMessage("user", "Count from one to thirty."),), max_tokens=40, stop=("fifteen", "15")),
    ChatRequest((ChatMessage("user", f"{PASSAGE}\n\nRepeat it."),), max_tokens=7),
)


@pytest.fixture(scope="module")
def models(models_dir):
    """(one by one, drafting). With less than 256 tokens in it llama.cpp's context gives the same logits for both."""
    path = locate(TINY, models_dir)
    made = [LlamaCppChatModel(path, context_tokens=512, threads=1, drafting=kind) for kind in ("off", "on")]
    for model in made:
        model.tune(Tuning(1, 1, 128, 100.0, 30.0, 1.0, 1.0, is_exact=True))
    yield made
    for model in made:
        model.close()


def said(model, request, signal=None):
    deltas = list(model.stream(request, signal))
    return "".join(delta.text for delta in deltas), deltas[-1].finish_reason, deltas[-1].token_usage


@pytest.mark.real_model(TINY)
def test_the_text_the_end_and_the_count_are_those_without_drafts(models):
    alone, drafting = models
    for request in ASKED:
        assert said(drafting, request) == said(alone, request)
        # What is left in the context is what was said: a follow-up finds the same.
        assert drafting._runtime._kept == alone._runtime._kept


@pytest.mark.real_model(TINY)
def test_fewer_steps_are_taken_where_the_answer_quotes(models):
    drafting = models[1]
    steps = []
    for model in models:
        runtime = model._loaded()
        decoded = runtime._decode

        def counted(batch, tokens, stop, decoded=decoded):
            steps[-1] += 1
            decoded(batch, tokens, stop)

        runtime._decode = counted
        steps.append(0)
        tokens = said(model, ASKED[0])[2].output_tokens
        runtime._decode = decoded
    assert steps[0] >= tokens
    assert steps[1] < steps[0] * 0.8
    assert drafting._runtime.length == models[0]._runtime.length


@pytest.mark.real_model(TINY)
def test_by_chance_or_within_a_schema_nothing_is_drafted(models):
    schema = {"type": "object", "properties": {"clock": {"type": "string"}}, "required": ["clock"]}
    for options in ({"temperature": 0.9, "seed": 3}, {"json_schema": schema}):
        request = ChatRequest(ASKED[0].messages, max_tokens=20, **options)
        assert said(models[1], request) == said(models[0], request)


@pytest.mark.real_model(TINY)
def test_e14_a_stop_among_accepted_drafts_keeps_the_text_and_the_context_in_step(models):
    drafting = models[1]
    whole = said(drafting, ASKED[0])[0]
    prompt = drafting.prompt_tokens(ASKED[0].messages)
    for deltas_before in (1, 2, 4, 7):
        stop = threading.Event()
        stream = drafting.stream(ASKED[0], stop)
        deltas = [next(stream) for _ in range(deltas_before)]
        stop.set()
        deltas += stream
        assert deltas[-1].finish_reason == "stopped"
        assert whole.startswith("".join(delta.text for delta in deltas))
        # The token at which it stopped was said and not read.
        assert drafting._runtime.length == len(prompt) + deltas[-1].token_usage.output_tokens - 1
        assert drafting._runtime.known(prompt) == len(prompt)


@pytest.mark.real_model(TINY)
def test_auto_drafts_only_where_it_is_exact_and_fast(models_dir):
    model = LlamaCppChatModel(locate(TINY, models_dir), context_tokens=512, threads=1)
    runtime = model._loaded()
    try:
        assert not model._may_draft(runtime)
        for tuning, may in (
            (Tuning(1, 1, 128, 100.0, 30.0, 1.1, 1.3, is_exact=True), True),
            (Tuning(1, 1, 128, 100.0, 30.0, 1.1, 1.3, is_exact=False), False),
            (Tuning(1, 1, 128, 100.0, 30.0, 2.0, 3.0, is_exact=True), False),
        ):
            model.tune(tuning)
            assert model._may_draft(runtime) is may
    finally:
        model.close()
