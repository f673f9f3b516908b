"""A file read in blocks has the encoding that it has when it's read at once."""

import io

import pytest

from core.text.encoding import decode
from core.text.file_encoding import FileEncoding, find_encoding

WORDS = "Die Größe der Pumpe und der Dichtung. " * 40
JAPANESE = "ポンプの名前は高橋です。水が漏れています。\n" * 40


@pytest.mark.parametrize(
    "data",
    [
        b"plain",
        WORDS.encode(),
        WORDS.encode("cp1252"),
        ("ascii only " * 200_000).encode() + WORDS.encode("cp1252"),  # the first such byte comes after a block
        WORDS.encode("utf-8-sig"),
        WORDS.encode("utf-16"),
        WORDS.encode("utf-16-be"),
        WORDS.encode("utf-32"),
        JAPANESE.encode("cp932"),
        JAPANESE.encode("euc_jp"),
        JAPANESE.encode("iso2022_jp"),
        JAPANESE.encode("utf-16-le"),
        ("Насос течёт, и его уплотнение старое. " * 40).encode("cp1251"),
        ("水泵漏水了，需要更换密封件。" * 40).encode("gb18030"),
    ],
    ids=range(14),
)
def test_it_is_that_of_the_whole(data):
    found, whole = find_encoding(io.BytesIO(data), len(data)), decode(data)
    assert (found.name, found.is_strict) == (whole.encoding, not whole.warnings)
    assert data[found.start :].decode(found.name) == whole.text


def test_bytes_that_mean_nothing_are_noticed_wherever_they_stand():
    data = WORDS.encode() * 1000 + b"\xff\n" + WORDS.encode()
    assert find_encoding(io.BytesIO(data), len(data)) == FileEncoding("utf-8", 0, is_strict=False)
