import datetime
import io
import zipfile

import openpyxl
import pytest
from openpyxl.comments import Comment

from core.errors import DocumentError
from core.parsers.xlsx.cells import cell_text
from core.parsers.xlsx.parser import XlsxParser


def saved(workbook) -> bytes:
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def sheet(*rows, title="Sheet"):
    workbook = openpyxl.Workbook()
    workbook.active.title = title
    for row in rows:
        workbook.active.append(row)
    return workbook


def parse(workbook):
    return XlsxParser().parse(workbook if isinstance(workbook, bytes) else saved(workbook), "a.xlsx")


def test_rows_explain_themselves_and_are_marked():
    document = parse(sheet(["Item", "EUR"], ["Tea", 2], [], ["Cake", 3.5], title="Budget"))
    assert document.text == "Budget\n\nItem, EUR\nItem: Tea, EUR: 2\nItem: Cake, EUR: 3.5"
    assert [(mark.value, document.text[mark.start : mark.end]) for mark in document.marks if mark.kind == "rows"] == [
        (1, "Item, EUR"),
        (2, "Item: Tea, EUR: 2"),
        (4, "Item: Cake, EUR: 3.5"),
    ]
    assert [mark.value for mark in document.marks if mark.kind in ("sheet", "heading")] == ["Budget", "Budget"]


def test_a31_a_formula_that_was_never_calculated_is_kept_and_said():
    document = parse(sheet(["Item", "EUR"], ["Total", "=SUM(B3:B4)"], ["a", 2], ["b", 3]))
    assert "Item: Total, EUR: =SUM(B3:B4) (not calculated)" in document.text
    assert "1 formula never calculated" in document.metadata.get_string("warnings")


def test_a31_the_calculated_value_is_preferred():
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(saved(sheet(["Item", "EUR"], ["Total", "=2+3"])))) as old,
        zipfile.ZipFile(out, "w") as new,
    ):
        for name in old.namelist():
            content = (
                old.read(name)
                .replace(b"<f>2+3</f><v></v>", b"<f>2+3</f><v>5</v>")
                .replace(b"<f>2+3</f><v />", b"<f>2+3</f><v>5</v>")
            )
            new.writestr(name, content)
    document = parse(out.getvalue())
    assert document.text.split("\n")[-1] == "Item: Total, EUR: 5"
    assert not document.metadata.contains_key("warnings")


def test_a32_rows_under_a_merged_label_keep_it():
    workbook = sheet(["Where", "Code"], ["Region", "n"], [None, "s"], [None, "e"])
    workbook.active.merge_cells("A2:A4")
    assert parse(workbook).text.split("\n")[1:] == [f"Where: Region, Code: {code}" for code in "nse"]


def test_a32_a_label_over_columns_stands_once():
    workbook = sheet(["Plan", None, None], ["a", "b", "c"], ["1", "2", "3"])
    workbook.active.merge_cells("A1:C1")
    assert parse(workbook).text == "Plan\na, b, c\na: 1, b: 2, c: 3"


def test_a33_dates_and_percentages_as_people_see_them():
    workbook = sheet(["Due", "Rate"], [datetime.datetime(2031, 3, 4), 0.075])
    workbook.active["B2"].number_format = "0.0%"
    assert parse(workbook).text.split("\n")[-1] == "Due: 2031-03-04, Rate: 7.5%"


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (None, "General", ""),
        (True, "General", "TRUE"),
        (0.1 + 0.2, "General", "0.3"),
        (4400.0, "0.00", "4400"),
        (0.5, "0%", "50%"),
        (7, '0" % of all"', "7"),
        (datetime.datetime(2031, 3, 4, 5, 6), "", "2031-03-04 05:06:00"),
        (datetime.time(9, 30), "", "09:30:00"),
        (datetime.timedelta(hours=30), "", "1 day, 6:00:00"),
        (12345678901234567890, "0", "12345678901234567890"),
    ],
)
def test_a33_values(value, number_format, text):
    assert cell_text(value, number_format) == text


def test_a35_hidden_sheets_and_rows_are_included_and_said():
    workbook = sheet(["Shown", "x"], ["hidden row", "y"], title="Main")
    workbook.active.row_dimensions[2].hidden = True
    secret = workbook.create_sheet("Secret")
    secret.append(["HIDDENSHEETWORD"])
    secret.sheet_state = "veryHidden"
    document = parse(workbook)
    assert "hidden row" in document.text
    assert document.text.endswith("Secret\n\nHIDDENSHEETWORD")
    assert document.metadata.get_string("warnings") == "1 hidden sheet included\n1 hidden row included"


def test_comments_stand_under_their_sheet():
    workbook = sheet(["a", "b"], ["1", "2"])
    workbook.active["B2"].comment = Comment("Why two?", "Ann")
    assert parse(workbook).text.endswith("\nComment on B2: Why two?")


def test_a_cell_far_away_takes_no_memory_for_the_cells_between():
    workbook = sheet(["a", "b"], ["1", "2"])
    workbook.active["XFD1048576"] = "far"
    assert parse(workbook).text.endswith("far")


def test_g04_a_document_type_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(sheet(["a"])))) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content = b'<!DOCTYPE x [<!ENTITY s SYSTEM "file:///etc/passwd">]>' + content
            new.writestr(name, content)
    with pytest.raises(DocumentError, match=r"DOCTYPE\) in its part sheet1.xml"):
        parse(out.getvalue())


def test_an_empty_workbook_is_no_success():
    with pytest.raises(DocumentError, match=r"^'a.xlsx' holds no text; only cells are read"):
        parse(openpyxl.Workbook())
