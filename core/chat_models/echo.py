"""A chat model without a model: it repeats the sentence of the prompt's sources that fits the question best.

For tests and for trying the app without a download: deterministic, instant, the same interface in every respect.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

from core.chat_models.reply_text import StopText
from core.domain import ChatDelta, ChatMessage, ChatRequest, FinishReason, TokenUsage
from core.errors import ConfigError, ContextOverflowError
from core.protocols import StopSignal
from core.text.sentences import sentence_spans
from core.text.terms import query_terms

_SOURCE = re.compile(r"<source\b[^>]*>\n?(.*?)\n?</source>", re.DOTALL)
_INFORMATION = "Answer using the following information:"
_QUESTION = re.compile(r"^Question: (.*?)(?:\n\n|\Z)", re.DOTALL | re.MULTILINE)
_PIECE = re.compile(r"\s*\S+|\s+")
_TURN_TOKENS = 4  # what a real template adds around each message


class EchoChatModel:
    """Repeats the best-fitting sentence of the sources; needs no model file. For tests and first looks.

    delay_s         pause before each word, so that a stream can be watched
    context_tokens  words it can read
    reply           always answer this instead
    """

    def __init__(
        self, *, name: str = "echo", context_tokens: int = 4096, delay_s: float = 0.0, reply: str | None = None
    ) -> None:
        self.name, self.context_tokens, self._delay_s, self._reply = name, context_tokens, delay_s, reply

    @property
    def fingerprint(self) -> str:
        return self.name

    def load(self) -> None:
        """Nothing to load."""

    def close(self) -> None:
        """Nothing to free."""

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of each word."""
        return [match.span() for match in re.finditer(r"\S+", text)]

    def count_prompt_tokens(self, messages: Sequence[ChatMessage]) -> int:
        return sum(self.count_tokens(message.text) + _TURN_TOKENS for message in messages) + _TURN_TOKENS

    def reusable_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Reads everything anew."""
        return 0

    def read_ahead(self, messages: Sequence[ChatMessage], *, at_most: int = 256, stop: StopSignal | None = None) -> int:
        """Nothing to read."""
        return 0

    def stream(self, request: ChatRequest, stop: StopSignal | None = None) -> Iterator[ChatDelta]:
        """Word by word. raises ContextOverflowError, ConfigError as every chat model"""
        if request.max_tokens < 1:
            raise ConfigError(f"max_tokens={request.max_tokens} must be at least 1")
        if request.json_schema is not None:
            raise ConfigError("the echo model writes no JSON; choose another chat model")
        prompt = self.count_prompt_tokens(request.messages)
        room = min(request.max_tokens, self.context_tokens - prompt)
        if room < 1:
            raise ContextOverflowError(
                f"the prompt has {prompt} tokens and the context of {self.name!r} only {self.context_tokens}; "
                "ask a shorter question, or raise FOOTNOTE_CONTEXT_TOKENS"
            )
        yield ChatDelta()
        yield from self._written(self._answer(request.messages), request.stop, prompt, room, stop)

    def _written(self, answer: str, stops: Sequence[str], prompt: int, room: int, stop) -> Iterator[ChatDelta]:
        gate = StopText(stops)
        reason: FinishReason = "stop"
        count = 0
        for piece in _PIECE.findall(answer):
            if stop is not None and stop.is_set():
                reason = "stopped"
                break
            if count == room:
                reason = "length"
                break
            if self._delay_s:
                time.sleep(self._delay_s)
            count += 1
            if text := gate.feed(piece):
                yield ChatDelta(text)
            if gate.found:
                break
        yield ChatDelta(gate.rest(), reason, TokenUsage(prompt, count))

    def _answer(self, messages: Sequence[ChatMessage]) -> str:
        begun = messages[-1].text if messages and messages[-1].role == "assistant" else ""
        whole = self._whole_answer([message for message in messages if message.role == "user"])
        return whole.removeprefix(begun)

    def _whole_answer(self, asked: Sequence[ChatMessage]) -> str:
        if self._reply is not None:
            return self._reply
        last = asked[-1].text if asked else ""
        sources, question = _taken_apart(last)
        if not sources:
            return f"You said: {question}"
        words = set(query_terms(question))
        sentences = [source[start:end].strip() for source in sources for start, end in sentence_spans(source)]
        best = max(sentences, key=lambda sentence: len(words & set(query_terms(sentence))), default="")
        return best if words & set(query_terms(best)) else "The documents don't say."


def _taken_apart(message: str) -> tuple[list[str], str]:
    """(sources, question) of a message that an injector made; no sources in any other."""
    if _INFORMATION in message:
        question, _, information = message.partition(_INFORMATION)
        return [part for part in information.split("\n\n") if part.strip()], question.strip()
    sources = _SOURCE.findall(message)
    asked = _QUESTION.findall(message)
    return sources, asked[-1].strip() if sources and asked else message.strip()
