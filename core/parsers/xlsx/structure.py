"""What a sheet's XML says beside its values: merged cells, hidden rows, formulas, comments."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import NamedTuple

from core.parsers.office_package import OfficePackage

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
# A merge over a whole column is a matter of looks.
_MAX_FILLED_CELLS = 10_000


class SheetEntry(NamedTuple):
    name: str
    part: str
    is_hidden: bool


@dataclass
class Structure:
    """Cells by (row, column), both from 1. `filled`: cells under a merged label -> the label's cell."""

    filled: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    uncalculated: dict[tuple[int, int], str] = field(default_factory=dict)
    hidden_rows: int = 0
    comments: list[tuple[str, str]] = field(default_factory=list)


def sheet_entries(package: OfficePackage) -> list[SheetEntry]:
    """Worksheets in the order of their tabs; chart sheets have no cells and aren't among them."""
    main = package.main_part()
    related = package.relationships(main)
    entries = []
    for sheet in package.xml(main).iter(f"{_S}sheet"):
        kind, part = related.get(sheet.get(f"{_R}id", ""), ("", ""))
        if kind == "worksheet" and part in package.names:
            entries.append(SheetEntry(sheet.get("name", ""), part, sheet.get("state", "visible") != "visible"))
    return entries


def read_structure(package: OfficePackage, part: str) -> Structure:
    """One pass over the sheet, in bounded memory."""
    from lxml import etree
    from openpyxl.utils.cell import coordinate_to_tuple, range_boundaries

    structure = Structure()
    shared: dict[str, str] = {}
    wanted = [f"{_S}{name}" for name in ("c", "row", "mergeCell")]
    try:
        for _, element in etree.iterparse(
            io.BytesIO(package.read(part) or b""), tag=wanted, resolve_entities=False, no_network=True, load_dtd=False
        ):
            if element.tag == wanted[0]:
                formula = element.find(f"{_S}f")
                if formula is not None:
                    text = formula.text or shared.get(formula.get("si", ""), "")
                    shared.setdefault(formula.get("si", ""), text)
                    if not element.findtext(f"{_S}v"):
                        structure.uncalculated[coordinate_to_tuple(element.get("r"))] = f"={text}"
                continue
            if element.tag == wanted[1]:
                structure.hidden_rows += element.get("hidden") in ("1", "true")
            else:
                _fill(structure, range_boundaries(element.get("ref")))
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
    except (etree.XMLSyntaxError, ValueError, TypeError):
        raise package.damaged() from None
    structure.comments = _comments(package, part)
    return structure


def _fill(structure: Structure, bounds: tuple[int, int, int, int]) -> None:
    left, top, _, bottom = bounds
    # Only downwards: a label over three columns says nothing more three times.
    if bottom - top < _MAX_FILLED_CELLS:
        for row in range(top + 1, bottom + 1):
            structure.filled[row, left] = (top, left)


def _comments(package: OfficePackage, part: str) -> list[tuple[str, str]]:
    found = []
    for target in package.related(part, "comments"):
        root = package.xml(target)
        for comment in root.iter(f"{_S}comment") if root is not None else ():
            text = " ".join("".join(node.text or "" for node in comment.iter(f"{_S}t")).split())
            if text:
                found.append((comment.get("ref", ""), text))
    return found
