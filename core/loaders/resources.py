"""Documents that come inside a Python package."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from core.domain import Document
from core.errors import DocumentError
from core.parsers import auto_parser
from core.protocols import DocumentParser


def load_resource(package: str, path: str, parser: DocumentParser | None = None) -> Document:
    """The document of one file in a package: `load_resource("my_package", "manual/intro.md")`.

    Its source is "package:my_package/manual/intro.md".

    raises  DocumentError if the package or the file isn't there
    """
    name = path.rpartition("/")[2]
    try:
        resource: Traversable = files(package).joinpath(*path.split("/"))
        data = resource.read_bytes()
    except (ModuleNotFoundError, OSError, TypeError) as error:
        raise DocumentError(f"{name!r} isn't in package {package!r}; check both names", file_name=name) from error
    document = (parser or auto_parser()).parse(data, name)
    document.metadata.put("file_name", name).put("source", f"package:{package}/{path}")
    return document
