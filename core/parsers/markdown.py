"""Markdown: the source as it is written, with its headings, code and tables marked.

Follows CommonMark where it decides what is a heading: "#" in fenced or indented code, or in a comment, isn't one. The
front matter goes into the metadata, HTML comments go out, entities and backslash escapes are resolved outside code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Literal

from core.domain import Document
from core.parsers.front_matter import split_front_matter
from core.parsers.outcome import finished
from core.text.builder import TextBuilder
from core.text.clean import clean
from core.text.encoding import decode

_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([^`\s]*)[^`]*$|\s*(~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = re.compile(r"\s*$| {4}|\t| {0,3}(?:[-*+>|]|\d+[.)])(?:\s|$)| {0,3}[>|#]")
_DELIMITER_ROW = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_ESCAPE = re.compile(r"\\([!-/:-@\[\]^_`{}~])")
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`+|<[^<>]+>|\{#[\w-]+\}$")
_MAX_HEADING_CHARS = 500

Block = tuple[Literal["heading", "code", "table", "text", "comment"], list[str], str | int]


class MarkdownParser:
    """Markdown source with headings, code blocks and tables marked."""

    name = "markdown"

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        decoded = decode(data)
        facts, lines = split_front_matter(clean(decoded.text).split("\n"))
        builder, notes, comments = TextBuilder(), list(decoded.warnings), 0
        for kind, block, value in _blocks(lines):
            comments += kind == "comment"
            if kind == "heading":
                title = heading_title(block[0])
                builder.begin_section(int(value), title)
                facts.setdefault("title", title)
            if kind in ("code", "table"):
                with builder.mark(kind, str(value)):
                    builder.append("\n".join(block) if kind == "code" else _resolved(block))
                builder.append("\n")
            elif kind != "comment":
                builder.append(_resolved(block) + "\n")
        if comments:
            notes.append(f"{comments} hidden {'passage' if comments == 1 else 'passages'} skipped")
        return finished(builder, file_name, warnings=notes, encoding=decoded.encoding, **facts)


def heading_title(line: str) -> str:
    match = _ATX.match(line)
    text = (match.group(2) or "") if match else line
    # A heading without words still opens a section of its own.
    return " ".join(_MARKUP.sub(r"\1", _resolved([text])).split()) or "#"


def _resolved(lines: list[str]) -> str:
    return "\n".join(_ESCAPE.sub(r"\1", html.unescape(line)) for line in lines)


def _blocks(lines: list[str]) -> Iterator[Block]:
    """Every line once, in order, in blocks; `value` is the level, the language or the header row."""
    at = 0
    while at < len(lines):
        line = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if match := _FENCE.match(line):
            end = _fence_end(lines, at, match.group(1) or match.group(3))
            yield "code", lines[at:end], match.group(2) or ""
        elif line.lstrip().startswith("<!--"):
            end = next((i + 1 for i in range(at, len(lines)) if "-->" in lines[i]), len(lines))
            yield "comment", lines[at:end], ""
        elif len(line) <= _MAX_HEADING_CHARS and (match := _ATX.match(line)):
            end = at + 1
            yield "heading", [line], len(match.group(1))
        elif "|" in line and "|" in following and "-" in following and _DELIMITER_ROW.match(following):
            end = next((i for i in range(at + 2, len(lines)) if "|" not in lines[i]), len(lines))
            yield "table", lines[at:end], line.strip()
        elif len(line) <= _MAX_HEADING_CHARS and not _NOT_PARAGRAPH.match(line) and (match := _SETEXT.match(following)):
            end = at + 2
            yield "heading", lines[at:end], 1 if match.group(1)[0] == "=" else 2
        else:
            end = at + 1
            yield "text", [line], ""
        at = end


def _fence_end(lines: list[str], start: int, fence: str) -> int:
    """The line after the closing fence (same sign, at least as long, nothing behind it), or the end of the text."""
    closing = re.compile(rf"\s*{re.escape(fence[0])}{{{len(fence)},}}\s*$")
    return next((i + 1 for i in range(start + 1, len(lines)) if closing.match(lines[i])), len(lines))
