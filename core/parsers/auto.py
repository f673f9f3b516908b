"""The parser for any file: it looks what the file is, and hands it to the parser of that kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.domain import Document
from core.errors import UnsupportedFileError
from core.parsers.detect import Detected, detect, needs_whole_file
from core.parsers.parts import PART_CHARS, DocumentPart, parts_of
from core.text.file_names import display_name

_HEAD_BYTES = 65_536


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
        return _told(self._parser(detected, file_name).parse(data, file_name, password), detected, file_name)

    def parts(
        self,
        path: Path,
        file_name: str = "",
        password: str | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> Iterator[DocumentPart]:
        """The document of a file in parts, each read when it's asked for; a short one is one part, as `parse` gives it.

        after  of the last part that is there already; the first one given is that behind it
        """
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            head = head if len(head) < _HEAD_BYTES or not needs_whole_file(head) else head + file.read()
        detected = detect(head, file_name)
        parser = self._parser(detected, file_name)
        is_long = detected.kind == "pdf" or path.stat().st_size > PART_CHARS
        if is_long and hasattr(parser, "parts"):
            found = parser.parts(path, file_name, password, after)
        else:
            whole = head if len(head) == path.stat().st_size else path.read_bytes()
            document = parser.parse(whole, file_name, password)
            del head, whole
            found = parts_of(document, after)
        for part in found:
            yield replace(part, document=_told(part.document, detected, file_name, warn=part.is_last))

    def _parser(self, detected: Detected, file_name: str) -> Any:
        if detected.kind not in self._parsers:
            raise _no_parser(detected.kind, display_name(file_name))
        parser = self._parsers[detected.kind]()
        if hasattr(parser, "progress"):
            parser.progress = self.progress
        return parser


def _told(document: Document, detected: Detected, file_name: str, *, warn: bool = True) -> Document:
    metadata = document.metadata.copy().put("file_name", display_name(file_name)).put("file_type", detected.kind)
    if detected.warning and warn:
        earlier = metadata.get_string("warnings")
        metadata.put("warnings", f"{detected.warning}\n{earlier}" if earlier else detected.warning)
    return replace(document, metadata=metadata)


def _no_parser(kind: str, name: str) -> UnsupportedFileError:
    looks_like = {"pptx": "a PowerPoint presentation", "docx": "a Word document", "xlsx": "an Excel workbook"}
    what = looks_like.get(kind, kind.upper())
    return UnsupportedFileError(
        f"{name!r} is {what}, which is not read here; save it as PDF and add that", file_name=name
    )
