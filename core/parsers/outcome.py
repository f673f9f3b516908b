"""What every parser ends with: a document that holds text and says what it left out, or one clear sentence."""

from __future__ import annotations

from collections.abc import Iterable

from core.domain import Document
from core.errors import DocumentError
from core.metadata import Metadata, MetadataValue
from core.text.builder import TextBuilder
from core.text.clean import clean
from core.text.file_names import display_name

MAX_FACT_CHARS = 500


def finished(
    builder: TextBuilder,
    file_name: str,
    *,
    warnings: Iterable[str] = (),
    otherwise: str = "add a file with text in it",
    **facts: MetadataValue | None,
) -> Document:
    """The built document with its facts and warnings in the metadata; blank and None facts are left out.

    raises  DocumentError if there is no letter or digit in it: "'a.txt' holds no text; " + `otherwise`
    """
    document = builder.build(metadata_of(warnings=warnings, **facts))
    if not any(map(str.isalnum, document.text)):
        name = display_name(file_name)
        raise DocumentError(f"{name!r} holds no text; {otherwise}", file_name=name)
    return document


def metadata_of(*, warnings: Iterable[str] = (), **facts: MetadataValue | None) -> Metadata:
    metadata = Metadata()
    for key, value in facts.items():
        if isinstance(value, str):
            value = " ".join(clean(value).split())[:MAX_FACT_CHARS]
        if value not in (None, ""):
            metadata.put(key, value)
    if joined := "\n".join(dict.fromkeys(filter(None, warnings))):
        metadata.put("warnings", clean(joined))
    return metadata
