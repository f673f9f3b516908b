"""Which documents are of files that are gone from a folder. Stored sources are compared, not opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from core.errors import DocumentError
from core.records import DocumentRecord
from core.text.file_names import display_name
from core.text.neutral import neutral_source


def gone(documents: Iterable[DocumentRecord], folder: Path) -> Iterator[DocumentRecord]:
    """Those whose source lies in the folder, and is no file there: hidden files and all that is below count.

    A folder that is reached by a link is the same folder by either name.

    raises  DocumentError where a part of it can't be read, before anything is yielded: what isn't seen isn't gone
    """
    inside = list(_names(folder))
    plain = Path(os.path.abspath(folder))
    prefixes = [neutral_source(os.path.join(path, "")) for path in (plain, plain.resolve())]
    there = {prefix + neutral_source(name) for prefix in prefixes for name in inside}
    for document in documents:
        source = document.source
        # Text and path are both looked at: only what neither finds is gone.
        if source.startswith(tuple(prefixes)) and source not in there and not os.path.lexists(source):
            yield document


def _names(folder: Path) -> Iterator[str]:
    def fail(error: OSError) -> None:
        name = display_name(str(error.filename or folder))
        raise DocumentError(
            f"nothing was removed: the folder {name!r} can't be read ({error.strerror}); make it readable",
            file_name=name,
        ) from error

    for place, _, names in os.walk(folder, onerror=fail):
        for name in names:
            yield os.path.relpath(os.path.join(place, name), folder)
