"""Names of WordprocessingML, ECMA-376 part 1."""

from __future__ import annotations

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"

# Strict documents (ISO/IEC 29500) use other namespaces for the same elements.
STRICT = {
    b"http://purl.oclc.org/ooxml/wordprocessingml/main": W[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/officeDocument/math": M[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": R[1:-1].encode(),
}


def is_on(element, name: str) -> bool:
    """Whether a switch such as w:vanish is set: present and not "0", "false" or "off"."""
    switch = element.find(f"{W}{name}") if element is not None else None
    return switch is not None and switch.get(f"{W}val", "1") not in ("0", "false", "off")


def value(element, path: str) -> str | None:
    """The w:val of the element at `path` ("pPr/numPr/numId")."""
    for name in path.split("/"):
        element = element.find(f"{W}{name}") if element is not None else None
    return element.get(f"{W}val") if element is not None else None
