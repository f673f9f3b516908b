"""An answer's text as plain blocks and spans that a component builds from text nodes.

A small, closed part of Markdown: paragraphs, headings, lists, tables, fenced and inline code, bold, italic with `*`.
All else (HTML, links, images, `$`, `~`, `_`, `:emoji:`) stays as it was written, so nothing is ever loaded or run.

    blocks("Until **48 hours** before. [1]", source_count=1)
    [{"t": "p", "s": [{"x": "Until "}, {"x": "48 hours", "b": 1}, {"x": " before. "}, {"n": 1}]}]

A span is {"x": text, "b"/"i"/"c": 1 for bold, italic, code}, {"n": source number} or {"w": why a sentence is marked}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Span = dict[str, Any]
Block = dict[str, Any]
Line = tuple[int, str]  # its offset in the answer, its text without the line break

_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^(#{1,6})\s+(?=\S)")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|(\d{1,4})[.)])\s+(?=\S)")
_RULE = re.compile(r"^\s*\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?\s*)?$")
_INLINE = re.compile(
    r"(?P<code>`+)(?P<in_code>.+?)(?P=code)(?!`)"
    r"|\*\*(?=\S)(?P<bold>.+?)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?![\s*])(?P<italic>[^*\n]+?)(?<!\s)\*(?![\w*])"
    r"|\[(?P<number>\d{1,3})\]",
    re.DOTALL,
)


def blocks(text: str, *, sentences: Sequence[Mapping[str, Any]] = (), source_count: int = 0) -> list[Block]:
    """The answer in order; each sentence's marker or warning stands behind its last character."""
    return _Writer(text, _points(text, sentences, source_count), source_count).write()


def _points(text: str, sentences: Sequence[Mapping[str, Any]], source_count: int) -> list[tuple[int, Span]]:
    points: list[tuple[int, Span]] = []
    for sentence in sentences:
        start, end, support = sentence["start"], sentence["end"], sentence.get("support", "none")
        written = text[start:end].rstrip()
        number = sentence.get("source")
        if number and number <= source_count and f"[{number}]" not in text[start : end + 5]:
            points.append((start + len(written), {"n": number}))
        if support in ("weak", "not_supported"):
            points.append((start + len(written), {"w": support}))
    return sorted(points, key=lambda point: point[0])


class _Writer:
    def __init__(self, text: str, points: list[tuple[int, Span]], source_count: int) -> None:
        self._text, self._points, self._source_count = text, points, source_count
        self._next = 0

    def write(self) -> list[Block]:
        lines, offset = [], 0
        for line in self._text.split("\n"):
            lines.append((offset, line))
            offset += len(line) + 1
        found: list[Block] = []
        at = 0
        while at < len(lines):
            block, at = self._block(lines, at)
            if block:
                found.append(block)
        return found

    def _block(self, lines: list[Line], at: int) -> tuple[Block | None, int]:
        offset, line = lines[at]
        if not line.strip():
            return None, at + 1
        if fence := _FENCE.match(line):
            return self._code(lines, at, fence.group(1))
        if heading := _HEADING.match(line):
            return {"t": "h", "l": len(heading.group(1)), "s": self._spans([(offset, line)], heading.end())}, at + 1
        if item := _ITEM.match(line):
            end = _while(lines, at + 1, lambda text: text.startswith("  ") and not _starts_block(text))
            block: Block = {"t": "li", "d": len(item.group(1)) // 2, "s": self._spans(lines[at:end], item.end())}
            return block | ({"o": int(item.group(2))} if item.group(2) else {}), end
        if "|" in line and at + 1 < len(lines) and _RULE.match(lines[at + 1][1]):
            return self._table(lines, at)
        end = _while(lines, at + 1, lambda text: not _starts_block(text))
        return {"t": "p", "s": self._spans(lines[at:end])}, end

    def _code(self, lines: list[Line], at: int, fence: str) -> tuple[Block, int]:
        end = _while(lines, at + 1, lambda text: not text.strip().startswith(fence))
        self._flush(lines[end - 1][0] + len(lines[end - 1][1]), kept := [])
        block = {"t": "code", "x": "\n".join(line for _, line in lines[at + 1 : end])}
        return block | ({"s": kept} if kept else {}), min(end + 1, len(lines))

    def _table(self, lines: list[Line], at: int) -> tuple[Block, int]:
        end = _while(lines, at + 2, lambda text: "|" in text)
        rows = [self._cells(*lines[row]) for row in (at, *range(at + 2, end))]
        return {"t": "table", "r": rows}, end

    def _cells(self, offset: int, line: str) -> list[list[Span]]:
        start = len(line) - len(line.lstrip())
        cells, position = [], start + line[start:].startswith("|")
        for cell in line[position:].rstrip().removesuffix("|").split("|"):
            lead = len(cell) - len(cell.lstrip())
            cells.append(self._spans([(offset + position + lead, cell.strip())]))
            position += len(cell) + 1
        return cells

    def _spans(self, lines: Sequence[Line], skip: int = 0) -> list[Span]:
        """lines stand one after the other in the text; `skip` characters of the first are markup"""
        start, end = lines[0][0] + skip, lines[-1][0] + len(lines[-1][1])
        spans: list[Span] = []
        for piece in self._inline(start, end, {}):
            self._emit(*piece, spans)
        self._flush(end, spans)
        return _joined(spans)

    def _inline(self, start: int, end: int, style: Span) -> Iterator[tuple[int, int, Span]]:
        position = start
        for match in _INLINE.finditer(self._text, start, end):
            if match.start() < position:
                continue
            if match.group("number") and not 1 <= int(match.group("number")) <= self._source_count:
                continue
            if match.start() > position:
                yield position, match.start(), style
            if match.group("number"):
                yield match.start(), match.end(), {"n": int(match.group("number"))}
            elif match.group("in_code") is not None:
                yield *match.span("in_code"), {**style, "c": 1}
            elif match.group("bold") is not None:
                yield from self._inline(*match.span("bold"), {**style, "b": 1})
            else:
                yield from self._inline(*match.span("italic"), {**style, "i": 1})
            position = match.end()
        if position < end:
            yield position, end, style

    def _emit(self, start: int, end: int, style: Span, spans: list[Span]) -> None:
        if "n" in style:
            spans.append(dict(style))
            return self._flush(end, spans)
        self._flush(start, spans)
        while self._next < len(self._points) and self._points[self._next][0] <= end:
            offset = self._points[self._next][0]
            if offset > start:
                spans.append({"x": self._text[start:offset], **style})
            self._flush(offset, spans)
            start = offset
        if start < end:
            spans.append({"x": self._text[start:end], **style})
        return None

    def _flush(self, offset: int, spans: list[Span]) -> None:
        while self._next < len(self._points) and self._points[self._next][0] <= offset:
            spans.append(dict(self._points[self._next][1]))
            self._next += 1


def _starts_block(text: str) -> bool:
    return not text.strip() or bool(_FENCE.match(text) or _HEADING.match(text) or _ITEM.match(text))


def _while(lines: list[Line], at: int, wanted) -> int:
    while at < len(lines) and wanted(lines[at][1]):
        at += 1
    return at


def _joined(spans: list[Span]) -> list[Span]:
    """A sentence's own marker once: a number that follows the same number says nothing new."""
    kept: list[Span] = []
    for span in spans:
        if not (kept and "n" in span and kept[-1].get("n") == span["n"]):
            kept.append(span)
    return kept
