"""Loaders: where documents come from. They read bytes, hand them to a parser and add where and what it was.

The library's own loaders parse in this process; the app hands originals to `core.parsing_worker`.
"""

from core.loaders.documents import load_document, load_documents, load_documents_recursively
from core.loaders.files import find_files
from core.loaders.resources import load_resource

__all__ = ["find_files", "load_document", "load_documents", "load_documents_recursively", "load_resource"]
