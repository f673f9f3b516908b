"""What a paragraph says: its runs in order, and what hangs on it (text boxes, notes, comments)."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.parsers.docx.names import MC, M, W, is_on

_SKIPPED = frozenset(
    W + name for name in ("del", "moveFrom", "delText", "instrText", "rPr", "pPr", "sdtPr", "sdtEndPr", "rt", "rubyPr")
)
_SIGNS = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}br": "\n",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",
    f"{W}softHyphen": "\u00ad",
}
_BLOCKS = (f"{W}p", f"{W}tbl")


@dataclass
class Paragraph:
    text: str = ""
    boxes: list = field(default_factory=list)  # w:txbxContent elements
    footnotes: list[str] = field(default_factory=list)
    endnotes: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)


@dataclass
class Counts:
    """What was left out or taken in on the way, for the warnings."""

    changes: int = 0
    hidden: int = 0


def read_paragraph(element, counts: Counts) -> Paragraph:
    """The text as it reads with all tracked changes accepted; ruby, hidden and deleted text is left out."""
    paragraph, parts = Paragraph(), []
    _read(element, paragraph, parts, counts)
    paragraph.text = "".join(parts)
    return paragraph


def _read(element, paragraph: Paragraph, parts: list[str], counts: Counts) -> None:
    for child in element:
        tag = child.tag
        if tag in _SKIPPED:
            counts.changes += tag in (f"{W}del", f"{W}moveFrom")
        elif tag == f"{W}t":
            parts.append(child.text or "")
        elif tag in _SIGNS:
            parts.append(_SIGNS[tag])
        elif tag == f"{W}sym":
            parts.append(_symbol(child.get(f"{W}char", "")))
        elif tag == f"{W}r" and is_on(child.find(f"{W}rPr"), "vanish"):
            counts.hidden += any(node.text for node in child.iter(f"{W}t"))
        elif tag == f"{M}oMath":
            parts.append(f" {_formula(child)} ")
        elif tag == f"{W}txbxContent":
            paragraph.boxes.append(child)
        elif tag == f"{MC}AlternateContent":
            # The fallback says the same again for older programs.
            chosen = child.find(f"{MC}Choice")
            _read(child if chosen is None else chosen, paragraph, parts, counts)
        elif not _took_reference(child, paragraph, parts):
            counts.changes += tag == f"{W}ins"
            _read(child, paragraph, parts, counts)


def _took_reference(element, paragraph: Paragraph, parts: list[str]) -> bool:
    """Whether it was a reference to a note (then "[3]" stands in the text) or a comment."""
    name = element.tag.removeprefix(W) if isinstance(element.tag, str) else ""
    number = element.get(f"{W}id", "")
    if name in ("footnoteReference", "endnoteReference"):
        (paragraph.footnotes if name == "footnoteReference" else paragraph.endnotes).append(number)
        parts.append(f"[{number}]")
    elif name == "commentReference":
        paragraph.comments.append(number)
    return name in ("footnoteReference", "endnoteReference", "commentReference")


def _symbol(code: str) -> str:
    try:
        char = chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""
    # Symbol fonts have their signs in the private use area: nobody can search them; most are bullets.
    return "•" if "\ue000" <= char <= "\uf8ff" else char


def _formula(element) -> str:
    """A formula on one line: x^2, a_i, (a)/(b), √(x)."""
    name = element.tag.removeprefix(M) if isinstance(element.tag, str) else ""
    if name == "t":
        return element.text or ""
    if name == "f":
        return f"({_part(element, 'num')})/({_part(element, 'den')})"
    if name == "rad":
        return f"√({_part(element, 'e')})"
    if name in ("sSup", "sSub", "sSubSup"):
        lower, upper = _part(element, "sub"), _part(element, "sup")
        return _part(element, "e") + (f"_{lower}" if lower else "") + (f"^{upper}" if upper else "")
    return "".join(_formula(child) for child in element)


def _part(element, name: str) -> str:
    part = element.find(M + name)
    return "" if part is None else _formula(part)
