"""Excel workbooks (.xlsx): each row a line of `name: value` under its sheet. Values as last calculated by Excel.

Hidden sheets, rows and columns are read as well (filters hide rows), and the warnings say how many. Formulas that were
never calculated are kept as text with the remark "(not calculated)". Not read: charts, pictures, pivot caches, macros.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator

from core.domain import Document
from core.parsers.office_package import OfficePackage
from core.parsers.outcome import finished
from core.parsers.rows import append_row, looks_like_header, row_line
from core.parsers.xlsx.cells import cell_text
from core.parsers.xlsx.structure import Structure, read_structure, sheet_entries
from core.text.builder import TextBuilder

_DEFAULT_NAMES = ("Sheet", "Tabelle", "Feuil", "Hoja", "Foglio", "Blad", "シート", "工作表")

# What openpyxl raises where a part is broken or contradicts another; each was seen.
_BROKEN = (zipfile.BadZipFile, OSError, LookupError, ValueError, TypeError, AttributeError, SyntaxError)

Row = tuple[int, list[str]]


class XlsxParser:
    """Excel workbooks: each row a line of `name: value`, marked with its sheet and number."""

    name = "xlsx"

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        package = OfficePackage(data, file_name)
        entries = sheet_entries(package)
        builder, hidden_sheets, hidden_rows, uncalculated = TextBuilder(), 0, 0, 0
        workbook = _open(data, package)
        try:
            for entry in entries:
                structure = read_structure(package, entry.part)
                before = len(builder)
                _write_sheet(builder, entry.name, workbook[entry.name], structure, titled=len(entries) > 1)
                hidden_sheets += entry.is_hidden and len(builder) > before
                hidden_rows += structure.hidden_rows
                uncalculated += len(structure.uncalculated)
        except _BROKEN:
            raise package.damaged() from None
        finally:
            workbook.close()
        return finished(
            builder,
            file_name,
            warnings=[
                _counted(hidden_sheets, "hidden sheet", "included"),
                _counted(hidden_rows, "hidden row", "included"),
                _counted(uncalculated, "formula", "never calculated: open the workbook in Excel and save it once"),
            ],
            otherwise="only cells are read, no charts or pictures",
            title=package.title(),
        )


def _open(data: bytes, package: OfficePackage):
    import openpyxl

    try:
        with warnings.catch_warnings():
            # Unknown extensions, missing default styles: nothing that concerns values.
            warnings.simplefilter("ignore")
            return openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    except _BROKEN:
        raise package.damaged() from None


def _write_sheet(builder: TextBuilder, name: str, sheet, structure: Structure, *, titled: bool) -> None:
    rows = _rows(sheet, structure)
    first = next(rows, None)
    if first is None and not structure.comments:
        return
    if titled or name.rstrip("0123456789 ") not in _DEFAULT_NAMES:
        builder.heading(1, name)
    with builder.mark("sheet", name):
        if first is not None:
            _write_rows(builder, _chain(first, rows))
        for place, text in structure.comments:
            builder.new_line()
            with builder.mark("part", "comment"):
                builder.append(f"Comment on {place}: {text}")
        builder.new_paragraph()


def _chain(first: Row, rest: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rest


def _write_rows(builder: TextBuilder, rows: Iterator[Row]) -> None:
    """Blocks of rows, apart by blank rows, each with its own header if its first rows look like one."""
    block: list[Row] = []
    header: list[str] | None = None
    last = 0
    for number, cells in rows:
        if block and number > last + 1:
            header = _write_block(builder, block, header)
            block = []
        block.append((number, cells))
        last = number
    _write_block(builder, block, header)


def _write_block(builder: TextBuilder, block: list[Row], header: list[str] | None) -> list[str] | None:
    """Returns the header for a next block that has none of its own."""
    texts = [cells for _, cells in block]
    at = next(
        (
            index
            for index in range(min(5, len(block)))
            if sum(bool(cell) for cell in texts[index]) > 1
            and looks_like_header(texts[index], texts[index + 1 : index + 11])
        ),
        None,
    )
    # A block of one row is a title or a total, not a header without a table.
    has_header = at is not None and len(block) > at + 1
    for index, (number, cells) in enumerate(block):
        if has_header and index <= at:
            append_row(builder, number, row_line(None, cells))
        else:
            append_row(builder, number, row_line(texts[at] if has_header else header, cells))
    return texts[at] if has_header else header


def _rows(sheet, structure: Structure) -> Iterator[Row]:
    """Rows that hold something: number and cell texts, merged labels filled in."""
    sheet.reset_dimensions()  # some programs write a wrong size, and openpyxl would believe it
    labels = dict.fromkeys(structure.filled.values(), "")
    for number, row in enumerate(sheet.iter_rows(), start=1):
        texts = [cell_text(cell.value, getattr(cell, "number_format", "")) for cell in row]
        _complete(texts, number, structure, labels)
        if any(texts):
            yield number, texts


def _complete(texts: list[str], number: int, structure: Structure, labels: dict[tuple[int, int], str]) -> None:
    for column in range(1, len(texts) + 1):
        place = (number, column)
        if place in structure.uncalculated and not texts[column - 1]:
            texts[column - 1] = f"{structure.uncalculated[place]} (not calculated)"
        if place in labels:
            labels[place] = texts[column - 1]
        elif place in structure.filled and not texts[column - 1]:
            texts[column - 1] = labels[structure.filled[place]]


def _counted(count: int, what: str, then: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'} {then}" if count else ""
