import pytest

from core.domain import TextSegment
from core.embedding_models.hashing import WordTokenizer
from core.errors import ConfigError
from core.segment_transformers import HeadingPrefix


def embedded(text: str, *, max_tokens: int = 100, most: int = 32, keys=("title", "heading_path"), **metadata) -> str:
    transformer = HeadingPrefix(WordTokenizer(), max_tokens, keys, most)
    segment = transformer.transform(TextSegment.from_text(text, metadata))
    assert segment.text == text
    return segment.text_to_embed


def test_title_and_heading_path_go_in_front():
    assert embedded("Turn it left.", title="Guide", heading_path="Install > Pump") == (
        "Guide > Install > Pump\nTurn it left."
    )


def test_what_the_text_says_itself_is_not_said_twice():
    text = "## Pump\n\nTurn it left."
    assert embedded(text, title="Guide", heading_path="Guide > Pump") == f"Guide\n{text}"


def test_nothing_to_say_leaves_the_segment_alone():
    segment = TextSegment.from_text("Turn it left.")
    assert HeadingPrefix(WordTokenizer(), 100).transform(segment) is segment


def test_the_file_name_in_front():
    assert embedded("Turn it left.", keys=("file_name",), file_name="pump.pdf") == "pump.pdf\nTurn it left."


def test_a_long_prefix_is_shortened_from_its_beginning_then_from_its_end():
    assert embedded("x", most=5, title="A title", heading_path="One > Two > Three") == "One > Two > Three\nx"
    assert embedded("x", most=2, heading_path="One > Two words and more") == "Two words\nx"


def test_prefix_and_text_stay_within_what_the_model_reads():
    text = "word " * 19
    assert embedded(text, max_tokens=20, heading_path="One > Two three") == f"Two\n{text}"
    assert embedded(text, max_tokens=19, heading_path="One > Two three") == text


def test_room_for_nothing_is_refused():
    with pytest.raises(ConfigError, match="max_prefix_tokens=0"):
        HeadingPrefix(WordTokenizer(), 100, max_prefix_tokens=0)
