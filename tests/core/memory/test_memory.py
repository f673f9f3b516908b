import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain import ChatMessage
from core.errors import ConfigError
from core.memory import CHAT_MEMORIES, InMemoryChatMemoryStore, MessageWindowChatMemory, TokenWindowChatMemory

RULES = ChatMessage("system", "Be kind.")


class Words:
    def count(self, text):
        return len(text.split())


def talk(memory, turns):
    for turn in range(turns):
        memory.add(ChatMessage("user", f"question {turn}"))
        memory.add(ChatMessage("assistant", f"answer {turn}"))


def test_the_last_ten_stay_and_the_system_message_does_not_count():
    memory = MessageWindowChatMemory.with_max_messages(10)
    memory.add(RULES)
    talk(memory, 8)
    texts = [message.text for message in memory.messages()]
    assert texts == ["Be kind."] + [f"{kind} {turn}" for turn in range(3, 8) for kind in ("question", "answer")]


def test_a_new_system_message_takes_the_place_of_the_old_one():
    memory = MessageWindowChatMemory(4)
    memory.add(ChatMessage("user", "hi"))
    memory.add(RULES)
    memory.add(ChatMessage("system", "Be brief."))
    assert memory.messages() == [ChatMessage("system", "Be brief."), ChatMessage("user", "hi")]


def test_an_odd_window_never_begins_with_an_answer():
    memory = MessageWindowChatMemory(3)
    talk(memory, 2)
    assert [message.text for message in memory.messages()] == ["question 1", "answer 1"]


def test_a_window_of_tokens():
    memory = TokenWindowChatMemory.with_max_tokens(8, Words())
    memory.add(RULES)
    talk(memory, 3)
    assert [message.text for message in memory.messages()][1:] == ["question 1", "answer 1", "question 2", "answer 2"]
    memory.add(ChatMessage("user", "word " * 9))
    assert memory.messages() == [RULES]


@given(st.lists(st.sampled_from(["system", "user", "assistant"]), max_size=30), st.integers(1, 6))
def test_no_orphan_answer_whatever_comes(roles, size):
    for memory in (MessageWindowChatMemory(size), TokenWindowChatMemory(size, Words())):
        turns = []
        for role in roles:
            memory.add(ChatMessage(role, "x"))
            kept = memory.messages()
            turns = [message for message in kept if message.role != "system"]
            assert len(turns) <= size
            assert len(kept) - len(turns) <= 1
        # Only where nothing had to leave may an answer stand first: it came first.
        assert not turns or turns[0].role == "user" or len([r for r in roles if r != "system"]) <= size


def test_memories_of_one_store_are_kept_apart_and_cleared():
    store = InMemoryChatMemoryStore()
    one, two = (MessageWindowChatMemory(4, id=name, store=store) for name in "ab")
    one.add(ChatMessage("user", "for a"))
    two.add(ChatMessage("user", "for b"))
    one.clear()
    assert one.messages() == []
    assert MessageWindowChatMemory(4, id="b", store=store).messages() == [ChatMessage("user", "for b")]


@pytest.mark.parametrize("size", [0, -1])
def test_a_window_has_room_for_something(size):
    for name, made in CHAT_MEMORIES.items():
        with pytest.raises(ConfigError, match="must be at least 1"):
            made(size, *([Words()] if name == "token_window" else []))
