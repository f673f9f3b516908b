"""Conversations: nothing that was asked or written is lost; one answer at a time, in order."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.domain import ChatMessage, Content, TextSegment
from core.errors import ConfigError, NotFoundError
from core.records import Source
from storage.conversations import SqliteConversationStore
from storage.database import Database


class Clock:
    now = 1_000_000.0

    def __call__(self):
        self.now += 0.001
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    with Database(tmp_path) as database:
        yield SqliteConversationStore(database, clock=clock)


def turn(store, conversation, text, key=None):
    return store.add_turn(conversation.id, text, request_key=key or text)


def test_a_turn_is_a_question_and_an_answer_that_waits(store):
    conversation = store.create("Title", {"collection": None})
    question, answer = turn(store, conversation, "Why?")
    assert (question.role, question.text, question.state) == ("user", "Why?", "complete")
    assert (answer.role, answer.text, answer.state, answer.reply_to) == ("assistant", "", "waiting", question.id)
    assert store.messages(conversation.id) == [question, answer]
    assert store.message(answer.id) == answer


def test_f02_the_same_request_twice_is_one_turn(store):
    conversation = store.create()
    assert turn(store, conversation, "Why?", "key") == turn(store, conversation, "Why?", "key")
    assert turn(store, conversation, "Why?", "other key") != turn(store, conversation, "Why?", "key")
    assert [message.text for message in store.messages(conversation.id)] == ["Why?", "", "Why?", ""]


def test_f05_all_of_an_answer_survives_a_restart(tmp_path):
    segment = TextSegment("the text", start=3, end=11)
    segment.metadata.put_all({"file_name": "a.pdf", "page": 2, "heading_path": "A > B"})
    source = Source.from_content(1, Content(segment, "id", 7, {"cosine": 0.5}, {"vector": 1}, ("text",)))
    with Database(tmp_path) as database:
        store = SqliteConversationStore(database)
        conversation = store.create("Title", {"document_ids": [1, 2]})
        _, answer = store.add_turn(conversation.id, "Why?", request_key="k")
        store.update_message(
            answer.id,
            text="Because [1].",
            state="complete",
            sources=(source,),
            sentences=({"text": "Because [1].", "start": 0, "end": 12, "support": "supported", "source": 1},),
            record={"seed": 3, "queries": ["why"]},
            memory_text="Because.",
        )
        before = (store.get(conversation.id), store.messages(conversation.id))
    with Database(tmp_path) as database:
        store = SqliteConversationStore(database)
        assert (store.get(conversation.id), store.messages(conversation.id)) == before
        assert store.message(answer.id).sources == (source,)
        assert store.message(answer.id).record == {"seed": 3, "queries": ["why"]}


def test_answers_are_claimed_one_at_a_time_per_conversation_and_in_order(store):
    first, second = store.create(), store.create()
    _, one = turn(store, first, "one")
    _, two = turn(store, first, "two")
    _, three = turn(store, second, "three")
    assert store.claim_answer("engine", lease_s=10).id == one.id
    assert store.message(one.id).state == "searching"
    assert store.claim_answer("engine", lease_s=10).id == three.id
    assert store.claim_answer("engine", lease_s=10) is None
    store.update_message(one.id, state="complete")
    assert store.claim_answer("engine", lease_s=10).id == two.id


def test_a_named_answer_is_claimed_only_in_its_turn(store):
    conversation = store.create()
    _, one = turn(store, conversation, "one")
    _, two = turn(store, conversation, "two")
    assert store.claim_answer("engine", lease_s=10, message_id=two.id) is None
    assert store.claim_answer("engine", lease_s=10, message_id=one.id).id == one.id


def test_an_answer_of_a_dead_engine_is_interrupted_at_once(store):
    _, one = turn(store, store.create(), "one")
    _, two = turn(store, store.create(), "two")
    store.claim_answer("killed", lease_s=10)
    store.claim_answer("alive", lease_s=10)
    store.update_message(one.id, state="writing", text="Half an ans")
    assert store.interrupt_abandoned(lambda owner: owner == "killed") == 1
    assert (store.message(one.id).state, store.message(one.id).text) == ("interrupted", "Half an ans")
    assert store.heartbeat(two.id, "alive", lease_s=10)


def test_an_answer_is_not_stolen_after_a_wait_for_the_lock_longer_than_its_lease(tmp_path, clock):
    with Database(tmp_path) as database, Database(tmp_path) as other, ThreadPoolExecutor(1) as pool:
        store = SqliteConversationStore(database, clock=clock)
        _, one = turn(store, store.create(), "one")
        store.claim_answer("engine", lease_s=10)
        with other.write():
            beating = pool.submit(store.heartbeat, one.id, "engine", lease_s=10)
            time.sleep(0.2)  # by now it waits
            clock.now += 11
        assert beating.result()
        assert store.claim_answer("other engine", lease_s=10) is None
        assert store.message(one.id).state == "searching"


def test_an_answer_whose_engine_is_gone_is_interrupted_and_keeps_its_words(store, clock):
    conversation = store.create()
    _, one = turn(store, conversation, "one")
    _, two = turn(store, conversation, "two")
    store.claim_answer("engine", lease_s=10)
    store.update_message(one.id, state="writing", text="Half an ans", record={"phase": "Reading", "seed": 3})
    assert store.heartbeat(one.id, "engine", lease_s=10)
    assert store.interrupt_abandoned() == 0
    clock.now += 11
    assert store.interrupt_abandoned() == 1
    ended = store.message(one.id)
    assert (ended.state, ended.text) == ("interrupted", "Half an ans")
    assert "Footnote was closed" in ended.reason
    assert ended.record == {"seed": 3}
    assert not store.heartbeat(one.id, "engine", lease_s=10)
    assert store.claim_answer("engine", lease_s=10).id == two.id


def test_an_abandoned_answer_does_not_block_its_conversation(store, clock):
    conversation = store.create()
    turn(store, conversation, "one")
    _, two = turn(store, conversation, "two")
    store.claim_answer("engine", lease_s=10)
    clock.now += 11
    assert store.claim_answer("another", lease_s=10).id == two.id


def test_a_waiting_answer_stops_at_once_one_in_work_is_asked(store):
    conversation = store.create()
    _, one = turn(store, conversation, "one")
    _, two = turn(store, conversation, "two")
    store.claim_answer("engine", lease_s=10)
    for answer in (one, two):
        store.request_stop(answer.id)
    assert [store.message(answer.id).state for answer in (one, two)] == ["searching", "stopped"]
    assert store.message(one.id).stop_requested
    store.update_message(one.id, state="waiting", text="")
    assert not store.message(one.id).stop_requested
    assert store.claim_answer("engine", lease_s=10).id == one.id


def test_memory_holds_whole_turns_only(store):
    conversation = store.create()
    question, answer = turn(store, conversation, "one")
    store.update_message(question.id, memory_text="one, with sources")
    store.update_message(answer.id, memory_text="answer one", state="complete")
    orphan, failed = turn(store, conversation, "two")
    store.update_message(orphan.id, memory_text="two")
    store.update_message(failed.id, state="failed", reason="no model")
    third, _ = turn(store, conversation, "three")
    kept = [ChatMessage("user", "one, with sources"), ChatMessage("assistant", "answer one")]
    assert store.memory(conversation.id) == kept
    assert store.memory(conversation.id, before=third.id) == kept
    assert store.memory(conversation.id, before=question.id) == []


def test_messages_from_one_on_are_removed_and_those_before_stay(store):
    conversation, other = store.create(), store.create()
    turn(store, other, "elsewhere")
    turn(store, conversation, "one")
    question, _ = turn(store, conversation, "two")
    turn(store, conversation, "three")
    store.remove_after(question.id)
    assert [message.text for message in store.messages(conversation.id)] == ["one", ""]
    assert len(store.messages(other.id)) == 2
    turn(store, conversation, "two")
    assert len(store.messages(conversation.id)) == 4


def test_the_history_is_searched_literally_in_titles_questions_and_answers(store):
    titled, asked, answered = store.create("100% Wool"), store.create(), store.create()
    turn(store, asked, "Is it Übermut_1?")
    _, answer = turn(store, answered, "Hello")
    store.update_message(answer.id, text="The ANSWER is 1000 wools.")
    found = {word: [row.id for row in store.list(search=word)] for word in ("100%", "übermut_", "answer is", "bermutX")}
    assert found == {"100%": [titled.id], "übermut_": [asked.id], "answer is": [answered.id], "bermutX": []}


def test_the_last_used_conversation_comes_first(store):
    first, second = store.create("first"), store.create("second")
    assert [row.title for row in store.list()] == ["second", "first"]
    turn(store, first, "again")
    assert [row.title for row in store.list()] == ["first", "second"]
    assert [row.title for row in store.list(limit=1)] == ["first"]
    assert second.title == "second"


def test_title_and_options_change_apart(store):
    conversation = store.create("old", {"collection": "tax"})
    store.update(conversation.id, title="new")
    store.update(conversation.id, options={"collection": "home"})
    changed = store.get(conversation.id)
    assert (changed.title, changed.options) == ("new", {"collection": "home"})


def test_a_deleted_conversation_is_gone_with_its_messages(store):
    conversation = store.create()
    question, answer = turn(store, conversation, "Why?")
    store.delete(conversation.id)
    for attempt in (
        lambda: store.get(conversation.id),
        lambda: store.messages(conversation.id),
        lambda: turn(store, conversation, "More?"),
        lambda: store.message(question.id),
        lambda: store.update_message(answer.id, text="too late"),
    ):
        with pytest.raises(NotFoundError, match="may have been deleted"):
            attempt()


def test_only_what_belongs_to_a_message_can_be_changed(store):
    _, answer = turn(store, store.create(), "Why?")
    with pytest.raises(ConfigError, match="no 'role' to change"):
        store.update_message(answer.id, role="user")


def test_a11_control_characters_are_not_stored(store):
    conversation = store.create("a\0b")
    question, answer = turn(store, conversation, "What is \0 here?")
    store.update_message(answer.id, text="x\ud800y")
    assert (conversation.title, question.text) == ("a b", "What is   here?")
    assert store.message(answer.id).text == "x\ufffdy"
