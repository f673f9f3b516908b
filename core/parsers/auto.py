"""The parser for any file: it looks what the file is, and hands it to the parser of that kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from core.domain import Document
from core.errors import UnsupportedFileError
from core.parsers.detect import detect
from core.text.file_names import display_name


class AutoParser:
    """Any supported file, by its content; the name only decides between kinds of text."""

    name = "auto"

    def __init__(self, parsers: Mapping[str, Callable[[], Any]]) -> None:
        """parsers  name -> class of a DocumentParser"""
        self._parsers = parsers
        self.progress: Callable[[int, int], None] | None = None

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        """The document, with `file_name` and `file_type` in its metadata beside what the parser found.

        raises  DocumentError, PasswordError, UnsupportedFileError
        """
        detected = detect(data, file_name)
        if detected.kind not in self._parsers:
            raise _no_parser(detected.kind, display_name(file_name))
        parser = self._parsers[detected.kind]()
        if hasattr(parser, "progress"):
            parser.progress = self.progress
        document = parser.parse(data, file_name, password)
        metadata = document.metadata.put("file_name", display_name(file_name)).put("file_type", detected.kind)
        if detected.warning:
            earlier = metadata.get_string("warnings")
            metadata.put("warnings", f"{detected.warning}\n{earlier}" if earlier else detected.warning)
        return document


def _no_parser(kind: str, name: str) -> UnsupportedFileError:
    looks_like = {"pptx": "a PowerPoint presentation", "docx": "a Word document", "xlsx": "an Excel workbook"}
    what = looks_like.get(kind, kind.upper())
    return UnsupportedFileError(
        f"{name!r} is {what}, which is not read here; save it as PDF and add that", file_name=name
    )
