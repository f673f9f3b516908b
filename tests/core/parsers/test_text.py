import time
from itertools import pairwise

import pytest

from core.errors import DocumentError
from core.parsers.text import TextParser


def parse(data: bytes, name: str = "a.txt"):
    return TextParser().parse(data, name)


def test_text_stands_as_it_is():
    document = parse(b"one\r\n\r\ntwo\ttabbed\r\n")
    assert (document.text, document.marks) == ("one\n\ntwo\ttabbed", ())
    assert document.metadata.to_dict() == {"encoding": "utf-8"}


def test_a11_control_characters_are_blanks():
    assert parse(b"ab\x00cd").text == "ab cd"


def test_b08_lone_surrogates_from_utf_16():
    assert parse(b"\xff\xfe" + b"b\0a\0d\0\x3d\xd8x\0").text == "bad\ufffdx"


def test_a19_what_was_replaced_is_a_warning():
    warnings = parse("ünïcode ".encode() + b"caf\xe9").metadata.get_string("warnings")
    assert warnings == "holds 1 place that is not valid utf-8; shown as \ufffd"


def test_a40_yaml_is_text_and_its_aliases_stay_aliases():
    bomb = 'a: &a ["lol","lol"]\n' + "".join(f"{c}: &{c} [*{p},*{p},*{p}]\n" for p, c in pairwise("abcdefghi"))
    started = time.monotonic()
    assert parse(bomb.encode(), "bomb.yaml").text == bomb.rstrip()
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("data", [b"\n\n  \t", b"\x00\x01", b"---"])
def test_no_text_is_no_success(data):
    with pytest.raises(DocumentError) as raised:
        parse(data, "empty.txt")
    assert str(raised.value) == "'empty.txt' holds no text; add a file with text in it"
    assert raised.value.file_name == "empty.txt"
