import pytest

from core.domain import Document, Mark
from core.embedding_models.hashing import WordTokenizer
from core.splitters import CharacterSplitter, ParagraphSplitter, RecursiveSplitter


def texts(splitter, document: Document | str) -> list[str]:
    document = Document.from_text(document) if isinstance(document, str) else document
    return [segment.text for segment in splitter.split(document)]


def marked(*parts: tuple[str, str | None, object]) -> Document:
    """A document of (text, kind, value) parts; a kind of None is text without a mark."""
    text, marks = "", []
    for part, kind, value in parts:
        if kind:
            marks.append(Mark(len(text), len(text) + len(part), kind, value))
        text += part
    return Document(text, marks=tuple(marks))


def test_as_many_paragraphs_as_fit_go_into_a_segment():
    assert texts(RecursiveSplitter(8), "aa\n\nbb\n\ncc\r\n\r\ndd\r\rEE") == ["aa\n\nbb", "cc\r\n\r\ndd", "EE"]


def test_a_paragraph_too_large_is_cut_at_sentences_then_words_then_characters():
    text = "Short one.\n\nFirst sentence. Second sentence. abcdefghijklmnopqrstuvwxyz end."
    assert texts(RecursiveSplitter(20), text) == [
        "Short one.",
        "First sentence.",
        "Second sentence.",
        "abcdefghijklmnopqrst",
        "uvwxyz end.",
    ]


def test_a_segment_ends_at_a_paragraph_rather_than_inside_the_next():
    text = "One two three four five.\n\nSix seven. Eight nine ten. Eleven twelve thirteen fourteen fifteen."
    assert texts(RecursiveSplitter(40), text)[0] == "One two three four five."


def test_wrapped_lines_are_not_places_to_cut():
    text = "This sentence of a letter is wrapped at the\nmargin and runs on. The next one is here\nas well."
    assert texts(RecursiveSplitter(70), text) == [
        "This sentence of a letter is wrapped at the\nmargin and runs on.",
        "The next one is here\nas well.",
    ]


def test_overlap_is_whole_sentences_where_they_fit():
    text = "Aa bb. Cc dd. Ee ff. Gg hh. Ii jj."
    assert texts(RecursiveSplitter(20, 7), text) == ["Aa bb. Cc dd. Ee ff.", "Ee ff. Gg hh. Ii jj."]


def test_overlap_leaves_out_a_sentence_that_is_longer_than_asked():
    text = "Aa bb. Cc dd. Ee ff. Gg hh. Ii jj."
    assert texts(RecursiveSplitter(20, 5), text) == ["Aa bb. Cc dd. Ee ff.", "Gg hh. Ii jj."]


def test_overlap_is_words_where_the_cut_lies_inside_a_sentence():
    assert texts(RecursiveSplitter(11, 4), "aaa bbb ccc ddd eee fff") == ["aaa bbb ccc", "ccc ddd eee", "eee fff"]


def test_b02_chinese_is_cut_after_its_full_stops():
    text = ("甲" * 30 + "。") * 20
    segments = RecursiveSplitter(100, 0, WordTokenizer()).split(Document.from_text(text))
    assert all(segment.text.endswith("。") for segment in segments)
    assert "".join(segment.text for segment in segments) == text


def test_b02_chinese_without_marks_is_cut_by_size():
    text = "中文" * 5000
    segments = RecursiveSplitter(254, 0, WordTokenizer()).split(Document.from_text(text))
    assert [len(segment.text) for segment in segments] == [254] * 39 + [94]


def test_b03_no_segment_starts_with_a_full_stop():
    assert texts(RecursiveSplitter(2), "甲。乙。丙。") == ["甲。", "乙。", "丙。"]
    assert texts(RecursiveSplitter(3), "甲乙丙。丁戊己。") == ["甲乙", "丙。", "丁戊", "己。"]
    assert texts(RecursiveSplitter(5), "alors ! bien ?") == ["alor", "s !", "bie", "n ?"]


def test_emoji_and_flags_are_not_torn_apart():
    family = "👩\u200d👩\u200d👧"
    assert texts(CharacterSplitter(6), family * 2 + "👍🏽🇩🇪🇫🇷") == [family, family, "👍🏽🇩🇪🇫🇷"]


def test_a_new_section_begins_a_new_segment_and_is_not_overlapped():
    document = marked(
        ("# One\n\nText of one. It ends.\n\n", "heading", "One"), ("# Two\n\nText of two.\n", "heading", "Two")
    )
    segments = RecursiveSplitter(100, 20).split(document)
    assert [segment.text for segment in segments] == ["# One\n\nText of one. It ends.", "# Two\n\nText of two."]
    assert [segment.metadata.get("heading_path") for segment in segments] == ["One", "Two"]


def test_a_tiny_section_is_not_left_alone():
    document = marked(("# Guide\n\n", "heading", "Guide"), ("## Install\n\nRun it.\n", "heading", "Guide > Install"))
    assert texts(RecursiveSplitter(100), document) == ["# Guide\n\n## Install\n\nRun it."]


def test_a38_a_code_block_is_one_unit():
    code = "```\n# a comment\n\nmake install\n```\n"
    document = marked(("Do this now, please:\n\n", None, None), (code, "code", "sh"), ("\nThen go on.\n", None, None))
    assert texts(RecursiveSplitter(40), document) == ["Do this now, please:", code.strip(), "Then go on."]


def test_a_table_that_fits_is_one_unit_and_a_longer_one_is_cut_between_rows():
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
    document = marked(("Before it all.\n\n", None, None), (table, "table", ""), ("After.", None, None))
    assert texts(RecursiveSplitter(40), document) == ["Before it all.", table.strip(), "After."]
    assert texts(RecursiveSplitter(20), document) == [
        "Before it all.",
        "| a | b |\n|---|---|",
        "| 1 | 2 |\n| 3 | 4 |",
        "After.",
    ]


def test_sheets_are_never_mixed():
    document = marked(("a, 1\n", "sheet", "North"), ("b, 2\n", "sheet", "South"))
    segments = RecursiveSplitter(100).split(document)
    assert [(segment.text, segment.metadata.get("sheet")) for segment in segments] == [
        ("a, 1", "North"),
        ("b, 2", "South"),
    ]


def test_places_are_written_down():
    document = marked(("Page one. ", "page", 1), ("Page two. ", "page", 2), ("Page three.", "page", 3))
    found = [segment.metadata.to_dict() for segment in RecursiveSplitter(20).split(document)]
    assert found == [{"page": 1, "page_end": 2, "index": 0}, {"page": 3, "index": 1}]


def test_rows_are_kept_whole():
    rows = [(f"name: a long name of row {number}, price: {number}\n", "rows", number) for number in range(2, 8)]
    found = texts(RecursiveSplitter(80, 40), marked(*rows))
    assert all(text.startswith("name: ") and text[-1].isdigit() for text in found)
    assert [segment.metadata.get("rows") for segment in RecursiveSplitter(80).split(marked(*rows))] == [
        "2-3",
        "4-5",
        "6-7",
    ]


def test_rows_are_joined():
    document = marked(("a\n", "rows", "2"), ("b\n", "rows", "3-9"), ("c\n", "rows", "10"))
    assert [segment.metadata.get("rows") for segment in RecursiveSplitter(4).split(document)] == ["2-9", "10"]


@pytest.mark.parametrize("splitter", [RecursiveSplitter, ParagraphSplitter])
def test_documents_without_marks_have_no_places(splitter):
    (segment,) = splitter().split(Document.from_text("x"))
    assert segment.metadata.to_dict() == {"index": 0}
