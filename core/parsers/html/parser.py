"""HTML: what a reader of the page sees, as paragraphs, headings, lists, code and Markdown tables.

Leaves out scripts, styles, templates, comments and hidden passages; the hidden ones are counted in a warning.
Doesn't run scripts, doesn't resolve style sheets, doesn't fetch anything.
"""

from __future__ import annotations

import re
import warnings

from bs4.element import Tag

from core.domain import Document
from core.parsers.html.inline import collapse, flat_text
from core.parsers.html.tables import grid, is_layout
from core.parsers.html.walk import Walk, is_block
from core.parsers.outcome import finished
from core.parsers.tables import markdown_table
from core.text.builder import TextBuilder
from core.text.clean import clean
from core.text.encoding import decode

_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE)
_HEADING = re.compile(r"h([1-6])")
_TIGHT = frozenset({"li", "dt", "dd", "tr", "option", "summary"})


class HtmlParser:
    """Web pages: visible text, headings, lists, code, tables."""

    name = "html"

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        declared = _CHARSET.search(data[:4096])
        label = next(filter(None, declared.groups()), b"").decode("ascii", "ignore") if declared else None
        decoded = decode(data, label)
        soup = _soup(decoded.text)
        page = _Page()
        page.read(soup)
        notes = list(decoded.warnings)
        if count := len(page.hidden):
            notes.append(f"{count} hidden {'passage' if count == 1 else 'passages'} skipped")
        title = soup.title.get_text(" ", strip=True) if soup.title else None
        return finished(
            page.builder,
            file_name,
            warnings=notes,
            otherwise="if a script draws the page, save it from the browser as PDF and add that",
            title=title,
            encoding=decoded.encoding,
        )


def _soup(html: str) -> Tag:
    from bs4 import BeautifulSoup

    with warnings.catch_warnings():
        # bs4 warns of XML and of text that looks like a path; both are parsed as intended.
        warnings.simplefilter("ignore")
        # libxml2 ends a text at a NUL, so the page is cleaned before it is parsed, too.
        return BeautifulSoup(clean(html), "lxml")


class _Page:
    """Writes the events of a walk into a builder. `inline` collects text until a block begins or ends."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.hidden: list[str] = []
        self._inline: list[str] = []
        self._lists: list[int | None] = []
        self._bullet = ""

    def read(self, root: Tag) -> None:
        walk = Walk(root, self.hidden)
        for kind, node in walk:
            if kind == "text":
                self._inline.append(str(node))
            elif kind == "open":
                if self._open(node):
                    walk.skip()
            else:
                self._close(node)
        self._flush()

    def _open(self, tag: Tag) -> bool:
        """Whether the whole tag was dealt with here."""
        name = tag.name
        if name == "br":
            self._inline.append("\x1f")
        elif name == "img":
            self._inline.append(f" {tag.get('alt') or ''} ")
        elif is_block(tag):
            self._flush(tight=name in _TIGHT)
            return self._open_block(tag)
        return False

    def _open_block(self, tag: Tag) -> bool:
        name = tag.name
        if match := _HEADING.fullmatch(name):
            self.builder.heading(int(match.group(1)), flat_text(tag, self.hidden))
        elif name == "pre":
            self._code(tag)
        elif name == "table" and not is_layout(tag):
            self._table(tag)
        elif name in ("ul", "ol"):
            self._lists.append(0 if name == "ol" else None)
            return False
        elif name == "li":
            self._bullet = self._next_bullet()
            return False
        else:
            return False
        return True

    def _close(self, tag: Tag) -> None:
        if not is_block(tag):
            return
        self._flush(tight=tag.name in _TIGHT)
        if tag.name in ("ul", "ol") and self._lists:
            self._lists.pop()
        if tag.name not in _TIGHT and not (tag.name in ("ul", "ol") and self._lists):
            self.builder.new_paragraph()

    def _flush(self, *, tight: bool = False) -> None:
        text = collapse("".join(self._inline))
        self._inline.clear()
        text = re.sub(r" *\x1f *", "\n", text).strip()
        if not text:
            return
        if tight or self._bullet or self._lists:
            self.builder.new_line()
        else:
            self.builder.new_paragraph()
        self.builder.append(self._bullet + text)
        self.builder.new_line()
        self._bullet = ""

    def _next_bullet(self) -> str:
        indent = "  " * (len(self._lists) - 1)
        if not self._lists or self._lists[-1] is None:
            return f"{indent}- "
        self._lists[-1] += 1
        return f"{indent}{self._lists[-1]}. "

    def _code(self, tag: Tag) -> None:
        text = "".join(str(node) for kind, node in Walk(tag, self.hidden) if kind == "text").strip("\n")
        classes = " ".join([*tag.get_attribute_list("class"), *_code_classes(tag)]) if text.strip() else ""
        language = re.search(r"\blang(?:uage)?-([\w+#-]+)", classes)
        self.builder.new_paragraph()
        with self.builder.mark("code", language.group(1) if language else ""):
            self.builder.append(text)
        self.builder.new_paragraph()

    def _table(self, tag: Tag) -> None:
        if tag.caption:
            self.builder.paragraph(flat_text(tag.caption, self.hidden))
        text = markdown_table(grid(tag, self.hidden))
        self.builder.new_paragraph()
        with self.builder.mark("table", text.partition("\n")[0]):
            self.builder.append(text)
        self.builder.new_paragraph()


def _code_classes(tag: Tag) -> list[str]:
    code = tag.find("code")
    return [str(name) for name in code.get_attribute_list("class")] if code else []
