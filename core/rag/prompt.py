"""Packs rules, conversation, sources and question into the model's context, and says what had to go.

    rules -> earlier turns -> sources and question, room for the answer behind

The beginning doesn't change from turn to turn (no clock, no counter), so that the model needn't read it again. What
doesn't fit goes in this order: sources from the lowest-ranked up (the best one stays), the oldest turns in blocks, the
best source cut at a sentence, at last all sources. Never the rules, never the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from core.domain import ChatMessage, Content
from core.errors import ContextOverflowError
from core.protocols import ChatModel, ContentInjector
from core.text.sentences import sentence_spans

TURN_BLOCK = 4  # messages that leave together


@dataclass(frozen=True)
class PromptPart:
    """A piece of the prompt with its tokens. `number` is a source's [n], or a turn's place in the conversation."""

    kind: Literal["rules", "turn", "source", "question"]
    text: str
    tokens: int
    role: str = "user"
    number: int | None = None


@dataclass(frozen=True)
class Cut:
    """Something that isn't in the prompt, and why: a sentence for people."""

    kind: Literal["source", "turn"]
    reason: str
    content: Content | None = None
    messages: int = 0


@dataclass(frozen=True)
class PackedPrompt:
    """What is sent. `contents` are the sources in it, in order: number n is contents[n - 1]."""

    messages: tuple[ChatMessage, ...]
    parts: tuple[PromptPart, ...]
    contents: tuple[Content, ...]
    cut: tuple[Cut, ...]
    tokens: int
    answer_tokens: int  # room that is kept for the answer

    @property
    def user_message(self) -> str:
        """The last message as it is sent: the question with its sources."""
        return self.messages[-1].text


