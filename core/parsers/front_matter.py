"""The block of `key: value` lines between two "---" that opens many Markdown files. Read as text, never as YAML."""

from __future__ import annotations

import re

_PAIR = re.compile(r"([A-Za-z][\w -]{0,60}?)\s*:(?:\s+(.*)|$)")
# Footnote says these itself; a file can't claim another source.
_RESERVED_NAMES = (
    "file_name source url last_modified collection page index heading_path document_id warnings pages file_type"
)
_RESERVED = frozenset(_RESERVED_NAMES.split())


def split_front_matter(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """Facts of the front matter (lower-case keys, string values, list items joined by ", "), and the other lines."""
    end = next((i for i in range(1, len(lines)) if lines[i].rstrip() in ("---", "...")), 0)
    if not end or lines[0].rstrip() != "---" or not any(_PAIR.match(line) for line in lines[1:end]):
        return {}, lines
    facts: dict[str, str] = {}
    key = ""
    for line in lines[1:end]:
        if match := _PAIR.match(line):
            key = match.group(1).strip().lower().replace(" ", "_").replace("-", "_")
            facts[key] = _value(match.group(2) or "")
        elif key and line.strip() and not line.lstrip().startswith("#"):
            item = _value(line.strip().removeprefix("- "))
            facts[key] = f"{facts[key]}, {item}" if facts[key] else item
    return {key: value for key, value in facts.items() if key not in _RESERVED and value}, lines[end + 1 :]


def _value(text: str) -> str:
    text = text.strip()
    if text in ("|", ">", "|-", ">-"):
        return ""
    if len(text) > 1 and text[0] + text[-1] == "[]":
        return ", ".join(_value(item) for item in text[1:-1].split(","))
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
