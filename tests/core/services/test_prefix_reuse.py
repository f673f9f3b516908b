"""What a follow-up reads again, with the smallest real model: exact numbers of tokens, in both kinds of memory."""

import time

import pytest

from core.chat_models.opening import open_chat_model
from core.chat_models.tuning import Tuning
from core.domain import ChatMessage
from core.services.model_figures import ModelFigures
from tests.core.services.chat_parts import FEE, MENU, Rig, content

TINY = "smollm2-135m"
pytestmark = pytest.mark.real_model(TINY)
LONGER = "The pool is heated from May to September, and towels are at the desk. Dogs are welcome in the garden. " * 3


@pytest.fixture(scope="module")
def rig(tmp_path_factory, models_dir):
    model = open_chat_model(TINY, models_dir, context_tokens=2048, threads=1)
    figures = ModelFigures()
    figures.keep_tuning(model, Tuning(1, 1, 128, 500.0, 50.0))  # else it would be measured between the questions
    contents = [content(FEE, "fee"), content(MENU, "menu"), content(LONGER, "pool")]
    knobs = {"max_answer_tokens": 16, "source_tokens": 400, "context_tokens": 2048, "contents": contents}
    with Rig(tmp_path_factory.mktemp("data"), open_model=lambda: model, figures=figures, **knobs) as made:
        yield made.start()


def answered(rig, text, conversation=None):
    conversation, answer = rig.ask(text, conversation)
    return conversation, rig.ended(answer.id, timeout_s=60)


def usage(answer):
    return answer.record["usage"]


def rested(rig, conversation):
    """Until the model has read ahead: it has nothing to do, and knows what the next question needs."""
    if rig.service.messages(conversation)[-1].state == "cut":  # kept as it is, to be gone on with; else as after any
        rig.runner.idle.answered(conversation)
    deadline = time.monotonic() + 60
    while not rig.service.is_resting():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def remember(rig, conversation, turns):
    """Turns as if they had been answered: what a tiny model says can't be told before, and may be a refusal."""
    for n in range(turns):
        question, answer = rig.store.add_turn(conversation, f"What is number {n}?", request_key=f"{conversation}-{n}")
        rig.store.update_message(question.id, memory_text=f"What is number {n}?")
        rig.store.update_message(answer.id, state="complete", text=f"It is {n}.", memory_text=f"It is {n}.")


def beginning_tokens(rig, conversation):
    """Rules and turns that the next prompt begins with."""
    model = rig.owner.ready()
    return len(model._prompts.opening(rig.runner._beginning(model, conversation)))


def test_with_passages_in_memory_a_follow_up_reads_nothing_of_prompt_and_answer_again(rig):
    conversation = rig.service.create({"store_retrieved_content": True}).id
    _, first = answered(rig, "How high is the fee?", conversation)
    _, second = answered(rig, "And when is breakfast?", conversation)
    assert usage(second)["reused_tokens"] >= usage(first)["input_tokens"] + usage(first)["output_tokens"]
    assert second.record["reading"]["known"] == usage(second)["reused_tokens"]
    assert second.record["reading"]["tokens"] + usage(second)["reused_tokens"] == usage(second)["input_tokens"]
    sent = second.record["prompt"]["messages"]
    assert sent[1]["text"] == first.record["prompt"]["messages"][1]["text"]


def test_with_questions_as_typed_everything_before_the_follow_up_is_known(rig):
    conversation = rig.service.create({"store_retrieved_content": False}).id
    answered(rig, "How high is the fee?", conversation)
    rested(rig, conversation)
    needed = beginning_tokens(rig, conversation)
    _, second = answered(rig, "And when is breakfast?", conversation)
    assert usage(second)["reused_tokens"] >= needed > 30
    remember(rig, conversation, 1)
    rig.runner.idle.answered(conversation)
    rested(rig, conversation)
    more = beginning_tokens(rig, conversation)
    _, third = answered(rig, "And the pool?", conversation)
    assert usage(third)["reused_tokens"] >= more > needed


def test_a_follow_up_that_comes_at_once_knows_at_least_the_rules_and_the_turns_before(rig):
    conversation = rig.service.create({"store_retrieved_content": False}).id
    answered(rig, "How high is the fee?", conversation)
    before = beginning_tokens(rig, conversation)
    answers = [rig.ask(question, conversation)[1] for question in ("And when is breakfast?", "And the pool?")]
    ended = [rig.ended(answer.id, timeout_s=60) for answer in answers]
    assert usage(ended[1])["reused_tokens"] >= before


@pytest.mark.parametrize("augmented", [True, False])
def test_after_turns_have_left_memory_the_new_beginning_is_read_ahead(rig, augmented):
    conversation = rig.service.create({"store_retrieved_content": augmented}).id
    remember(rig, conversation, 6)
    answered(rig, "How high is the fee?", conversation)
    rested(rig, conversation)
    trimmed = beginning_tokens(rig, conversation)
    _, last = answered(rig, "And breakfast?", conversation)
    assert any(cut["kind"] == "turn" for cut in last.record["cut"])
    assert usage(last)["reused_tokens"] >= trimmed


def test_made_again_it_reads_only_what_reading_ahead_gave_up(rig):
    conversation = rig.service.create({"store_retrieved_content": True}).id
    _, answer = answered(rig, "How high is the fee?", conversation)
    rested(rig, conversation)
    rig.service.regenerate(answer.id)
    again = rig.ended(answer.id, timeout_s=60)
    # With passages the prompt is the beginning of the next one: all but its last token is known.
    assert usage(again)["reused_tokens"] == usage(again)["input_tokens"] - 1


def test_what_was_written_until_a_stop_is_known_to_the_follow_up(rig):
    conversation = rig.service.create({"store_retrieved_content": True}).id
    _, answer = rig.ask("Tell me all about the fee.", conversation)
    rig.until(answer.id, lambda m: m.state == "writing", timeout_s=60)
    rig.service.stop(answer.id)
    stopped = rig.ended(answer.id, timeout_s=60)
    if stopped.state != "stopped" or not stopped.memory_text:
        pytest.skip("the answer ended before it was stopped")
    _, second = answered(rig, "And breakfast?", conversation)
    known = usage(stopped)["input_tokens"] + usage(stopped)["output_tokens"] - 1
    assert usage(second)["reused_tokens"] >= known


def test_another_conversation_in_between_costs_what_it_displaced(rig):
    first = rig.service.create({"store_retrieved_content": True}).id
    _, one = answered(rig, "How high is the fee?", first)
    answered(rig, "When is breakfast?")
    _, two = answered(rig, "And the pool?", first)
    assert usage(two)["reused_tokens"] < usage(one)["input_tokens"]


def test_an_answer_keeps_the_tokens_it_was_written_with(rig):
    """Cut into tokens anew, an answer may give others than the model wrote."""
    model = rig.owner.get()
    written = [token for letter in "breakfast" for token in model._loaded().tokenize(letter)]
    assert model._loaded().tokenize("breakfast") != written
    model._prompts._answers.keep(" breakfast\n", written)
    turns = [ChatMessage("user", "What?"), ChatMessage("assistant", "breakfast"), ChatMessage("user", "Why?")]
    ids = model.prompt_tokens(turns)
    assert any(ids[at : at + len(written)] == written for at in range(len(ids)))
    turns[0] = ChatMessage("user", "breakfast")
    once = model.prompt_tokens(turns)
    assert sum(once[at : at + len(written)] == written for at in range(len(once))) == 1
