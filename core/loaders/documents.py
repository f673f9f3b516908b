"""Documents from files and folders, parsed in this process. The app uses `core.parsing_worker` instead."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from core.domain import Document
from core.errors import DocumentError
from core.loaders.files import find_files, source_of
from core.parsers import auto_parser
from core.protocols import DocumentParser
from core.text.file_names import display_name

OnError = Callable[[Path, DocumentError], None]


def load_document(path: Path | str, parser: DocumentParser | None = None) -> Document:
    """The document of one file, with file_name, source (absolute path) and last_modified (UTC) in its metadata.

    parser  default: by what the file is
    raises  DocumentError, also if the file can't be opened
    """
    path = Path(path)
    name = display_name(path.name)
    try:
        data = path.read_bytes()
        modified = datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
        source = str(source_of(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DocumentError(f"{name!r} can't be opened: {reason}; check the path", file_name=name) from error
    document = (parser or auto_parser()).parse(data, path.name)
    document.metadata.put("file_name", name).put("source", source).put("last_modified", modified)
    return document


def load_documents(
    folder: Path | str,
    *,
    glob: str | None = None,
    regex: str | None = None,
    parser: DocumentParser | None = None,
    on_error: OnError | None = None,
) -> list[Document]:
    """The documents of a folder's own files, sorted by name; `glob` and `regex` as in `find_files`.

    on_error  called with the path and the error of each file that can't become a document, and the rest goes on;
              without it the first such file raises
    """
    return _load(find_files(folder, glob=glob, regex=regex), parser, on_error)


def load_documents_recursively(
    folder: Path | str,
    *,
    glob: str | None = None,
    regex: str | None = None,
    parser: DocumentParser | None = None,
    on_error: OnError | None = None,
) -> list[Document]:
    """Like `load_documents`, with all folders below."""
    return _load(find_files(folder, recursive=True, glob=glob, regex=regex), parser, on_error)


def _load(paths: list[Path], parser: DocumentParser | None, on_error: OnError | None) -> list[Document]:
    documents = []
    for path in paths:
        try:
            documents.append(load_document(path, parser))
        except DocumentError as error:
            if on_error is None:
                raise
            on_error(path, error)
    return documents
