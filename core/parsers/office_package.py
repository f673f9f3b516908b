"""The zip package of an Office file: its parts, read with limits on size, and XML that can't reach outside."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from typing import TYPE_CHECKING

from core.errors import DocumentError
from core.parsers.xml import refuse_doctype
from core.text.encoding import decode
from core.text.file_names import display_name

if TYPE_CHECKING:
    from lxml import etree

MAX_UNPACKED_BYTES = 2_000_000_000
MAX_PART_BYTES = 500_000_000
# Office XML packs up to about 30 to 1; a bomb a thousand and more.
MAX_RATIO = 200
_SMALL_BYTES = 20_000_000
_HEAD_BYTES = 65536
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


class OfficePackage:
    """Parts by name; a missing part is None. Opening checks the sizes and every XML part for a document type.

    raises  DocumentError for a zip bomb, an XML document type, or a damaged package
    """

    def __init__(self, data: bytes, file_name: str) -> None:
        self._name = display_name(file_name)
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
            self._refuse_bomb()
            self.names = frozenset(self._archive.namelist())
            for name in self.names:
                if name.endswith((".xml", ".rels", ".vml")):
                    with self._archive.open(name) as part:
                        refuse_doctype(decode(part.read(_HEAD_BYTES)).text, file_name, part=posixpath.basename(name))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, NotImplementedError):
            raise self.damaged() from None

    def damaged(self) -> DocumentError:
        return DocumentError(
            f"{self._name!r} is damaged: parts of it can't be unpacked or read; open it in its own program, save it "
            "again and add that",
            file_name=self._name,
        )

    def read(self, name: str) -> bytes | None:
        if name not in self.names:
            return None
        try:
            return self._archive.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError):
            raise self.damaged() from None

    def xml(self, name: str) -> etree._Element | None:
        """The root element of a part, parsed without entities, network and document types."""
        content = self.read(name)
        return None if content is None else self.parsed(content)

    def parsed(self, content: bytes) -> etree._Element:
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
        try:
            return etree.fromstring(content, parser)
        except etree.XMLSyntaxError:
            raise self.damaged() from None

    def relationships(self, part: str) -> dict[str, tuple[str, str]]:
        """Id -> (last word of the type, target part) of a part's relationships; links to the outside are left out."""
        folder, name = posixpath.split(part)
        root = self.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        found = {}
        for relationship in root.iter(_RELATIONSHIP) if root is not None else ():
            target = relationship.get("Target", "")
            if relationship.get("TargetMode") != "External" and target:
                path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
                kind = relationship.get("Type", "").rpartition("/")[2]
                found[relationship.get("Id", "")] = (kind, posixpath.normpath(path))
        return found

    def related(self, part: str, kind: str) -> list[str]:
        return [target for found, target in self.relationships(part).values() if found == kind]

    def main_part(self) -> str:
        """raises  DocumentError where the package has none"""
        for target in self.related("", "officeDocument"):
            if target in self.names:
                return target
        raise self.damaged()

    def title(self) -> str | None:
        for part in self.related("", "core-properties"):
            root = self.xml(part)
            if root is not None:
                return root.findtext("{http://purl.org/dc/elements/1.1/}title")
        return None

    def _refuse_bomb(self) -> None:
        entries = self._archive.infolist()
        unpacked, packed = sum(entry.file_size for entry in entries), sum(entry.compress_size for entry in entries)
        too_dense = unpacked > _SMALL_BYTES and unpacked > MAX_RATIO * max(packed, 1)
        largest = max((entry.file_size for entry in entries), default=0)
        # zipfile never reads more of a part than the size it declares, so the declared sizes are enough.
        if too_dense or unpacked > MAX_UNPACKED_BYTES or largest > MAX_PART_BYTES:
            raise DocumentError(
                f"{self._name!r} unpacks to {unpacked // 1_000_000} MB, far more than such a file needs; if you trust "
                "it, split it into smaller files",
                file_name=self._name,
            )
