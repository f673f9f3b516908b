"""What every window keeps to: the system message stays and isn't counted, and no answer stands without its question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.domain import ChatMessage


def with_added(messages: Sequence[ChatMessage], message: ChatMessage) -> list[ChatMessage]:
    """A new system message takes the old one's place in front; any other is appended."""
    if message.role != "system":
        return [*messages, message]
    return [message, *(kept for kept in messages if kept.role != "system")]


def within(messages: Sequence[ChatMessage], fits: Callable[[Sequence[ChatMessage]], bool]) -> list[ChatMessage]:
    """The newest messages that fit, the system message in front. The oldest turn goes first, whole."""
    system = [message for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"]
    while turns and (turns[0].role == "assistant" or not fits(turns)):
        turns.pop(0)
    return system + turns
