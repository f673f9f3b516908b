import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("   ", ["   "]),
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ("  One. Two.", ["  One. ", "Two."]),
        ("\n\nOne. Two.", ["\n\nOne. ", "Two."]),
        ("It cost 3.5 euros. Dr. No left.", ["It cost 3.5 euros. ", "Dr. No left."]),
        ("See e.g. the manual. Then stop.", ["See e.g. the manual. ", "Then stop."]),
        ("He lives in the U.S. The rest stay.", ["He lives in the U.S. ", "The rest stay."]),
        ("J. R. Smith wrote it.", ["J. R. Smith wrote it."]),
        ("“Stop.” She ran.", ["“Stop.” ", "She ran."]),
        ('"Really?" he said. Yes.', ['"Really?" he said. ', "Yes."]),
        ("甲。乙！丙？", ["甲。", "乙！", "丙？"]),
        ("彼は「行くよ。」と言った。終わり。", ["彼は「行くよ。」と言った。", "終わり。"]),
        ("「はい。」「いいえ。」", ["「はい。」", "「いいえ。」"]),
        ("Title\nBody text here", ["Title\n", "Body text here"]),
        (
            "a line that is long enough\nis wrapped here. Next.",
            ["a line that is long enough\nis wrapped here. ", "Next."],
        ),
        ("red pump\nblue pump", ["red pump\n", "blue pump"]),
        ("name: the first of all pumps\nname: b", ["name: the first of all pumps\n", "name: b"]),
        ("a paragraph\n\nand another", ["a paragraph\n\n", "and another"]),
        ("12. Remove the cover.\n13. Clean it.", ["12. Remove the cover.\n", "13. Clean it."]),
        ("Wait... what? Go to example.com now.", ["Wait... what? ", "Go to example.com now."]),
        ("It ended in 1999. Then came peace.", ["It ended in 1999. ", "Then came peace."]),
        ("यह है। वह है।", ["यह है। ", "वह है।"]),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected


@given(st.text(alphabet="aB1 .!?。」\"'\n\r…e.g", max_size=60))
def test_spans_cover_the_text_without_gaps(text):
    spans = sentence_spans(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)


@pytest.mark.parametrize("text", ["." * 300_000, "\n" * 300_000, " \n" * 200_000, '"' * 300_000, "a. " * 100_000])
def test_time_is_linear(text):
    begin = time.perf_counter()
    sentence_spans(text)
    assert time.perf_counter() - begin < 2
