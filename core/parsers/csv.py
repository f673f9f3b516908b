"""CSV and TSV: any usual delimiter, found by trying which one gives even rows. A cell keeps its text: 3,5 stays 3,5."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator

from core.domain import Document
from core.parsers.outcome import finished
from core.parsers.rows import append_row, looks_like_header, row_line
from core.text.builder import TextBuilder
from core.text.clean import clean
from core.text.encoding import decode

_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE_CHARS = 100_000
_SAMPLE_ROWS = 100
_EXCEL_HINT = re.compile(r"sep=(.)\n")
# A cell of this many lines is a quote that somebody forgot to close.
_MOST_LINES_IN_CELL = 1000


class CsvParser:
    """CSV and TSV: each row a line of `name: value`, marked with its number."""

    name = "csv"

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        decoded = decode(data)
        text, notes = clean(decoded.text), list(decoded.warnings)
        first = 1
        if hint := _EXCEL_HINT.match(text):
            delimiter, text, first = hint.group(1), text[hint.end() :], 2
        else:
            delimiter = find_delimiter(text)
        quoting = csv.QUOTE_MINIMAL
        if _has_open_quote(text, delimiter):
            quoting = csv.QUOTE_NONE
            notes.append("a quotation mark is never closed, so quotation marks were read as plain characters")
        builder = TextBuilder()
        _write(builder, _rows(text, delimiter, quoting), first)
        return finished(builder, file_name, warnings=notes, encoding=decoded.encoding)


def _write(builder: TextBuilder, rows: Iterator[list[str]], first: int) -> None:
    header: list[str] | None = None
    ahead: list[list[str]] = []
    for row in rows:
        ahead.append(row)
        if len(ahead) > 10:
            break
    if ahead and looks_like_header(ahead[0], ahead[1:]):
        header = ahead[0]
        append_row(builder, first, ", ".join(filter(None, (" ".join(cell.split()) for cell in header))))
        ahead, first = ahead[1:], first + 1
    for number, row in enumerate(_chain(ahead, rows), start=first):
        append_row(builder, number, row_line(header, row))


def _chain(ahead: list[list[str]], rest: Iterator[list[str]]) -> Iterator[list[str]]:
    yield from ahead
    yield from rest


def find_delimiter(text: str) -> str | None:
    """The delimiter that splits most rows into the same number of cells, two or more; None for a single column."""
    sample = text[:_SAMPLE_CHARS]
    if len(sample) < len(text):
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, best_score = None, 0.0
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in _rows(sample, delimiter, csv.QUOTE_MINIMAL) if any(row)][:_SAMPLE_ROWS]
        if not widths or (delimiter == "," and _is_prose(sample, widths)):
            continue
        width, count = Counter(widths).most_common(1)[0]
        # The header decides where there is little else: "sensor;value" holds no comma, "3,5" does.
        score = count / len(widths) - (0.5 if widths[0] == 1 else 0.1 if widths[0] < width else 0.0)
        if width > 1 and score > best_score + 0.01:
            best, best_score = delimiter, score
    return best if best_score > 0.4 else None


def _is_prose(sample: str, widths: list[int]) -> bool:
    """One column of sentences or names: nearly each comma has a space behind it, and the header has none."""
    commas = sample.count(",")
    return widths[0] == 1 and sample.count(", ") > 0.8 * commas


def _has_open_quote(text: str, delimiter: str | None) -> bool:
    if any(cell.count("\n") > _MOST_LINES_IN_CELL for row in _rows(text, delimiter, csv.QUOTE_MINIMAL) for cell in row):
        return True
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or ",", strict=True):
            pass
    except csv.Error as error:
        return "end of data" in str(error)
    return False


def _rows(text: str, delimiter: str | None, quoting: int) -> Iterator[list[str]]:
    if delimiter is None:
        yield from ([line.removeprefix('"').removesuffix('"')] for line in text.split("\n"))
        return
    # The limit is the module's, not the reader's; it only guards against what clean text can't do.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting)
