from hypothesis import given
from hypothesis import strategies as st

from core.domain import Mark
from core.text.builder import TextBuilder
from core.text.clean import clean

CHARACTERS = st.one_of(st.characters(), st.sampled_from("\u0301\u0323e\u1161ᄀ\r\n\u200d👩 "))
PIECES = st.lists(st.text(alphabet=CHARACTERS, max_size=8), max_size=5)


@given(PIECES)
def test_the_text_is_clean_at_the_joins_too_and_marks_follow_each_other(pieces):
    builder = TextBuilder()
    for piece in pieces:
        with builder.mark("part", "p"):
            builder.append(piece)
    document = builder.build()
    assert clean(document.text) == document.text
    ends = [0]
    for mark in document.marks:
        assert ends[-1] <= mark.start < mark.end <= len(document.text)
        ends.append(mark.end)


def test_an_accent_goes_onto_the_letter_of_the_piece_before():
    builder = TextBuilder()
    builder.append("cafe")
    with builder.mark("page", 2):
        builder.append("\u0301 bar")
    assert builder.build().text == "café bar"


def test_headings_span_their_own_section_and_name_the_path():
    builder = TextBuilder()
    builder.heading(1, "Guide")
    builder.append("Intro.")
    builder.heading(2, "Install\n it")
    builder.append("Do.")
    builder.heading(1, "End")
    document = builder.build()
    assert document.text == "Guide\n\nIntro.\n\nInstall it\n\nDo.\n\nEnd"
    assert document.marks == (
        Mark(0, 15, "heading", "Guide"),
        Mark(15, 32, "heading", "Guide > Install it"),
        Mark(32, 35, "heading", "End"),
    )


def test_a_mark_is_the_slice_that_was_appended_inside_it():
    builder = TextBuilder()
    builder.append("x\x00\ufb01\r\n")
    with builder.mark("code", "py"):
        builder.append("a\r\nb")
    with builder.mark("code", "empty"):
        builder.append("")
    document = builder.build()
    assert [document.text[mark.start : mark.end] for mark in document.marks] == ["a\nb"]


def test_a_text_that_goes_on_begins_with_the_break_and_keeps_its_headings():
    builder = TextBuilder(goes_on=True, path=[(1, "Guide"), (2, "Install")])
    builder.paragraph("Then wait.")
    builder.heading(2, "Use")
    document = builder.build()
    assert document.text == "\n\nThen wait.\n\nUse"
    assert [(mark.start, mark.end, mark.value) for mark in document.marks] == [
        (0, 14, "Guide > Install"),
        (14, 17, "Guide > Use"),
    ]
    assert builder.path == [(1, "Guide"), (2, "Use")]


def test_blanks_at_the_end_stay_where_more_follows():
    builder = TextBuilder()
    builder.append("One.\n\n")
    assert builder.build(keep_end=True).text == "One.\n\n"
    assert builder.build().text == "One."
