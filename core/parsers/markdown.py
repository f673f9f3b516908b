"""Markdown: the source as it is written, with its headings, code and tables marked.

Follows CommonMark where it decides what is a heading: "#" in fenced or indented code, or in a comment, isn't one. The
front matter goes into the metadata, HTML comments go out, entities and backslash escapes are resolved outside code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from core.domain import Document
from core.parsers.front_matter import split_front_matter
from core.parsers.outcome import finished, metadata_of
from core.parsers.parts import PART_CHARS, DocumentPart, PartSeries, opened_text, text_state
from core.text.builder import TextBuilder
from core.text.clean import clean
from core.text.encoding import decode
from core.text.file_lines import FileLines

_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([^`\s]*)[^`]*$|\s*(~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = re.compile(r"\s*$| {4}|\t| {0,3}(?:[-*+>|]|\d+[.)])(?:\s|$)| {0,3}[>|#]")
_DELIMITER_ROW = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_ESCAPE = re.compile(r"\\([!-/:-@\[\]^_`{}~])")
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`+|<[^<>]+>|\{#[\w-]+\}$")
_COMMENT_END = re.compile("-->")
_MAX_HEADING_CHARS = 500

Block = tuple[Literal["heading", "code", "table", "text", "comment"], list[str], str | int]


class MarkdownParser:
    """Markdown source with headings, code blocks and tables marked."""

    name = "markdown"

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        decoded = decode(data)
        facts, lines = split_front_matter(clean(decoded.text).split("\n"))
        builder = TextBuilder()
        comments = _write(builder, lines, facts)
        notes = [*decoded.warnings, _comments_note(comments)]
        return finished(builder, file_name, warnings=notes, encoding=decoded.encoding, **facts)

    def parts(
        self, path: Path, file_name: str = "", password: str | None = None, after: Mapping[str, Any] | None = None
    ) -> Iterator[DocumentPart]:
        series = PartSeries(file_name, after)
        with opened_text(path, after) as text:
            state = dict(after) if after else {"at": None, "facts": {}, "comments": 0, "path": []}
            lines, facts, comments, path_ = (
                FileLines(text, state["at"]),
                state["facts"],
                state["comments"],
                state["path"],
            )
            source = iter(lines)
            is_last = False
            while not is_last:
                own, is_last = _next_lines(source)
                if series.number == 0:
                    facts, own = split_front_matter(own)
                # Facts of the whole document are those that its first part holds.
                found = dict(facts)
                builder = TextBuilder(path=path_)
                comments += _write(builder, own, found)
                facts, path_ = found if series.number == 0 else facts, builder.path
                notes = [*text.warnings, _comments_note(comments)] if is_last else []
                metadata = metadata_of(warnings=notes, encoding=text.encoding.name, **facts)
                document = builder.build(metadata, keep_end=not is_last)
                state = {**text_state(text), "at": lines.position, "facts": facts, "comments": comments, "path": path_}
                yield series.part(
                    document, state, is_last=is_last, share=1.0 if is_last else lines.position[0] / text.size
                )


def _next_lines(lines: Iterator[str]) -> tuple[list[str], bool]:
    """The lines of one part, without their ends, and whether they are the last: they end before a blank line that lies
    in no block of code or comment, or anywhere where that goes on too long."""
    own: list[str] = []
    size, closing = 0, None
    for line in lines:
        own.append(line.removesuffix("\n"))
        size += len(line)
        if closing is not None:
            closing = None if closing.search(own[-1]) else closing
        elif match := _FENCE.match(own[-1]):
            closing = _closing(match.group(1) or match.group(3))
        elif own[-1].lstrip().startswith("<!--") and "-->" not in own[-1]:
            closing = _COMMENT_END
        elif size >= PART_CHARS and not own[-1].strip():
            return own, False
        if size >= 2 * PART_CHARS:
            return own, False
    return own, True


def _write(builder: TextBuilder, lines: list[str], facts: dict[str, str]) -> int:
    """Returns how many comments were left out; the first heading is the title where `facts` has none."""
    comments = 0
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
    return comments


def _comments_note(comments: int) -> str:
    return f"{comments} hidden {'passage' if comments == 1 else 'passages'} skipped" if comments else ""


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
    closing = _closing(fence)
    return next((i + 1 for i in range(start + 1, len(lines)) if closing.match(lines[i])), len(lines))


def _closing(fence: str) -> re.Pattern[str]:
    return re.compile(rf"\A\s*{re.escape(fence[0])}{{{len(fence)},}}\s*$")
