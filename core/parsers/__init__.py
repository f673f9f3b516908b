"""Parsers: the bytes of a file to a Document with cleaned text and marks. One file or folder a parser.

A parser takes bytes, never a path, and leaves nothing open. It reports what it left out or guessed as warnings in the
metadata, and raises a DocumentError with one sentence (which file, why, what to do) when there is no text to give. It
writes through `core.text.builder.TextBuilder`, so that text is cleaned once and marks fit it.

To add one: the class, its line here, and the way `detect` recognises its files.
"""

from core.parsers.auto import AutoParser
from core.parsers.csv import CsvParser
from core.parsers.docx.parser import DocxParser
from core.parsers.html.parser import HtmlParser
from core.parsers.markdown import MarkdownParser
from core.parsers.pdf.parser import PdfParser
from core.parsers.text import TextParser
from core.parsers.xlsx.parser import XlsxParser
from core.parsers.xml import XmlParser

PARSERS = {
    "pdf": PdfParser,
    "docx": DocxParser,
    "xlsx": XlsxParser,
    "csv": CsvParser,
    "html": HtmlParser,
    "markdown": MarkdownParser,
    "xml": XmlParser,
    "text": TextParser,
}


def auto_parser() -> AutoParser:
    """The parser for any file: by its content."""
    return AutoParser(PARSERS)
