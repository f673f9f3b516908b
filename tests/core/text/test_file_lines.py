import io

import pytest

from core.text.file_encoding import find_encoding
from core.text.file_lines import FileLines, FileText


def text_of(data: bytes) -> FileText:
    file = io.BytesIO(data)
    return FileText(file, find_encoding(file, len(data)), len(data))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "cp1252"])
def test_a_stretch_ends_at_a_blank_line_or_a_line_end_or_a_blank(encoding):
    width = {"utf-16": 2, "utf-32": 4}.get(encoding, 1)
    for text, first in (
        ("aaaa ü\nbbb bbbb\n\nccc cccc", "aaaa ü\nbbb bbbb\n\n"),
        ("aaaa ü bbb bbbb\nccc ccccc", "aaaa ü bbb bbbb\n"),
        ("aaaa ü bbb bbbb bbccc cccc", "aaaa ü bbb bbbb "),
        ("aaaaüübbbbbbbbbbbbbbbbbbbb", "aaaaüübbbbbbbbbbbb"),
    ):
        most = 18 * width + (2 if encoding == "utf-8" and "üü" in text else encoding == "utf-8")
        whole = text_of(text.encode(encoding))
        found, end = whole.stretch(whole.encoding.start, most)
        assert found == first
        assert found + whole.stretch(end, 1000)[0] == text


def test_no_character_and_no_line_end_is_torn():
    whole = text_of("ü".encode() * 20)
    found, end = whole.stretch(0, 11)
    assert (found, end) == ("ü" * 5, 10)
    whole = text_of(b"aaaaaaaaa\r\nbbbbbbbb")
    assert whole.stretch(0, 10)[0] + whole.stretch(9, 100)[0] == "aaaaaaaaa\nbbbbbbbb"


def test_what_is_not_valid_is_counted():
    whole = text_of("Größe\n".encode() * 20 + b"\xff\xfe\n")
    found, _ = whole.stretch(0, 1000)
    assert found.endswith("Größe\n\ufffd\ufffd\n") and whole.replaced == 2
    assert whole.warnings == ["holds 2 places that are not valid utf-8; shown as \ufffd"]


def test_lines_go_on_from_any_position():
    lines = [f"line {number} " + "x" * (number % 90) + "\n" for number in range(9_000)] + ["the end"]
    whole = text_of("".join(lines).encode())
    reader, places = FileLines(whole), []
    seen = []
    for line in reader:
        seen.append(line)
        places.append(reader.position)
    assert seen == lines
    for number in (0, 1, 4000, 5001, 8998, 9000):
        assert list(FileLines(whole, places[number])) == lines[number + 1 :]


def test_a_line_longer_than_what_is_read_at_once_stays_one():
    lines = ["short\n", "x" * 700_000 + "\n", "last\n"]
    whole = text_of("".join(lines).encode())
    assert list(FileLines(whole)) == lines