@dataclass
class PromptPacker:
    """Counts with the model's own tokenizer.

    injector         makes the last message from contents and question
    rules            the system message; "" for none
    source_tokens    most tokens of sources
    answer_tokens    longest answer; this much room is kept, or a third of a small context
    memory_messages  most earlier messages, memory_tokens most tokens of them
    """

    model: ChatModel
    injector: ContentInjector
    rules: str = ""
    source_tokens: int = 1500
    answer_tokens: int = 512
    memory_messages: int = 10
    memory_tokens: int = 1200
    _counts: dict[str, int] = field(default_factory=dict, repr=False)

    def with_rules(self, rules: str) -> PromptPacker:
        """The same packer with other rules."""
        return self if rules == self.rules else replace(self, rules=rules)

    def pack(self, question: str, contents: Sequence[Content], history: Sequence[ChatMessage] = ()) -> PackedPrompt:
        """history  all earlier messages, oldest first; a question, its answer, a question, its answer …
        raises      ContextOverflowError when rules and question alone leave no room
        """
        room = min(self.answer_tokens, self.model.context_tokens // 3)
        limit = self.model.context_tokens - room
        cut: list[Cut] = []
        kept = self._within_source_tokens(list(contents), cut)
        turns = self._within_memory(list(history), cut)
        kept, turns = self._within_context(question, kept, turns, limit, cut)
        messages = self._messages(question, kept, turns)
        tokens = self.model.count_prompt_tokens(messages)
        return PackedPrompt(
            messages, self._parts(question, kept, turns, messages), tuple(kept), tuple(cut), tokens,
            min(self.answer_tokens, self.model.context_tokens - tokens),
        )  # fmt: skip

    def beginning(self, history: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """Rules and turns that the next prompt begins with, whatever is asked, if there is room for them then."""
        rules = [ChatMessage("system", self.rules)] if self.rules else []
        return (*rules, *self._within_memory(list(history), []))

    # ── what stays ───────────────────────────────────────────────────────────

    def _within_source_tokens(self, contents: list[Content], cut: list[Cut]) -> list[Content]:
        kept: list[Content] = []
        used = 0
        for content in contents:
            tokens = self._count(content.segment.text)
            if not kept and tokens > self.source_tokens:
                shorter = self._shortened(content, self.source_tokens)
                cut.append(Cut("source", f"shortened to the {self.source_tokens} tokens for sources", content))
                content, tokens = shorter, self.source_tokens
            if used + tokens > self.source_tokens:
                break
            kept.append(content)
            used += tokens
        reason = f"no room left in the {self.source_tokens} tokens for sources"
        cut += [Cut("source", reason, content) for content in contents[len(kept) :]]
        return kept

    def _within_memory(self, history: list[ChatMessage], cut: list[Cut]) -> list[ChatMessage]:
        start = _next_turn(history, max(0, len(history) - self.memory_messages), len(history))
        costs = [self._count(message.text) for message in history]
        while start < len(history) and sum(costs[start:]) > self.memory_tokens:
            start = _next_turn(history, start + 1, len(history))
        if start == len(history):
            # Of turns so long that a block is more than fits, as many as fit.
            fitting = (at for at in _questions(history) if sum(costs[at:]) <= self.memory_tokens)
            start = next((at for at in fitting if at >= len(history) - self.memory_messages), start)
        if start:
            cut.append(Cut("turn", "older than what memory keeps", messages=start))
        return history[start:]

    def _within_context(
        self, question: str, contents: list[Content], turns: list[ChatMessage], limit: int, cut: list[Cut]
    ) -> tuple[list[Content], list[ChatMessage]]:
        reason = f"no room left in the context of {self.model.context_tokens} tokens"

        def fits() -> bool:
            return self.model.count_prompt_tokens(self._messages(question, contents, turns)) <= limit

        while not fits():
            if len(contents) > 1:
                cut.append(Cut("source", reason, contents.pop()))
            elif turns:
                start = _next_turn(turns, 1, len(turns))
                cut.append(Cut("turn", reason, messages=start))
                turns = turns[start:]
            elif contents and (shorter := self._halved(contents[0])) is not None:
                cut.append(Cut("source", f"shortened: {reason}", contents[0]))
                contents = [shorter]
            elif contents:
                cut.append(Cut("source", reason, contents.pop()))
            else:
                alone = self.model.count_prompt_tokens(self._messages(question, [], []))
                raise ContextOverflowError(
                    f"the question is too long: with the rules it has {alone} tokens, and {limit} fit beside the "
                    "answer; ask a shorter question, or raise FOOTNOTE_CONTEXT_TOKENS"
                )
        return contents, turns

    def _halved(self, content: Content) -> Content | None:
        tokens = self._count(content.segment.text) // 2
        return self._shortened(content, tokens) if tokens >= 16 else None

    def _shortened(self, content: Content, tokens: int) -> Content:
        """The beginning of a content, whole sentences where there are any: still an exact slice."""
        text = content.segment.text
        end = 0
        for _, at in sentence_spans(text):
            if self._count(text[:at]) > tokens:
                break
            end = at
        if not end:
            end = _longest(text, lambda size: self._count(text[:size]) <= tokens)
        segment = content.segment
        last = None if segment.start is None else segment.start + end
        return replace(content, segment=replace(segment, text=text[:end], end=last, embedded_text=None))

    # ── what is sent ─────────────────────────────────────────────────────────

    def _messages(
        self, question: str, contents: Sequence[Content], turns: Sequence[ChatMessage]
    ) -> tuple[ChatMessage, ...]:
        rules = [ChatMessage("system", self.rules)] if self.rules else []
        return (*rules, *turns, ChatMessage("user", self.injector.inject(contents, question)))

    def _parts(self, question, contents, turns, messages) -> tuple[PromptPart, ...]:
        parts = [PromptPart("rules", self.rules, self._count(self.rules), "system")] if self.rules else []
        for number, turn in enumerate(turns, start=1):
            parts.append(PromptPart("turn", turn.text, self._count(turn.text), turn.role, number))
        used = 0
        for number, content in enumerate(contents, start=1):
            tokens = self._count(content.segment.text)
            used += tokens
            parts.append(PromptPart("source", content.segment.text, tokens, number=number))
        asked = max(self._count(messages[-1].text) - used, 0)
        return (*parts, PromptPart("question", question, asked))

    def _count(self, text: str) -> int:
        if text not in self._counts:
            if len(self._counts) > 5000:
                self._counts.clear()
            self._counts[text] = self.model.count_tokens(text)
        return self._counts[text]


def _next_turn(history: Sequence[ChatMessage], at_least: int, end: int) -> int:
    """The first place from `at_least` on where history may begin: a question, a whole number of blocks from the start.

    Blocks, so that the beginning of the prompt stays the same for some turns before it moves.
    """
    if at_least <= 0:
        return 0
    start = -(-at_least // TURN_BLOCK) * TURN_BLOCK
    while start < end and history[start].role != "user":
        start += 1
    return min(start, end)


def _questions(history: Sequence[ChatMessage]) -> list[int]:
    return [place for place, message in enumerate(history) if message.role == "user"]


def _longest(text: str, fits) -> int:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return max(low, 1)
