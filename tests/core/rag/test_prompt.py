import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat_models.echo import EchoChatModel
from core.domain import ChatMessage, Content, TextSegment
from core.errors import ContextOverflowError
from core.rag.injectors import DefaultContentInjector
from core.rag.prompt import Cut, PromptPacker


def content(words, name="w"):
    return Content(TextSegment(f"{name} " * words, start=0, end=words * (len(name) + 1)), id=name)


def turns(count, words=5):
    return [ChatMessage(("user", "assistant")[at % 2], f"t{at} " * words) for at in range(count)]


def packer(context=200, **options):
    options = {"answer_tokens": 40, "memory_tokens": 1000, **options}
    return PromptPacker(EchoChatModel(context_tokens=context), DefaultContentInjector(), rules="Be kind.", **options)


def test_rules_then_turns_then_sources_and_question():
    packed = packer().pack("Why so?", [content(3, "a"), content(2, "b")], turns(2, 1))
    assert packed.messages == (
        ChatMessage("system", "Be kind."),
        ChatMessage("user", "t0 "),
        ChatMessage("assistant", "t1 "),
        ChatMessage("user", "Why so?\n\nAnswer using the following information:\na a a \n\nb b "),
    )
    assert [(part.kind, part.number, part.tokens) for part in packed.parts] == [
        ("rules", None, 2),
        ("turn", 1, 1),
        ("turn", 2, 1),
        ("source", 1, 3),
        ("source", 2, 2),
        ("question", None, 7),
    ]
    assert packed.tokens == EchoChatModel().count_prompt_tokens(packed.messages)
    assert (packed.cut, packed.answer_tokens) == ((), 40)


def test_the_lowest_ranked_source_goes_first_then_the_oldest_turns_then_the_best_source_is_cut():
    sources = [content(40, "a"), content(40, "b"), content(40, "c")]
    packed = packer(190).pack("Why?", sources, turns(6, 6))
    assert [item.id for item in packed.contents] == ["a"]
    assert [(cut.kind, cut.content.id if cut.content else cut.messages) for cut in packed.cut] == [
        ("source", "c"),
        ("source", "b"),
    ]
    packed = packer(150).pack("Why?", sources, turns(6, 6))
    assert [item.id for item in packed.contents] == ["a"]
    assert [cut.messages for cut in packed.cut if cut.kind == "turn"] == [4]
    packed = packer(80).pack("Why?", sources, turns(6, 6))
    assert len(packed.messages) == 2
    assert packed.contents[0].segment.text == "a " * 20
    assert packed.contents[0].segment.end == 40


def test_sources_stay_within_their_budget_and_one_that_is_too_long_is_cut_at_a_sentence():
    packed = packer(400, source_tokens=50).pack("Why?", [content(30, "a"), content(30, "b")])
    assert [item.id for item in packed.contents] == ["a"]
    assert packed.cut == (Cut("source", "no room left in the 50 tokens for sources", content(30, "b")),)
    text = "One two three. Four five six. Seven eight nine ten."
    long = Content(TextSegment(text, start=7, end=7 + len(text)))
    packed = packer(400, source_tokens=8).pack("Why?", [long])
    assert packed.contents[0].segment.text == "One two three. Four five six. "
    assert packed.contents[0].segment.end == 7 + 30


def test_turns_leave_in_blocks_so_that_the_beginning_stays_for_some_turns():
    beginnings = []
    for count in range(0, 22, 2):
        packed = packer(2000, memory_messages=6).pack("Why?", [], turns(count))
        kept = packed.messages[1:-1]
        assert len(kept) <= 6
        assert not kept or kept[0].role == "user"
        beginnings.append(kept[0].text.split()[0] if kept else "")
    assert beginnings == ["", "t0", "t0", "t0", "t4", "t4", "t8", "t8", "t12", "t12", "t16"]


def test_e15_turns_that_hold_their_sources_leave_before_the_context_overflows():
    history = []
    for _ in range(10):
        packed = packer(400, memory_tokens=200).pack("Why?", [content(20, "a"), content(20, "b")], history)
        assert packed.tokens + packed.answer_tokens <= 400
        assert len(packed.contents) == 2
        history += [packed.messages[-1], ChatMessage("assistant", "Because.")]
    assert 2 < len(packed.messages) < 12


def test_e02_room_for_the_answer_is_kept():
    packed = packer(90).pack("Why?", [content(60)])
    assert packed.tokens + 30 <= 90
    assert packed.answer_tokens >= 30


@pytest.mark.parametrize("words", [256, 257, 700])
def test_e01_a_question_that_is_too_long_is_one_sentence(words):
    with pytest.raises(ContextOverflowError, match="the question is too long"):
        packer(256).pack("word " * words, [content(20)], turns(4))


@given(
    st.integers(30, 300),
    st.lists(st.integers(1, 200), max_size=5),
    st.lists(st.integers(0, 60), max_size=9),
    st.integers(1, 120),
)
def test_e01_whatever_comes_fits_or_the_question_alone_is_too_long(context, sources, history, question):
    made = packer(context)
    try:
        packed = made.pack("q " * question, [content(n, f"s{n}") for n in sources], [
            ChatMessage(("user", "assistant")[at % 2], "t " * n) for at, n in enumerate(history)
        ])  # fmt: skip
    except ContextOverflowError:
        alone = EchoChatModel().count_prompt_tokens(
            [ChatMessage("system", "Be kind."), ChatMessage("user", "q " * question)]
        )
        assert alone > context - min(40, context // 3)
        return
    assert packed.tokens + min(40, context // 3) <= context
    assert packed.messages[0].text == "Be kind."
    assert packed.messages[-1].text.startswith("q " * question)


def test_what_the_next_prompt_begins_with_is_known_before_it_is_asked():
    for count in range(0, 16, 2):
        made = packer(2000, memory_messages=6)
        beginning = made.beginning(turns(count))
        assert made.pack("Why?", [content(20)], turns(count)).messages[: len(beginning)] == beginning


def test_of_turns_so_long_that_a_block_is_too_much_the_newest_that_fit_stay():
    history = [ChatMessage(("user", "assistant")[at % 2], f"t{at} " + "t " * 58) for at in range(8)]
    packed = packer(2000, memory_tokens=200).pack("Why?", [], history)
    assert [message.text.split()[0] for message in packed.messages[1:-1]] == ["t6", "t7"]
    assert packed.cut == (Cut("turn", "older than what memory keeps", messages=6),)
    none = packer(2000, memory_tokens=100).pack("Why?", [], history)
    assert none.messages[1:-1] == ()
