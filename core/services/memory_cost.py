"""What memory costs in tokens, with questions as they were typed or with their passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.records import MessageRecord
from core.services.reading_speed import ReadingSpeed
from core.settings import Settings

_CHARS_PER_TOKEN = 4.0
_TURN_TOKENS = 60  # a question and its answer, where nothing is known yet
_RULES_TOKENS = 300  # rules, question and turn markers


@dataclass(frozen=True)
class MemoryCost:
    """Tokens of earlier messages in the next prompt: now, and after ten more turns like those so far.

    most_…     the limits that these never pass
    messages   how many are sent again at most
    …_s        seconds to read them on this machine, where they aren't known already; None without a loaded model
    """

    now_original: int
    now_augmented: int
    after_ten_original: int
    after_ten_augmented: int
    most_original: int
    most_augmented: int
    messages: int
    now_original_s: float | None = None
    now_augmented_s: float | None = None
    after_ten_original_s: float | None = None
    after_ten_augmented_s: float | None = None


def memory_cost_of(
    messages: Sequence[MessageRecord], settings: Settings, speed: ReadingSpeed | None = None
) -> MemoryCost:
    """An estimate: the sources' tokens were counted by the model, the rest goes by its length."""
    turns = [_turn_tokens(question, answer) for question, answer in _turns(messages)]
    original, augmented = [turn[0] for turn in turns], [turn[1] for turn in turns]
    next_original = _mean(original, _TURN_TOKENS)
    next_augmented = _mean(augmented, _TURN_TOKENS + settings.source_tokens)
    most = [memory_tokens(settings, augmented=kind, context_tokens=settings.context_tokens) for kind in (False, True)]
    window = settings.memory_messages // 2
    tokens = (
        _kept(original, window, most[0]),
        _kept(augmented, window, most[1]),
        _kept([*original, *[next_original] * 10], window, most[0]),
        _kept([*augmented, *[next_augmented] * 10], window, most[1]),
    )
    seconds = [None if speed is None else speed.seconds(count) for count in tokens]
    return MemoryCost(*tokens, *most, settings.memory_messages, *seconds)


def memory_tokens(settings: Settings, *, augmented: bool, context_tokens: int) -> int:
    """Most tokens of earlier messages in a prompt.

    Questions with their passages are long: they may take all that the rules, the sources and the answer leave, else
    memory would hold none of them.
    """
    if not augmented:
        return settings.memory_tokens
    left = context_tokens - settings.source_tokens - settings.max_answer_tokens - _RULES_TOKENS
    return max(settings.memory_tokens, left)


def _turns(messages: Sequence[MessageRecord]) -> list[tuple[MessageRecord, MessageRecord]]:
    questions = {message.id: message for message in messages if message.role == "user"}
    return [
        (questions[message.reply_to], message)
        for message in messages
        if message.role == "assistant" and message.memory_text is not None and message.reply_to in questions
    ]


def _turn_tokens(question: MessageRecord, answer: MessageRecord) -> tuple[int, int]:
    typed = _estimate(question.text) + _estimate(answer.text)
    parts = (answer.record.get("prompt") or {}).get("parts") or []
    sources = sum(part["tokens"] for part in parts if part["kind"] == "source")
    return typed, typed + sources


def _estimate(text: str) -> int:
    """A token for each character of Chinese or Japanese, for every four of others."""
    wide = sum(character > "\u2e7f" for character in text)
    return round(wide + (len(text) - wide) / _CHARS_PER_TOKEN)


def _mean(tokens: Sequence[int], default: int) -> int:
    return round(sum(tokens) / len(tokens)) if tokens else default


def _kept(turns: Sequence[int], window: int, most: int) -> int:
    """The newest turns that the window and its tokens let in."""
    kept = 0
    for tokens in list(reversed(turns))[:window]:
        if kept + tokens > most:
            break
        kept += tokens
    return kept
