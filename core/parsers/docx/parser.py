"""Word documents (.docx), everything that Word shows: body in order, tables, text boxes, content controls, headers and
footers, notes, comments, and tracked changes as if they were accepted. Not read: pictures, charts, embedded files."""

from __future__ import annotations

from core.domain import Document
from core.parsers.docx.names import MC, STRICT, R, W, value
from core.parsers.docx.numbering import Numbering
from core.parsers.docx.runs import Counts, Paragraph, read_paragraph
from core.parsers.docx.styles import Styles, list_of, outline_level
from core.parsers.docx.tables import cells_of, is_layout, table_rows
from core.parsers.office_package import OfficePackage
from core.parsers.outcome import finished
from core.parsers.tables import markdown_table
from core.text.builder import TextBuilder

_CONTAINERS = frozenset(
    W + name for name in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag", "body", "txbxContent", "tc")
)


class DocxParser:
    """Word documents: body, tables, text boxes, headers and footers, notes, comments."""

    name = "docx"

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        package = OfficePackage(data, file_name)
        document = _Word(package)
        document.read()
        return finished(
            document.builder,
            file_name,
            warnings=document.warnings(),
            otherwise="if it holds pictures of text, save it as PDF, run text recognition (OCR) and add that",
            title=package.title(),
        )


class _Word:
    def __init__(self, package: OfficePackage) -> None:
        self.builder = TextBuilder()
        self._package = package
        self._main = package.main_part()
        self._counts = Counts()
        self._styles = Styles(self._related("styles"))
        self._numbering = Numbering(self._related("numbering"))
        self._notes = {kind: self._entries(f"{kind}s", kind) for kind in ("footnote", "endnote", "comment")}

    def read(self) -> None:
        body = self._xml(self._main)
        body = body.find(f"{W}body") if body is not None else None
        if body is None:
            raise self._package.damaged()
        self._edges(body, "header")
        self._blocks(body)
        self._edges(body, "footer")

    def warnings(self) -> list[str]:
        found = []
        if self._counts.changes:
            found.append("tracked changes were read as if they were accepted")
        if count := self._counts.hidden:
            found.append(f"{count} hidden {'passage' if count == 1 else 'passages'} skipped")
        return found

    def _xml(self, part: str):
        content = self._package.read(part)
        if content is not None and b"purl.oclc.org/ooxml" in content[:4096]:
            return self._package.parsed(_transitional(content))
        return self._package.xml(part)

    def _related(self, kind: str):
        parts = self._package.related(self._main, kind)
        return self._xml(parts[0]) if parts else None

    def _entries(self, part_kind: str, name: str) -> dict:
        root = self._related(part_kind)
        return {} if root is None else {item.get(f"{W}id", ""): item for item in root.iter(W + name)}

    def _edges(self, body, kind: str) -> None:
        """Headers or footers of all sections, each text once."""
        related, seen = self._package.relationships(self._main), set()
        for reference in body.iter(f"{W}{kind}Reference"):
            root = self._xml(related.get(reference.get(f"{R}id", ""), ("", ""))[1])
            if root is None:
                continue
            text = "".join(node.text or "" for node in root.iter(f"{W}t"))
            if text.strip() and text not in seen:
                seen.add(text)
                self.builder.new_paragraph()
                with self.builder.mark("part", kind):
                    self._blocks(root)

    def _blocks(self, container) -> None:
        for child in container:
            if child.tag == f"{W}p":
                self._paragraph(child)
            elif child.tag == f"{W}tbl":
                self._table(child)
            elif child.tag == f"{MC}AlternateContent":
                chosen = child.find(f"{MC}Choice")
                self._blocks(child if chosen is None else chosen)
            elif child.tag in _CONTAINERS:
                self._blocks(child)

    def _paragraph(self, element) -> None:
        paragraph = read_paragraph(element, self._counts)
        style = self._styles[value(element, "pPr/pStyle")]
        level = outline_level(element)
        level = style.level if level is None else level
        entry = list_of(element) or style.list
        text = paragraph.text.strip()
        if text:
            label = self._numbering.label(entry) if entry else ""
            line = f"{label} {text}" if label else text
            if level is not None:
                self.builder.heading(level, line)
            elif entry:
                self._list_item(entry[1], line)
            else:
                self.builder.new_paragraph()
                self.builder.append(line)
                self.builder.new_paragraph()
        self._attached(paragraph)

    def _list_item(self, depth: int, line: str) -> None:
        self.builder.new_line()
        self.builder.append("  " * depth + line)
        self.builder.new_line()

    def _table(self, element) -> None:
        if is_layout(element):
            for cell in cells_of(element):
                self._blocks(cell)
            return
        paragraphs: list[Paragraph] = []
        text = markdown_table(table_rows(element, self._counts, paragraphs))
        self.builder.new_paragraph()
        with self.builder.mark("table", text.partition("\n")[0]):
            self.builder.append(text)
        self.builder.new_paragraph()
        for paragraph in paragraphs:
            self._attached(paragraph)

    def _attached(self, paragraph: Paragraph) -> None:
        """Notes, comments and text boxes stand right behind the paragraph they hang on."""
        for kind, ids in (
            ("footnote", paragraph.footnotes),
            ("endnote", paragraph.endnotes),
            ("comment", paragraph.comments),
        ):
            for number in ids:
                note = self._notes[kind].get(number)
                if note is not None:
                    self._note(kind, number, note)
        for box in paragraph.boxes:
            self._blocks(box)

    def _note(self, kind: str, number: str, element) -> None:
        text = " ".join(
            " ".join(read_paragraph(item, self._counts).text.split()) for item in element.iter(f"{W}p")
        ).strip()
        if not text:
            return
        author = element.get(f"{W}author")
        label = f"[{number}]" if kind != "comment" else f"[Comment by {author}]" if author else "[Comment]"
        self.builder.new_paragraph()
        with self.builder.mark("part", kind):
            self.builder.append(f"{label} {text}")
        self.builder.new_paragraph()


def _transitional(content: bytes) -> bytes:
    for strict, usual in STRICT.items():
        content = content.replace(strict, usual)
    return content
