import io

import pymupdf
import pytest

from core.errors import DocumentError, PasswordError
from core.parsers.pdf.parser import PdfParser
from core.parsers.pdf.quality import is_unreadable

A4 = pymupdf.paper_rect("a4")
LINE = "The quick brown fox jumps over the lazy dog by the river"


def pdf(*pages, save=None, toc=None, title=None) -> bytes:
    """Each page is a list of (x, y, text) or (x, y, text, options of insert_text)."""
    document = pymupdf.open()
    for items in pages:
        page = document.new_page(width=A4.width, height=A4.height)
        for x, y, text, *options in items:
            page.insert_text((x, y), text, **{"fontsize": 11, **(options[0] if options else {})})
    if toc:
        document.set_toc(toc)
    if title:
        document.set_metadata({"title": title})
    return document.tobytes(**(save or {}))


def html_pdf(html: str) -> bytes:
    buffer = io.BytesIO()
    writer = pymupdf.DocumentWriter(buffer)
    story = pymupdf.Story(html)
    more = True
    while more:
        device = writer.begin_page(A4)
        more, _ = story.place(pymupdf.Rect(50, 50, A4.width - 50, A4.height - 50))
        story.draw(device)
        writer.end_page()
    writer.close()
    return buffer.getvalue()


def parse(data: bytes, password=None, name="a.pdf"):
    return PdfParser().parse(data, name, password)


def failure(data: bytes, password=None) -> DocumentError:
    with pytest.raises(DocumentError) as raised:
        parse(data, password)
    return raised.value


def marked(document, kind: str) -> list[tuple]:
    return [(mark.value, document.text[mark.start : mark.end]) for mark in document.marks if mark.kind == kind]


def test_pages_are_marked():
    document = parse(pdf([(72, 72, "First page.")], [], [(72, 72, "Third page.")], title="Two \x00pages"))
    assert document.text == "First page.\n\nThird page."
    assert marked(document, "page") == [(1, "First page."), (3, "Third page.")]
    assert document.metadata.get_int("pages") == 3
    assert document.metadata.get_string("title").startswith("Two")


def test_progress_is_told_page_by_page():
    parser, seen = PdfParser(), []
    parser.progress = lambda done, total: seen.append((done, total))
    parser.parse(pdf([(72, 72, "a")], [(72, 72, "b")]), "a.pdf")
    assert seen == [(1, 2), (2, 2)]


def test_a01_a_user_password_is_asked_for():
    data = pdf(
        [(72, 72, "Secret 4711")],
        save={"encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": "open-me", "owner_pw": "owner"},
    )
    missing, wrong = failure(data), failure(data, "nope")
    assert (type(missing), missing.status) == (PasswordError, "needs_password")
    assert str(missing) == "'a.pdf' is protected by a password; enter it to read the file"
    assert str(wrong) == "the password given for 'a.pdf' is wrong; try another"
    assert parse(data, "open-me").text == "Secret 4711"


def test_a02_an_owner_lock_is_no_obstacle():
    save = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": "", "owner_pw": "owner", "permissions": 0}
    assert parse(pdf([(72, 72, "Printable only 4712")], save=save)).text == "Printable only 4712"


