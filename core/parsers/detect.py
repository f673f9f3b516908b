"""What a file really is: its first bytes and its inside decide; the name only chooses between kinds of text."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePath
from typing import NamedTuple

from core.errors import DocumentError, UnsupportedFileError
from core.text.file_names import display_name

_BINARY = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\1\0", "an icon"),
    (b"RIFF", "a sound, video or WebP image"),
    (b"ID3", "an MP3 sound"),
    (b"OggS", "an Ogg sound"),
    (b"fLaC", "a FLAC sound"),
    (b"\x1aE\xdf\xa3", "a Matroska video"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"Rar!", "a RAR archive"),
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"GGUF", "a model file"),
    (b"{\\rtf", "an RTF text"),
    (b"%!PS", "a PostScript file"),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAIN_PARTS = {"word/": "docx", "xl/": "xlsx", "ppt/": "pptx"}
_SUFFIX_KINDS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mkd": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".xml": "xml",
    ".svg": "xml",
}
_BINARY_SUFFIXES = frozenset({".pdf", ".docx", ".xlsx", ".pptx", ".doc", ".xls", ".ppt", ".docm", ".xlsm"})
_HTML_START = re.compile(
    r"(?:\s|<!--.*?-->|<\?xml[^>]*>)*(?:<!doctype\s+html|<html[\s>]|<(?:head|body|table|div|p|meta)[\s>/])",
    re.IGNORECASE | re.DOTALL,
)
READABLE = "PDF, Word (.docx), Excel (.xlsx), CSV, HTML, Markdown and text"


class Detected(NamedTuple):
    """`kind` is a parser's name. `warning` says it when the name of the file claims something else."""

    kind: str
    warning: str = ""


def detect(data: bytes, file_name: str) -> Detected:
    """The kind of a file.

    raises  DocumentError for an empty one; UnsupportedFileError, which names what it looks like, for everything that no
            parser reads, encrypted Office files too
    """
    name = display_name(file_name)
    if not data:
        raise DocumentError(f"{name!r} is empty (0 bytes); save it again and add it once more", file_name=name)
    suffix = PurePath(name).suffix.lower()
    if data.startswith(b"PK\x03\x04") or data.startswith(b"PK\x05\x06"):
        kind = _zip_kind(data, name)
    elif data.startswith(_OLE):
        raise _ole_error(data, name)
    # A PDF may begin after up to 1024 bytes of something else (ISO 32000-1, annex H.3.4.1).
    elif b"%PDF-" in data[:1024]:
        kind = "pdf"
    else:
        _refuse_binary(data, name)
        kind = _text_kind(data, suffix)
    return Detected(kind, _mismatch(kind, suffix))


def needs_whole_file(head: bytes) -> bool:
    """Whether its beginning isn't enough to tell: zip archives are known by their directory, which is at the end."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06", _OLE))


def _zip_kind(data: bytes, name: str) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, EOFError, OSError):
        raise DocumentError(
            f"{name!r} is damaged: it begins like an Office file or zip archive but can't be opened; "
            "download or export it again",
            file_name=name,
        ) from None
    if "[Content_Types].xml" in names:
        for folder, kind in _MAIN_PARTS.items():
            if any(entry.startswith(folder) for entry in names):
                return kind
    looks_like = "an EPUB book" if "META-INF/container.xml" in names else "a zip archive"
    if "content.xml" in names and "META-INF/manifest.xml" in names:
        looks_like = "an OpenDocument file"
    raise _unsupported(name, looks_like)


def _ole_error(data: bytes, name: str) -> DocumentError:
    # Names of streams in an OLE directory are UTF-16.
    if "EncryptedPackage".encode("utf-16-le") in data:
        # No PasswordError: nothing here decrypts it, and to ask for the password would be to mislead.
        return UnsupportedFileError(
            f"{name!r} is an Office file encrypted with a password; open it in its program, save it without the "
            "password and add it again",
            file_name=name,
        )
    looks_like, newer = "an old Office file", ".docx, .xlsx or .pptx"
    for stream, kind, suffix in (
        ("WordDocument", "an old Word document (.doc)", ".docx"),
        ("Workbook", "an old Excel workbook (.xls)", ".xlsx"),
        ("PowerPoint Document", "an old PowerPoint presentation (.ppt)", ".pptx"),
    ):
        if stream.encode("utf-16-le") in data:
            looks_like, newer = kind, suffix
            break
    return UnsupportedFileError(f"{name!r} is {looks_like}; save it as {newer} and add that", file_name=name)


def _refuse_binary(data: bytes, name: str) -> None:
    for magic, looks_like in _BINARY:
        # Two letters are too few to tell: "BMW" begins a text, "MZ" too.
        if data.startswith(magic) and (len(magic) > 2 or b"\0" in data[:64] or not _is_texty(data)):
            raise _unsupported(name, looks_like)
    if data[4:8] == b"ftyp":
        raise _unsupported(name, "a video, sound or HEIC image")
    if not _is_texty(data):
        raise _unsupported(name, "no text and no known document: it looks like binary data")


def _is_texty(data: bytes) -> bool:
    """Few control bytes, or UTF-16 or UTF-32, whose zero bytes are no sign of a binary file."""
    from core.text.encoding import decode

    head = data[:8192]
    if b"\0" in head:
        decoded = decode(head[: len(head) // 4 * 4])
        if decoded.encoding.startswith(("utf-16", "utf-32")):
            head = decoded.text.encode("utf-8", "ignore")
    # ESC is kept: ISO-2022-JP and coloured logs use it.
    control = sum(byte < 32 and byte not in b"\t\n\r\x0b\x0c\x1b" for byte in head)
    return control / len(head) < 0.02 or (control <= 2 and len(head) < 400)


def _text_kind(data: bytes, suffix: str) -> str:
    from core.text.encoding import decode

    start = decode(data[:4096]).text.lstrip("\ufeff \t\r\n")
    kind = _SUFFIX_KINDS.get(suffix, "text")
    if kind in ("text", "xml") and _HTML_START.match(start):
        # A program's source may begin with a tag; it's HTML by name, by doctype, or under a name of an Office file.
        return "html" if suffix in _BINARY_SUFFIXES or suffix in ("", ".xml") or _is_page(start) else kind
    if kind in ("text", "html") and start.startswith("<?xml"):
        return "html" if _is_page(start) else "xml"
    return kind


def _is_page(start: str) -> bool:
    return re.search(r"<!doctype\s+html|<html[\s>]", start[:1024], re.IGNORECASE) is not None


def _mismatch(kind: str, suffix: str) -> str:
    if suffix not in _BINARY_SUFFIXES or suffix[1:] == kind or suffix[:-1] + "x" == f".{kind}":
        return ""
    label = {"html": "HTML", "csv": "CSV", "pdf": "a PDF", "xml": "XML", "text": "plain text"}.get(kind, kind)
    return f"the name ends in {suffix}, but the file looks like {label} and was read as that"


def _unsupported(name: str, looks_like: str) -> UnsupportedFileError:
    suffix = PurePath(name).suffix.lower()
    but = f" although its name ends in {suffix}" if suffix in _BINARY_SUFFIXES else ""
    return UnsupportedFileError(f"{name!r} looks like {looks_like}{but}; Footnote reads {READABLE}", file_name=name)
