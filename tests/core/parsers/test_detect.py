import io
import zipfile

import pytest

from core.errors import DocumentError, UnsupportedFileError
from core.parsers.detect import detect


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return out.getvalue()


def ole(*streams: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 504 + b"".join(name.encode("utf-16-le") for name in streams)


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"%PDF-1.7\n", "a.pdf", "pdf"),
        (b"junk\n%PDF-1.7\n", "no-suffix", "pdf"),
        (zipped("[Content_Types].xml", "word/document.xml"), "a.docx", "docx"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "a.bin", "xlsx"),
        (b"# Title", "a.MD", "markdown"),
        (b"a;b", "a.csv", "csv"),
        (b"a\tb", "a.tsv", "csv"),
        (b"<!-- x --><!DOCTYPE html><p>", "a.txt", "html"),
        ("<html><p>é".encode("utf-16"), "page", "html"),
        (b"<p>a</p>", "a.htm", "html"),
        (b"<?xml version='1.0'?><root/>", "a.xml", "xml"),
        (b"<?xml version='1.0'?><!DOCTYPE html><html>", "a.xml", "html"),
        (b"<?xml version='1.0'?><root/>", "config", "xml"),
        (b"print('<p>')", "a.py", "text"),
        (b"<p>${x}</p>", "a.vue", "text"),
        (b"plain", "LICENSE", "text"),
        (b"BMW and MZ are makes", "cars.txt", "text"),
        ("BMW, größer".encode("cp1252"), "cars.txt", "text"),
        ("日本語のテキスト".encode("iso2022_jp"), "mail.txt", "text"),
        ("text".encode("utf-32"), "a.txt", "text"),
        (b"\x1b[31mred\x1b[0m log line", "a.log", "text"),
        (b"ab\x00cd", "a.txt", "text"),
    ],
)
def test_the_kind_is_found_in_the_content(data, name, kind):
    assert detect(data, name) == (kind, "")


@pytest.mark.parametrize(
    ("data", "looks_like"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"RIFF\0\0\0\0WAVE", "a sound, video or WebP image"),
        (b"\0\0\0\x18ftypmp42", "a video, sound or HEIC image"),
        (b"\x1f\x8b\x08\0", "a gzip archive"),
        (b"MZ\x90\0\x03\0\0\0", "a Windows program"),
        (b"{\\rtf1 text}", "an RTF text"),
        (zipped("META-INF/container.xml"), "an EPUB book"),
        (zipped("content.xml", "META-INF/manifest.xml"), "an OpenDocument file"),
        (zipped("readme.txt"), "a zip archive"),
        (bytes(range(256)) * 20, "no text and no known document: it looks like binary data"),
    ],
)
def test_what_nothing_reads_is_named(data, looks_like):
    with pytest.raises(UnsupportedFileError) as raised:
        detect(data, "a.dat")
    assert str(raised.value) == (
        f"'a.dat' looks like {looks_like}; "
        "Footnote reads PDF, Word (.docx), Excel (.xlsx), CSV, HTML, Markdown and text"
    )


def test_a03_an_empty_file_says_so():
    with pytest.raises(DocumentError, match=r"^'a.pdf' is empty \(0 bytes\); save it again and add it once more$"):
        detect(b"", "a.pdf")


def test_a41_a_zip_archive_named_docx_is_refused_by_name():
    with pytest.raises(
        UnsupportedFileError, match=r"^'a.docx' looks like a zip archive although its name ends in .docx"
    ):
        detect(zipped("readme.txt"), "a.docx")


def test_a41_html_saved_as_xls_is_html_with_a_warning():
    data = b"<table><tr><td>42</td></tr></table>"
    assert detect(data, "a.xls") == ("html", "the name ends in .xls, but the file looks like HTML and was read as that")


def test_a41_a_document_named_otherwise_is_read_by_its_content():
    data = zipped("[Content_Types].xml", "word/document.xml")
    assert detect(data, "a.pdf")[0] == "docx"
    assert "looks like docx" in detect(data, "a.pdf").warning


def test_a01_an_encrypted_office_file_says_to_save_it_without_and_asks_for_no_password():
    with pytest.raises(UnsupportedFileError) as raised:
        detect(ole("EncryptionInfo", "EncryptedPackage"), "a.docx")
    assert raised.value.status == "failed"
    assert str(raised.value) == (
        "'a.docx' is an Office file encrypted with a password; open it in its program, save it without the password "
        "and add it again"
    )


@pytest.mark.parametrize(
    ("stream", "sentence"),
    [
        ("WordDocument", "'a.doc' is an old Word document (.doc); save it as .docx and add that"),
        ("Workbook", "'a.doc' is an old Excel workbook (.xls); save it as .xlsx and add that"),
        ("PowerPoint Document", "'a.doc' is an old PowerPoint presentation (.ppt); save it as .pptx and add that"),
        ("Other", "'a.doc' is an old Office file; save it as .docx, .xlsx or .pptx and add that"),
    ],
)
def test_old_office_files_say_what_to_do(stream, sentence):
    with pytest.raises(UnsupportedFileError) as raised:
        detect(ole(stream), "a.doc")
    assert str(raised.value) == sentence


def test_a_cut_off_office_file_is_damaged():
    with pytest.raises(DocumentError, match=r"^'a.docx' is damaged: it begins like an Office file or zip archive"):
        detect(zipped("[Content_Types].xml", "word/document.xml")[:60], "a.docx")


def test_a46_names_are_made_fit_to_be_shown():
    with pytest.raises(DocumentError, match=r"^'exe\.txt' is empty") as raised:
        detect(b"", "/tmp/\u202eexe.txt\x00 ")
    assert raised.value.file_name == "exe.txt"
