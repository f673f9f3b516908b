"""The pipe's language: frames of 8 bytes length (big-endian) and content; JSON headers, text and bytes as they are.

request   {"file_name", "path" or "bytes": true, "password", "memory_mb"}, then a frame of bytes where announced
answer    any number of {"progress": [done, total]}, then {"document": {"metadata", "marks"}} and a frame of UTF-8 text,
          or {"error": {"type", "message", "file_name"}}
in parts  a request with {"parts": true, "after": {…} or null} is answered by one part, {"document", "part"}; {"go_on"}
          true or false asks for the next one, or ends it
pause     {"pause": true or false}, at any time
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import BinaryIO

from core.domain import Document, Mark
from core.errors import DocumentError, PasswordError, UnsupportedFileError
from core.metadata import Metadata
from core.parsers.parts import DocumentPart

ERRORS: dict[str, type[DocumentError]] = {
    error.__name__: error for error in (DocumentError, PasswordError, UnsupportedFileError)
}


def write_frame(stream: BinaryIO, content: bytes) -> None:
    stream.write(len(content).to_bytes(8, "big"))
    stream.write(content)
    stream.flush()


def write_json(stream: BinaryIO, value: Mapping) -> None:
    write_frame(stream, json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def read_frame(stream: BinaryIO) -> bytes:
    """raises EOFError at the end of the stream, in the middle of a frame too."""
    size = int.from_bytes(_exactly(stream, 8), "big")
    return _exactly(stream, size)


def read_json(stream: BinaryIO) -> dict:
    """raises EOFError; ValueError for everything that is no JSON object."""
    value = json.loads(read_frame(stream).decode("utf-8", "surrogatepass"))
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object was due, not {type(value).__name__}")
    return value


def document_header(document: Document) -> dict:
    marks = [[mark.start, mark.end, mark.kind, mark.value] for mark in document.marks]
    return {"document": {"metadata": document.metadata.to_json(), "marks": marks}}


def part_header(part: DocumentPart) -> dict:
    kept = {name: getattr(part, name) for name in ("start", "number", "after", "is_last", "share", "pages")}
    return {**document_header(part.document), "part": kept}


def part_from(header: Mapping, text: str) -> DocumentPart:
    pages = header["part"]["pages"]
    kept = {**header["part"], "pages": tuple(pages) if pages else None}
    return DocumentPart(document_from(header["document"], text), **kept)


def document_from(header: Mapping, text: str) -> Document:
    marks = tuple(Mark(*mark) for mark in header["marks"])
    return Document(text, Metadata.from_json(header["metadata"]), marks)


def error_header(error: DocumentError) -> dict:
    known = type(error).__name__ if type(error).__name__ in ERRORS else "DocumentError"
    return {"error": {"type": known, "message": str(error), "file_name": error.file_name}}


def error_from(header: Mapping) -> DocumentError:
    return ERRORS[header["type"]](header["message"], file_name=header["file_name"])


def _exactly(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content
