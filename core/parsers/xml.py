"""XML as the text that it is. A document type is refused, for what it can hide, and nothing is ever resolved."""

from __future__ import annotations

import re

from core.domain import Document
from core.errors import DocumentError
from core.parsers.text import TextParser
from core.text.encoding import decode
from core.text.file_names import display_name

_DOCTYPE = re.compile(r"<!(?:DOCTYPE|ENTITY)\b", re.IGNORECASE)


class XmlParser:
    """XML and SVG source, without a document type."""

    name = "xml"

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        refuse_doctype(decode(data[:65536]).text, file_name)
        return TextParser().parse(data, file_name)


def refuse_doctype(xml: str, file_name: str, *, part: str = "") -> None:
    """raises  DocumentError if there is one: entities can pull in other files or grow without end."""
    if _DOCTYPE.search(xml):
        name = display_name(file_name)
        where = f" in its part {part}" if part else ""
        raise DocumentError(
            f"{name!r} holds an XML document type (DOCTYPE){where}, which can pull in other files; "
            "save it without one and add it again",
            file_name=name,
        )
