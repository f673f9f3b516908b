"""Opens a PDF or says in one sentence why not, and always closes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import DocumentError, PasswordError
from core.text.file_names import display_name

if TYPE_CHECKING:
    import pymupdf


@contextmanager
def opened(data: bytes | Path, file_name: str, password: str | None) -> Iterator[pymupdf.Document]:
    """The open PDF, of its bytes or of a path; of the latter no more is in memory than the pages at hand.

    raises  PasswordError without the right password; DocumentError if it's damaged beyond repair. A PDF that is only
            locked against changes opens without one.
    """
    import pymupdf

    name = display_name(file_name)
    # MuPDF prints each flaw it works around.
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        if isinstance(data, Path):
            pdf = pymupdf.open(data, filetype="pdf")
        else:
            pdf = pymupdf.open(stream=data, filetype="pdf")
    except (*mupdf_errors(), ValueError):
        raise _damaged(name) from None
    try:
        if pdf.needs_pass and not pdf.authenticate(password or ""):
            if password:
                raise PasswordError(f"the password given for {name!r} is wrong; try another", file_name=name)
            raise PasswordError(f"{name!r} is protected by a password; enter it to read the file", file_name=name)
        if not pdf.page_count:
            raise _damaged(name)
        yield pdf
    except mupdf_errors():
        raise _damaged(name) from None
    finally:
        pdf.close()


def mupdf_errors() -> tuple[type[Exception], ...]:
    """What PyMuPDF raises for a flaw in the file; some come from its own layer, some from the library below."""
    import pymupdf

    return RuntimeError, pymupdf.FileDataError, pymupdf.mupdf.FzErrorBase


def _damaged(name: str) -> DocumentError:
    return DocumentError(
        f"{name!r} is damaged and can't be opened as a PDF; download or export it again", file_name=name
    )