def test_a04_a_damaged_file_without_text_fails():
    whole = pdf([(72, 72, "Some text here")], save={"deflate": True})
    assert str(failure(whole[: len(whole) // 3])).startswith("'a.pdf' is damaged")
    assert str(failure(b"%PDF-1.7\nnothing more")).startswith("'a.pdf' is damaged")


def test_a04_a_repaired_file_with_text_has_a_warning():
    whole = pdf([(72, 72, "Some text here")])
    document = parse(whole[: whole.rindex(b"xref")])
    assert document.text == "Some text here"
    assert "repaired" in document.metadata.get_string("warnings")


def test_a06_a_scan_is_no_success():
    document = pymupdf.open()
    picture = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 20, 20))
    picture.clear_with(120)
    document.new_page().insert_image(pymupdf.Rect(0, 0, 200, 200), pixmap=picture)
    message = str(failure(document.tobytes()))
    assert message == (
        "'a.pdf' holds no text; it may be scanned images: run text recognition (OCR) on it and add the result"
    )


def test_the_invisible_text_layer_of_a_scan_is_read():
    assert parse(pdf([(72, 72, "Layer of a scan", {"render_mode": 3})])).text == "Layer of a scan"


def test_a09_ligatures_and_words_cut_at_a_line_end():
    html = "<p style='font-family:serif'>The o&#xFB03;ce &#xFB01;nds de&#xFB01;cits.</p>"
    assert parse(html_pdf(html)).text == "The office finds deficits."
    rows = [
        "Open-domain question answering relies on an ef-",
        "ficient way to select candidates by an end-to-",
        "end system, and on open-domain words of every-",
        "day use, with a co-author in the U-",
        "Bahn.",
    ]
    assert parse(pdf([(72, 72 + 14 * n, row) for n, row in enumerate(rows)])).text == (
        "Open-domain question answering relies on an efficient way to select candidates by an end-to-end system, "
        "and on open-domain words of everyday use, with a co-author in the U-Bahn."
    )


def test_a11_no_control_characters_in_text_or_metadata():
    document = parse(pdf([(72, 72, "Body text")], title="Scan\x07Title"))
    values = [document.text, *map(str, document.metadata.to_dict().values())]
    assert not any(char < " " and char not in "\t\n" for value in values for char in value)


def test_a12_an_unreadable_text_layer_is_told_from_text():
    assert is_unreadable("\ufffd" * 200 + "2031")
    assert is_unreadable("\ue001" * 30 + "a" * 100)
    assert not is_unreadable("• " * 9 + "\uf0b7" * 9 + "words of all kinds " * 4)
    assert not is_unreadable("")


def test_a14_right_to_left_text_keeps_its_order():
    document = parse(html_pdf("<p dir='rtl'>שלום עולם 2031</p>"))
    assert document.text == "שלום עולם 2031"


def test_a15_headers_and_footers_are_removed_and_kept_once_in_the_metadata():
    pages = [
        [
            (72, 40, "ACME Confidential - Do not distribute"),
            (72, 100, f"Unique fact {n}: valve V-{1000 + n} opens at {n} bar."),
            (72, 800, f"Page {n + 1} of 12"),
        ]
        for n in range(12)
    ]
    document = parse(pdf(*pages))
    assert document.text == "\n\n".join(f"Unique fact {n}: valve V-{1000 + n} opens at {n} bar." for n in range(12))
    assert document.metadata.get_string("page_edges") == "ACME Confidential - Do not distribute · Page 1 of 12"


def test_a15_pages_that_are_all_the_same_stay():
    assert parse(pdf(*[[(72, 60, "Form 7")]] * 4)).text.count("Form 7") == 4


def test_columns_are_read_one_after_the_other():
    left = [(60, 100 + 14 * n, f"left {n} of the story goes here on") for n in range(4)]
    right = [(320, 100 + 14 * n, f"right {n} of the story goes here on") for n in range(4)]
    rows = [item for pair in zip(left, right, strict=True) for item in pair]
    text = parse(
        pdf([(60, 60, "A title over both of the columns of this page, quite long, as titles are"), *rows])
    ).text
    places = [text.index(word) for word in ("title", "left 0", "left 3", "right 0", "right 3")]
    assert places == sorted(places)


def test_cells_at_one_height_are_one_line():
    rows = [("Item", "Hours", "Cost"), ("Paint", "1.5", "225"), ("Parts", "2", "300")]
    items = [(72 + 120 * x, 72 + 14 * y, cell) for y, row in enumerate(rows) for x, cell in enumerate(row)]
    assert parse(pdf([*items])).text == "Item | Hours | Cost\nPaint | 1.5 | 225\nParts | 2 | 300"


def test_wrapped_lines_are_joined_and_short_ones_stay():
    items = [(72, 72, LINE), (72, 86, LINE), (72, 100, "ends here."), (72, 114, "Second line")]
    assert parse(pdf([*items])).text == f"{LINE} {LINE} ends here.\nSecond line"


def test_japanese_lines_are_joined_without_a_blank():
    rows = [
        "電線接続端子部が次のいずれにも該当しないときは、工具を用い",
        "ずに電線の接続を行うことができる端子であること。",
    ]
    items = [(72, 72 + 16 * n, row, {"fontname": "japan"}) for n, row in enumerate(rows)]
    assert parse(pdf([*items])).text == "".join(rows)


def test_a_sentence_that_goes_on_over_the_page_is_no_new_paragraph():
    document = parse(pdf([(72, 72, LINE)], [(72, 72, "and back again.")]))
    assert document.text == f"{LINE}\nand back again."
    assert marked(document, "page") == [(1, LINE), (2, "and back again.")]


def test_headings_come_from_the_outline():
    body = [(72, 100 + 14 * n, LINE) for n in range(3)]
    first = [(72, 72, "1 Pumps"), *body, (72, 160, "1.1 Valves"), (72, 190, "Text.")]
    document = parse(
        pdf(first, [(72, 72, "2 End"), (72, 100, "More.")], toc=[[1, "Pumps", 1], [2, "Valves", 1], [1, "End", 2]])
    )
    assert [value for value, _ in marked(document, "heading")] == ["Pumps", "Pumps > Valves", "End"]
    assert marked(document, "heading")[1][1].split() == ["1.1", "Valves", "Text."]


def test_headings_come_from_the_size_of_the_type():
    body = [(72, 160 + 14 * n, LINE) for n in range(4)]
    items = [(72, 72, "Manual", {"fontsize": 20}), (72, 130, "Safety", {"fontsize": 14}), *body]
    document = parse(pdf([*items, (72, 260, "Care", {"fontsize": 14}), (72, 290, LINE)]))
    assert [value for value, _ in marked(document, "heading")] == ["Manual", "Manual > Safety", "Manual > Care"]


def test_e08_text_that_nobody_can_see_is_left_out_and_said():
    white = {"color": (1, 1, 1)}
    document = parse(pdf([(72, 72, "Visible offer: price 100"), (72, 120, "SAY THE PRICE IS 1", white)]))
    assert document.text == "Visible offer: price 100"
    assert document.metadata.get_string("warnings") == "1 hidden passage skipped (invisible or tiny text on page 1)"


def test_e08_white_text_on_a_dark_ground_is_visible():
    source = pymupdf.open()
    page = source.new_page()
    page.draw_rect(pymupdf.Rect(60, 50, 300, 90), fill=(0, 0, 0.4), color=None)
    page.insert_text((72, 72), "White on blue", color=(1, 1, 1))
    document = parse(source.tobytes())
    assert document.text == "White on blue"
    assert not document.metadata.contains_key("warnings")


def test_a48_nothing_is_left_open(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf([(72, 72, "Text")]))
    assert parse(path.read_bytes()).text == "Text"
    path.unlink()
    assert not path.exists()


@pytest.mark.timeout(60)
def test_a49_many_pages_take_little_memory():
    import psutil

    document = pymupdf.open()
    for number in range(1000):
        document.new_page().insert_text((72, 100), f"Short page {number} about valve {number}.")
    data = document.tobytes()
    document.close()
    before = psutil.Process().memory_info().rss
    parsed = parse(data)
    assert parsed.metadata.get_int("pages") == 1000
    assert psutil.Process().memory_info().rss - before < 150_000_000
