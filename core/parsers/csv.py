"""CSV and TSV: any usual delimiter, found by trying which one gives even rows. A cell keeps its text: 3,5 stays 3,5."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from core.domain import Document
from core.parsers.outcome import finished, metadata_of
from core.parsers.parts import PART_CHARS, DocumentPart, PartSeries, opened_text, text_state
from core.parsers.rows import append_row, looks_like_header, row_line
from core.text.builder import TextBuilder
from core.text.clean import clean
from core.text.encoding import decode
from core.text.file_lines import FileLines, FileText

_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE_CHARS = 100_000
_SAMPLE_ROWS = 100
_HEADER_ROWS = 11
_OPEN_QUOTE = "a quotation mark is never closed, so quotation marks were read as plain characters"
# Of one cell; a quote that is never closed would take the rest of the file into memory.
_LONGEST_CELL_CHARS = 32 << 20
_EXCEL_HINT = re.compile(r"sep=(.)\n")
# A cell of this many lines is a quote that somebody forgot to close.
_MOST_LINES_IN_CELL = 1000


class CsvParser:
    """CSV and TSV: each row a line of `name: value`, marked with its number."""

    name = "csv"

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        decoded = decode(data)
        text = clean(decoded.text)
        csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
        style = _style(text, lambda: io.StringIO(text, newline=""))
        builder = TextBuilder()
        rows = _rows(islice(io.StringIO(text, newline=""), style["hint_lines"], None), style)
        header, rows = _header(rows)
        first = style["hint_lines"] + 1
        if header is not None:
            append_row(builder, first, _header_line(header))
        for number, row in enumerate(rows, start=first + (header is not None)):
            append_row(builder, number, row_line(header, row))
        return finished(builder, file_name, warnings=[*decoded.warnings, *_notes(style)], encoding=decoded.encoding)

    def parts(
        self, path: Path, file_name: str = "", password: str | None = None, after: Mapping[str, Any] | None = None
    ) -> Iterator[DocumentPart]:
        series = PartSeries(file_name, after)
        with opened_text(path, after) as text:
            state = dict(after) if after else _begin(text)
            lines = FileLines(text, state["at"])
            style, header, number = state["style"], state["header"], state["row"]
            builder = TextBuilder(goes_on=after is not None)
            if after is None and header is not None:
                append_row(builder, number - 1, _header_line(header))
            at = lines.position
            for row in _rows(lines, style):
                if len(builder) >= PART_CHARS:
                    state = {**text_state(text), "at": at, "style": style, "header": header, "row": number}
                    document = builder.build(metadata_of(encoding=text.encoding.name), keep_end=True)
                    yield series.part(document, state, is_last=False, share=at[0] / text.size)
                    builder = TextBuilder(goes_on=True)
                append_row(builder, number, row_line(header, row))
                number, at = number + 1, lines.position
            document = builder.build(
                metadata_of(warnings=[*text.warnings, *_notes(style)], encoding=text.encoding.name)
            )
            yield series.part(document, {}, is_last=True, share=1.0)


def _begin(text: FileText) -> dict[str, Any]:
    """How the file is written and where its first row of values begins: what the parts of one file share."""
    sample, _ = text.stretch(text.encoding.start, 4 * _SAMPLE_CHARS)
    style = _style(sample, lambda: FileLines(text))
    lines = FileLines(text)
    rows = _rows(islice(lines, style["hint_lines"], None), style)
    first = next(rows, [])
    at = lines.position
    header, _ = _header(chain([first], rows))
    number = style["hint_lines"] + 1
    if header is None:
        at = FileLines(text).position if not style["hint_lines"] else [text.encoding.start, 1]
    return {"at": at, "style": style, "header": header, "row": number + (header is not None)}


def _style(sample: str, lines: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """delimiter (None: one column), quoted, and how many lines Excel's own hint takes: 0 or 1. Plain JSON."""
    hint = _EXCEL_HINT.match(sample)
    delimiter = hint.group(1) if hint else find_delimiter(sample)
    hint_lines = 1 if hint else 0
    quoted = not _has_open_quote(lambda: islice(iter(lines()), hint_lines, None), delimiter)
    return {"delimiter": delimiter, "quoted": quoted, "hint_lines": hint_lines}


def _notes(style: Mapping[str, Any]) -> list[str]:
    return [] if style["quoted"] else [_OPEN_QUOTE]


def _header(rows: Iterator[list[str]]) -> tuple[list[str] | None, Iterator[list[str]]]:
    """The names of the columns, where the first row holds such; and the rows of values."""
    ahead = list(islice(rows, _HEADER_ROWS))
    if ahead and looks_like_header(ahead[0], ahead[1:]):
        return ahead[0], chain(ahead[1:], rows)
    return None, chain(ahead, rows)


def _header_line(header: list[str]) -> str:
    return ", ".join(filter(None, (" ".join(cell.split()) for cell in header)))


def find_delimiter(text: str) -> str | None:
    """The delimiter that splits most rows into the same number of cells, two or more; None for a single column."""
    sample = text[:_SAMPLE_CHARS]
    if len(sample) < len(text):
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, best_score = None, 0.0
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in _rows_of(io.StringIO(sample, newline=""), delimiter) if any(row)][:_SAMPLE_ROWS]
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


def _has_open_quote(lines: Callable[[], Iterable[str]], delimiter: str | None) -> bool:
    try:
        if any(cell.count("\n") > _MOST_LINES_IN_CELL for row in _rows_of(lines(), delimiter) for cell in row):
            return True
        for _ in csv.reader(lines(), delimiter=delimiter or ",", strict=True):
            pass
    except csv.Error as error:
        return "end of data" in str(error) or "limit" in str(error)
    return False


def _rows(lines: Iterable[str], style: Mapping[str, Any]) -> Iterator[list[str]]:
    return _rows_of(lines, style["delimiter"], csv.QUOTE_MINIMAL if style["quoted"] else csv.QUOTE_NONE)


def _rows_of(lines: Iterable[str], delimiter: str | None, quoting: int = csv.QUOTE_MINIMAL) -> Iterator[list[str]]:
    if delimiter is None:
        yield from ([line.removesuffix("\n").removeprefix('"').removesuffix('"')] for line in lines)
        return
    # The limit is the module's, not the reader's.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL_CHARS))
    yield from csv.reader(lines, delimiter=delimiter, quoting=quoting)
