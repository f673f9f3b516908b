from hypothesis import given
from hypothesis import strategies as st

from core.chat_models.reply_text import TURN_MARKERS, StopText, ThinkingText, Utf8Pieces


def shown(gate, pieces):
    return "".join(gate.feed(piece) for piece in pieces) + gate.rest()


def test_e06_a_stop_string_that_comes_in_pieces_is_never_shown():
    pieces = ["Ans", "wer.", "<|eo", "t_", "id|>", "<|start_header_id|>", "user", " more"]
    gate = StopText(TURN_MARKERS)
    assert [gate.feed(piece) for piece in pieces] == ["Ans", "wer.", "", "", "", "", "", ""]
    assert (gate.found, gate.rest()) == (True, "")


def test_what_only_looks_like_the_beginning_of_a_stop_string_is_shown():
    assert shown(StopText(["<|im_end|>"]), ["a <", "|im_", "x and <|i"]) == "a <|im_x and <|i"


def test_of_two_stop_strings_the_first_in_the_text_counts():
    assert shown(StopText(["later", "now"]), ["go now or later"]) == "go "


@given(st.text(alphabet="ab<|>", max_size=40), st.lists(st.integers(1, 5), min_size=1, max_size=30))
def test_the_pieces_make_no_difference(text, sizes):
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    pieces.append(text[at:])
    assert shown(StopText(["<|a", "b>"]), pieces) == shown(StopText(["<|a", "b>"]), [text])


def test_half_a_character_waits_for_its_rest():
    data = "猫🐈".encode()
    decode = Utf8Pieces()
    assert [decode.text(data[at : at + 1]) for at in range(len(data))] == ["", "", "猫", "", "", "", "🐈"]


def test_e16_a_thought_at_the_beginning_is_dropped_and_an_unfinished_one_leaves_nothing():
    assert shown(ThinkingText(), ["<thi", "nk>hm, ", "well</thi", "nk>\n\nYes", "."]) == "Yes."
    assert shown(ThinkingText(), ["<think></think>"]) == ""
    assert shown(ThinkingText(), ["\n<think>never done"]) == ""


def test_thinking_marks_later_in_a_reply_are_ordinary_text():
    assert shown(ThinkingText(), ["Write <think>", "x</think>"]) == "Write <think>x</think>"
    assert shown(ThinkingText(), ["<th"]) == "<th"
