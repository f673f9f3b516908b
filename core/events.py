"""What happens while an answer is made, in order: Retrieved, Partial …, then Complete or Failed. A page draws these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.domain import Content, FinishReason, TokenUsage
from core.errors import FootnoteError
from core.rag.prompt import PackedPrompt


@dataclass(frozen=True)
class Result:
    """An answer. `sources`: the contents that were in the prompt, in the order of their numbers.

    finish_reason  "stop", "length" (cut), "stopped" (somebody pressed stop) or "empty" (nothing was said)
    """

    content: str
    sources: tuple[Content, ...] = ()
    token_usage: TokenUsage = field(default_factory=TokenUsage)
    finish_reason: FinishReason = "stop"
    reused_tokens: int = 0  # of the prompt, not read again


@dataclass(frozen=True)
class Retrieved:
    """The sources are known and the prompt is packed; nothing was read by the model yet. `trace`: the augmentor's."""

    contents: tuple[Content, ...]
    prompt: PackedPrompt
    trace: Any = None


@dataclass(frozen=True)
class Reading:
    """The prompt has been read; the first word comes next."""

    reused_tokens: int = 0


@dataclass(frozen=True)
class Partial:
    """Some more text."""

    text: str


@dataclass(frozen=True)
class Complete:
    result: Result


@dataclass(frozen=True)
class Failed:
    error: FootnoteError


Event = Retrieved | Reading | Partial | Complete | Failed
