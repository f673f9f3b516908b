"""A chat model's stream as events: no thoughts, no blank beginning, and an honest end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.chat_models.reply_text import ThinkingText
from core.domain import ChatRequest, Content, TokenUsage
from core.events import Complete, Partial, Reading, Result
from core.protocols import ChatModel, StopSignal


def stream_reply(
    model: ChatModel,
    request: ChatRequest,
    sources: Sequence[Content] = (),
    stop: StopSignal | None = None,
    *,
    begun: str = "",
) -> Iterator[Reading | Partial | Complete]:
    """Reading when the prompt has been read, Partial for each piece of text, Complete at the end.

    A reply of nothing, of blanks or of a thought only is Complete with finish_reason "empty".
    The model's stream is closed whatever happens, so that its owner can go on at once.

    begun  what an answer that was cut says already; the result holds both
    """
    thinking, text, is_read = ThinkingText(), begun, False
    usage, reason, reused = TokenUsage(), "stop", 0
    stream = model.stream(request, stop)
    try:
        for delta in stream:
            if not is_read and delta.finish_reason != "stopped":
                is_read = True
                yield Reading(delta.reused_tokens)
            reason, usage = delta.finish_reason or reason, delta.token_usage or usage
            reused = max(reused, delta.reused_tokens)
            shown = delta.text
            if not begun:
                shown = thinking.feed(delta.text) + (thinking.rest() if delta.finish_reason else "")
            shown = shown if text else shown.lstrip()
            if shown:
                text += shown
                yield Partial(shown)
    finally:
        close = getattr(stream, "close", None)
        if close is not None:
            close()
    if not text.strip() and reason != "stopped":
        reason = "empty"
    # A cut answer goes on exactly where it stopped, blanks and all.
    said = text if reason == "length" else text.rstrip()
    yield Complete(Result(said, tuple(sources), usage, reason, reused))
