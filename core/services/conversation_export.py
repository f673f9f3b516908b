"""A conversation as Markdown: questions, answers with their [n], and the sources with their passages."""

from __future__ import annotations

from collections.abc import Sequence

from core.grounding.support import with_markers
from core.records import ConversationRecord, MessageRecord, Source


def markdown_of(conversation: ConversationRecord, messages: Sequence[MessageRecord]) -> str:
    """Whole and readable by itself; passages are quoted, so that nothing in them becomes a heading or an image."""
    parts = [f"# {conversation.title or 'Conversation'}", f"{conversation.created:%Y-%m-%d %H:%M} UTC"]
    for message in messages:
        if message.role == "user":
            parts.append(f"## {' '.join(message.text.split())}")
            continue
        refused = bool(message.record.get("refused"))
        parts.append(message.text if refused else with_markers(message.text, message.sentences))
        if message.reason and message.state != "complete":
            parts.append(f"*{message.reason}*")
        if message.sources:
            parts.append("**Closest passages**" if refused else "**Sources**")
            parts += [_source(source) for source in message.sources]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _source(source: Source) -> str:
    place = f", p. {source.page}" if source.page is not None else ""
    quoted = "\n".join(f"> {_quoted(line)}" for line in source.text.strip().splitlines())
    return f"[{source.number}] {_quoted(source.document or 'untitled')}{place}\n\n{quoted}"


def _quoted(text: str) -> str:
    """As literal text: what Markdown would read as markup is escaped."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>#!|~$" else character for character in text)
