import inspect

import pytest

from core.errors import DocumentError, UnsupportedFileError
from core.parsers import PARSERS, auto_parser


def test_the_kind_decides_and_is_kept():
    document = auto_parser().parse(b"<html><p>42</p>", "numbers.xls")
    assert document.text == "42"
    assert document.metadata.to_dict() == {
        "encoding": "utf-8",
        "file_name": "numbers.xls",
        "file_type": "html",
        "warnings": "the name ends in .xls, but the file looks like HTML and was read as that",
    }


def test_the_warning_about_the_name_comes_first():
    document = auto_parser().parse(b"<html><p>42</p><p hidden>1</p>", "a.xls")
    assert document.metadata.get_string("warnings").split("\n")[1] == "1 hidden passage skipped"


@pytest.mark.parametrize(
    "name",
    ["файл.txt", "長" * 100 + ".txt", ".hidden.txt", "-rf.txt", "a  \u202eb.txt ", "a\x00b.txt", "no suffix", ""],
)
def test_a46_any_name_does(name):
    document = auto_parser().parse(b"text", name)
    shown = document.metadata.get_string("file_name")
    assert document.text == "text"
    assert shown and not any(char in shown for char in "\u202e\x00\n")


def test_a46_a_name_in_any_script_is_shown_as_it_is():
    assert auto_parser().parse(b"text", "файл.txt").metadata.get_string("file_name") == "файл.txt"


def test_a_kind_without_a_parser_says_what_it_is():
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("[Content_Types].xml", "ppt/presentation.xml"):
            archive.writestr(name, "<x/>")
    with pytest.raises(UnsupportedFileError, match=r"^'a.pptx' is a PowerPoint presentation, which is not read here"):
        auto_parser().parse(out.getvalue(), "a.pptx")


@pytest.mark.parametrize("xml", ['<?xml version="1.0"?><!DOCTYPE a SYSTEM "x"><a/>', '<svg>\n<!ENTITY x "y"></svg>'])
def test_g04_xml_with_a_document_type_is_refused(xml):
    with pytest.raises(DocumentError, match=r"^'a.xml' holds an XML document type \(DOCTYPE\)"):
        auto_parser().parse(xml.encode(), "a.xml")


@pytest.mark.parametrize("name", PARSERS)
def test_every_parser_has_its_name_and_one_line_about_itself(name):
    parser = PARSERS[name]()
    assert parser.name == name
    assert inspect.getdoc(parser).split("\n")[0].endswith(".")


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("data", [b"\x00\x01\x02", b" \n", b"<", b"--"])
def test_every_parser_gives_one_sentence_with_the_files_name(name, data):
    with pytest.raises(DocumentError) as raised:
        PARSERS[name]().parse(data, "a.dat")
    assert str(raised.value).startswith("'a.dat' ")
    assert "\n" not in str(raised.value)
    assert raised.value.file_name == "a.dat"
