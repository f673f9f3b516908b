"""Files in parts: together they are what the whole file gives, and reading goes on behind any of them."""

from pathlib import Path

import pymupdf
import pytest

from core.domain import Document, Mark
from core.errors import DocumentError, PasswordError
from core.metadata import Metadata
from core.parsers import auto_parser
from core.parsers.parts import PART_CHARS, PART_PAGES, parts_of

PARAGRAPHS = [
    f"Paragraph {number} tells of pump {number % 7} in the Größe of 長い {number}, and of its valve."
    for number in range(8000)
]
TEXT = "\n\n".join(PARAGRAPHS)
CSV = "name;note;value\n" + "".join(f'pump {number};"two\nlines {number}";{number},5\n' for number in range(16_000))
MARKDOWN = "---\nauthor: Ann\n---\n" + "".join(
    f"\n{'#' * (1 + number % 3)} Part {number}\n\n{PARAGRAPHS[number]}\n\n```py\nx = {number}\n\n# no heading\n```\n"
    "<!-- a -->\n"
    for number in range(4000)
)
HTML = "<html><body>" + "".join(f"<h2>Part {n}</h2><p>{PARAGRAPHS[n]}</p>" for n in range(8000)) + "</body></html>"
FILES = {
    "a.txt": TEXT.encode(),
    "windows.txt": TEXT.replace("長い", "").replace("\n", "\r\n").encode("cp1252"),
    "old-mac.txt": TEXT.replace("\n", "\r").encode(),
    "utf-16.txt": TEXT.encode("utf-16"),
    "mixed.txt": TEXT.encode() + b"\n\xff\n" + TEXT.encode() + b"\n\xff\xfe",
    "one-line.txt": TEXT.replace("\n", "").replace(" ", "").encode(),
    "japanese.txt": ("ポンプの名前は髙橋です。\n" * 25_000).encode("cp932"),
    "a.csv": CSV.encode(),
    "without-header.csv": "".join(f"{number};3,5;{number}\n" for number in range(50_000)).encode(),
    "hint.csv": ("sep=|\n" + CSV.replace(";", "|")).encode(),
    "open-quote.csv": CSV.replace('pump 7000;"', 'pump 7000;""x').encode(),
    "a.md": MARKDOWN.encode(),
    "a.html": HTML.encode(),
}


