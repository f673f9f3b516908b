import io
import re
import zipfile

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from core.domain import Mark
from core.errors import DocumentError
from core.parsers.docx.parser import DocxParser

NS = nsdecls("w")
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def saved(document) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def parse(document):
    return DocxParser().parse(document if isinstance(document, bytes) else saved(document), "a.docx")


def body(xml: str) -> bytes:
    """A document with this body and nothing else."""
    document = docx.Document()
    for child in parse_xml(
        f'<w:body {NS} xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">{xml}</w:body>'
    ):
        document.element.body.insert(len(document.element.body) - 1, child)
    return saved(document)


def replaced(data: bytes, changes: dict[str, tuple[str, str]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name in changes:
                content = re.sub(
                    changes[name][0], lambda _, to=changes[name][1]: to, content.decode(), count=1
                ).encode()
            new.writestr(name, content)
    return out.getvalue()


def test_a27_a_document_of_tables_only():
    document = docx.Document()
    document.add_table(1, 1).cell(0, 0).text = "ONLY IN TABLE 5150"
    assert parse(document).text == "ONLY IN TABLE 5150"


def test_a27_tables_stand_in_body_order():
    document = docx.Document()
    document.add_paragraph("Before")
    table = document.add_table(2, 2)
    for index, text in enumerate(["Part", "Max", "X|1", "40"]):
        table.cell(index // 2, index % 2).text = text
    document.add_paragraph("After")
    parsed = parse(document)
    assert parsed.text == "Before\n\n| Part | Max |\n| --- | --- |\n| X\\|1 | 40 |\n\nAfter"
    assert parsed.marks == (Mark(8, 50, "table", "| Part | Max |"),)


def test_a28_text_boxes_headers_footers_and_content_controls_once():
    box = (
        '<w:p><w:r><w:t>Host</w:t></w:r><w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/'
        'markup-compatibility/2006"><mc:Choice Requires="wps"><w:txbxContent><w:p><w:r><w:t>TEXTBOXWORD</w:t></w:r>'
        "</w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>TEXTBOXWORD</w:t></w:r></w:p>"
        "</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    control = "<w:sdt><w:sdtContent><w:p><w:r><w:t>SDT</w:t></w:r><w:sdt><w:sdtContent><w:r><w:t>WORD</w:t></w:r>"
    data = body(box + control + "</w:sdtContent></w:sdt></w:p></w:sdtContent></w:sdt>")
    document = docx.Document(io.BytesIO(data))
    document.sections[0].header.paragraphs[0].text = "HEADERWORD"
    document.sections[0].footer.paragraphs[0].text = "FOOTERWORD"
    parsed = parse(document)
    assert parsed.text == "HEADERWORD\n\nHost\n\nTEXTBOXWORD\n\nSDTWORD\n\nFOOTERWORD"
    assert [(mark.kind, mark.value) for mark in parsed.marks] == [("part", "header"), ("part", "footer")]


def test_a30_merged_cells_stand_once():
    document = docx.Document()
    table = document.add_table(3, 3)
    table.cell(0, 0).merge(table.cell(0, 2)).text = "MERGEDCELL"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "DOWN"
    table.cell(1, 1).text, table.cell(2, 2).text = "a", "b"
    assert parse(document).text == "| MERGEDCELL |  |  |\n| --- | --- | --- |\n| DOWN | a |  |\n|  |  | b |"


def test_nested_tables_stay_in_their_cell():
    document = docx.Document()
    table = document.add_table(1, 2)
    table.cell(0, 0).text = "X1"
    inner = table.cell(0, 1).add_table(2, 2)
    for index, text in enumerate(["max", "40", "min", "5"]):
        inner.cell(index // 2, index % 2).text = text
    assert parse(document).text.startswith("| X1 | max 40; min 5 |")


def test_headings_have_their_path():
    document = docx.Document()
    document.add_heading("Manual", 0)
    document.add_heading("Install", 1)
    document.add_paragraph("Do it.")
    document.add_heading("Linux", 2)
    document.add_heading("Use", 1)
    headings = [mark.value for mark in parse(document).marks if mark.kind == "heading"]
    assert headings == ["Manual", "Manual > Install", "Manual > Install > Linux", "Manual > Use"]


def test_list_numbers_are_counted():
    document = docx.Document()
    for text, style in (("a", "List Number"), ("b", "List Number"), ("x", "List Bullet"), ("c", "List Number")):
        document.add_paragraph(text, style)
    assert parse(document).text == "1. a\n2. b\n- x\n3. c"


def test_notes_and_comments_stand_behind_their_paragraph():
    document = docx.Document()
    run = document.add_paragraph("Price 100").runs[0]
    document.add_comment(run, text="Check this", author="Ann")
    document.add_paragraph("End")
    parsed = parse(document)
    assert parsed.text == "Price 100\n\n[Comment by Ann] Check this\n\nEnd"
    assert [(mark.kind, mark.value) for mark in parsed.marks] == [("part", "comment")]


def test_tracked_changes_are_read_as_accepted():
    data = body(
        "<w:p><w:r><w:t>Now </w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>"
    )
    parsed = parse(data)
    assert parsed.text == "Now new"
    assert parsed.metadata.get_string("warnings") == "tracked changes were read as if they were accepted"


def test_e08_hidden_text_is_left_out_and_counted():
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>say 1</w:t></w:r>"
    shown = '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>100</w:t></w:r>'
    parsed = parse(body(f"<w:p><w:r><w:t>Price </w:t></w:r>{hidden}{shown}</w:p>"))
    assert parsed.text == "Price 100"
    assert parsed.metadata.get_string("warnings") == "1 hidden passage skipped"


def test_ruby_tabs_breaks_and_formulas():
    ruby = "<w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東</w:t></w:r></w:rubyBase></w:ruby>"
    power = "<m:sSup><m:e><m:r><m:t>r</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
    parsed = parse(
        body(
            f"<w:p><w:r>{ruby}<w:t>京</w:t><w:tab/><w:t>a</w:t><w:br/><w:t>b</w:t></w:r></w:p>"
            f"<w:p><m:oMath><m:r><m:t>A=π</m:t></m:r>{power}</m:oMath></w:p>"
        )
    )
    assert parsed.text == "東京\ta\nb\n\nA=πr^2"


@pytest.mark.parametrize(
    ("between", "text"),
    [
        ("<w:noBreakHyphen/>", "day-to-day"),
        ("<w:t>\u2011</w:t>", "day\u2011to\u2011day"),
        ("<w:softHyphen/>", "daytoday"),  # seen only where a line ends
        ("<w:tab/>", "day\tto\tday"),
        ("<w:ptab/>", "day\tto\tday"),
        ("<w:br/>", "day\nto\nday"),
        ('<w:br w:type="page"/>', "day\nto\nday"),
        ("<w:cr/>", "day\nto\nday"),
        ('<w:sym w:font="Symbol" w:char="2014"/>', "day—to—day"),
    ],
)
def test_signs_that_stand_between_texts(between, text):
    words = between.join(f"<w:t>{word}</w:t>" for word in ("day", "to", "day"))
    assert parse(body(f"<w:p><w:r>{words}</w:r></w:p>")).text == text


def test_a_strict_document_is_read():
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    document = docx.Document()
    document.add_paragraph("Strictly")
    assert parse(replaced(saved(document), {"word/document.xml": (re.escape(W), strict)})).text == "Strictly"


@pytest.mark.parametrize(
    "entity",
    ['<!DOCTYPE x [<!ENTITY s SYSTEM "file:///etc/passwd">]>', '<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;">]>'],
)
def test_g04_a_document_type_is_refused(entity):
    document = docx.Document()
    document.add_paragraph("Text")
    data = replaced(saved(document), {"word/document.xml": (r"\?>", "?>" + entity)})
    with pytest.raises(
        DocumentError, match=r"^'a.docx' holds an XML document type \(DOCTYPE\) in its part document.xml"
    ):
        parse(data)


def test_g04_a_zip_bomb_is_refused_before_it_is_unpacked():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("word/document.xml", b"\0" * 60_000_000)
    with pytest.raises(DocumentError, match=r"^'a.docx' unpacks to 60 MB, far more than such a file needs"):
        parse(out.getvalue())


def test_damaged_packages_say_so():
    data = saved(docx.Document())
    for broken in (
        replaced(data, {"word/document.xml": ("<w:body>", "<w:body")}),
        replaced(data, {"_rels/.rels": ("relationships/officeDocument", "relationships/nothing")}),
        data[: len(data) // 2],
    ):
        with pytest.raises(DocumentError, match=r"^'a.docx' is damaged"):
            parse(broken)


def test_an_empty_document_is_no_success():
    with pytest.raises(DocumentError, match=r"^'a.docx' holds no text; if it holds pictures of text"):
        parse(docx.Document())
