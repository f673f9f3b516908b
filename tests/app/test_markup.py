"""Answers as blocks and spans: what is allowed, what stays as it was written, where marks stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui.markup import blocks


def test_bold_italic_code_and_a_marker():
    assert blocks("Until **48 hours** *before*, `fee`. [1]", source_count=1) == [
        {
            "t": "p",
            "s": [
                {"x": "Until "},
                {"x": "48 hours", "b": 1},
                {"x": " "},
                {"x": "before", "i": 1},
                {"x": ", "},
                {"x": "fee", "c": 1},
                {"x": ". "},
                {"n": 1},
            ],
        }
    ]


def test_headings_lists_code_and_tables():
    text = "## Fees\n- one\n  more\n2. two\n```py\nx = '# 1'\n```\n| a | b |\n|---|---|\n| 1 | **2** |\nend"
    assert blocks(text) == [
        {"t": "h", "l": 2, "s": [{"x": "Fees"}]},
        {"t": "li", "d": 0, "s": [{"x": "one\n  more"}]},
        {"t": "li", "d": 0, "o": 2, "s": [{"x": "two"}]},
        {"t": "code", "x": "x = '# 1'"},
        {"t": "table", "r": [[[{"x": "a"}], [{"x": "b"}]], [[{"x": "1"}], [{"x": "2", "b": 1}]]]},
        {"t": "p", "s": [{"x": "end"}]},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "~0.5 and ~~1.5~~",
        ":red[alarm] :smile: :material/home:",
        "a _b_ c $x$ $$y$$",
        "<b>bold</b><script>alert(1)</script>",
        "![i](http://example.org/x.png) [x](javascript:alert(1))",
        "2*3*4 and * alone",
        "a [7] that names no source",
    ],
)
def test_f10_everything_else_stays_as_it_was_written(text):
    assert blocks(text, source_count=3) == [{"t": "p", "s": [{"x": text}]}]


def test_marks_stand_behind_their_sentence():
    text = "You can cancel. **Breakfast** is free. Pool."
    sentences = [
        {"start": 0, "end": 16, "support": "supported", "source": 2},
        {"start": 16, "end": 39, "support": "weak", "source": 1},
        {"start": 39, "end": 44, "support": "not_supported", "source": None},
    ]
    assert blocks(text, sentences=sentences, source_count=2)[0]["s"] == [
        {"x": "You can cancel."},
        {"n": 2},
        {"x": " "},
        {"x": "Breakfast", "b": 1},
        {"x": " is free."},
        {"n": 1},
        {"w": "weak"},
        {"x": " Pool."},
        {"w": "not_supported"},
    ]


def test_a_marker_that_the_text_holds_already_is_not_set_twice():
    sentence = {"start": 0, "end": 12, "support": "supported", "source": 1}
    assert blocks("It is free. [1] Yes.", sentences=[sentence], source_count=1)[0]["s"] == [
        {"x": "It is free. "},
        {"n": 1},
        {"x": " Yes."},
    ]


def test_the_mark_of_a_bold_sentence_follows_it():
    sentence = {"start": 0, "end": 9, "support": "not_supported", "source": None}
    assert blocks("**Free.** Yes.", sentences=[sentence])[0]["s"] == [
        {"x": "Free.", "b": 1},
        {"w": "not_supported"},
        {"x": " Yes."},
    ]


@given(st.text(alphabet="ab *`#|-\n[1].~_", max_size=80))
def test_no_word_is_lost_and_every_mark_is_set_once(text):
    """Whatever the text: its letters come out in order, and a mark at any sentence end appears exactly once."""
    sentences = [{"start": 0, "end": len(text), "support": "not_supported", "source": None}] if text.strip() else []
    found = blocks(text, sentences=sentences)
    spans = [span for block in found for span in _spans(block)]
    written = "".join(block.get("x", "") + "".join(s.get("x", "") for s in _spans(block)) for block in found)
    letters = "".join(c for c in text if c in "ab")
    if "```" not in text and "|" not in text:
        assert "".join(c for c in written if c in "ab") == letters
    if found and "|" not in text:
        assert sum("w" in span for span in spans) == len(sentences)


def _spans(block):
    if block["t"] == "table":
        return [span for row in block["r"] for cell in row for span in cell]
    return block.get("s", [])