def kept(tmp_path: Path, name: str, data: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def pdf(pages: int, *, first: int = 1) -> bytes:
    with pymupdf.open() as document:
        for number in range(first, first + pages):
            page = document.new_page()
            page.insert_text((72, 40), f"Pump manual, page {number}")
            if number % 20 == 1:
                page.insert_text((72, 90), f"Chapter {number // 20 + 1}", fontsize=20)
            for line in range(8):
                page.insert_text((72, 130 + 14 * line), f"Line {line} of page {number} tells of the pump and its seal")
        return document.tobytes()


def joined(parts) -> tuple[str, list[Mark]]:
    marks = [
        Mark(mark.start + part.start, mark.end + part.start, mark.kind, mark.value)
        for part in parts
        for mark in part.document.marks
        if mark.kind != "heading"  # one that reaches into the next part is there twice
    ]
    return "".join(part.document.text for part in parts), marks


@pytest.mark.parametrize("name", FILES)
def test_the_parts_are_the_whole_and_reading_goes_on_behind_each(tmp_path, name):
    path = kept(tmp_path, name, FILES[name])
    whole = auto_parser().parse(FILES[name], name)
    parts = list(auto_parser().parts(path, name))
    assert len(parts) > 2 and max(len(part.document.text) for part in parts) <= 1.1 * PART_CHARS
    text, marks = joined(parts)
    assert text == whole.text
    assert marks == [mark for mark in whole.marks if mark.kind != "heading"]
    assert [part.number for part in parts] == list(range(len(parts)))
    assert [part.is_last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].document.metadata == whole.metadata and parts[-1].share == 1.0
    middle = len(parts) // 2
    assert list(auto_parser().parts(path, name, None, parts[middle].after)) == parts[middle + 1 :]


def test_a_heading_goes_on_in_the_next_part(tmp_path):
    path = kept(tmp_path, "a.md", ("# Pumps\n\n## Seals\n\n" + TEXT).encode())
    parts = list(auto_parser().parts(path, "a.md"))
    assert [part.document.marks[-1].value for part in parts] == ["Pumps > Seals"] * len(parts)
    assert all(part.document.marks[0].start == 0 for part in parts)


def test_pages_keep_their_numbers_headings_and_running_heads(tmp_path):
    count = PART_PAGES + 32
    data = pdf(count)
    path = kept(tmp_path, "a.pdf", data)
    whole = auto_parser().parse(data, "a.pdf")
    parts = list(auto_parser().parts(path, "a.pdf"))
    assert [part.pages for part in parts] == [(PART_PAGES, count), (count, count)]
    text, marks = joined(parts)
    assert (text, marks) == (whole.text, [mark for mark in whole.marks if mark.kind != "heading"])
    assert "Pump manual" not in text and parts[0].document.metadata == whole.metadata
    first = parts[1].document.marks[0]
    assert (first.kind, first.value) == ("heading", f"Chapter {PART_PAGES // 20 + 1}")
    assert list(auto_parser().parts(path, "a.pdf", None, parts[0].after)) == parts[1:]


def test_a_single_page_behind_the_last_part_loses_its_running_head_too(tmp_path):
    parts = list(auto_parser().parts(kept(tmp_path, "a.pdf", pdf(PART_PAGES + 1)), "a.pdf"))
    assert (
        parts[1].document.text.startswith(f"\n\nLine 0 of page {PART_PAGES + 1}")
        and "Pump manual" not in parts[1].document.text
    )


@pytest.mark.parametrize("name", ["a.pdf", "a.txt", "a.md", "a.csv", "a.html"])
def test_a_short_file_is_one_part_and_what_parse_gives(tmp_path, name):
    data = pdf(3) if name == "a.pdf" else b"# A pump\n\nleaks, and, stops"
    (part,) = auto_parser().parts(kept(tmp_path, name, data), name)
    assert part.document == auto_parser().parse(data, name)
    assert (part.start, part.number, part.is_last, part.share) == (0, 0, True, 1.0)


def test_pages_without_text_are_passed_over_and_a_file_without_any_is_refused(tmp_path):
    with pymupdf.open() as document:
        for _ in range(PART_PAGES + 1):
            document.new_page()
        empty = document.tobytes()
        document[-1].insert_text((72, 72), "The last page")
        last = document.tobytes()
    with pytest.raises(DocumentError, match=r"^'a.pdf' holds no text; it may be scanned images"):
        list(auto_parser().parts(kept(tmp_path, "a.pdf", empty), "a.pdf"))
    parts = list(auto_parser().parts(kept(tmp_path, "a.pdf", last), "a.pdf"))
    assert [part.document.text for part in parts] == ["", "The last page"]
    assert [mark.value for mark in parts[1].document.marks] == [PART_PAGES + 1]


def test_a_locked_pdf_asks_for_its_password(tmp_path):
    with pymupdf.open(stream=pdf(2)) as document:
        data = document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open-me", owner_pw="o")
    path = kept(tmp_path, "a.pdf", data)
    with pytest.raises(PasswordError):
        list(auto_parser().parts(path, "a.pdf"))
    (part,) = auto_parser().parts(path, "a.pdf", "open-me")
    assert "page 1" in part.document.text


def test_a_document_is_cut_where_a_section_begins():
    text = "x" * (PART_CHARS - 1000) + "\n\n" + "y" * 2000
    start = PART_CHARS - 998
    document = Document(text, Metadata({"title": "T", "warnings": "w"}), (Mark(start, len(text), "heading", "Y"),))
    first, second = parts_of(document)
    assert (len(first.document.text), second.document.text) == (start, "y" * 2000)
    assert second.document.marks == (Mark(0, 2000, "heading", "Y"),)
    assert first.document.metadata == Metadata({"title": "T"}) and second.document.metadata == document.metadata
    assert list(parts_of(document, first.after)) == [second]
