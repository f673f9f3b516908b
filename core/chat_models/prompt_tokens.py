"""From messages to the ids that a model is sent: the template's own parts, the texts, answers as they were written."""

from __future__ import annotations

from collections.abc import Sequence

from core.chat_models.chat_template import ChatTemplate, PromptPart
from core.chat_models.llama_runtime import LlamaRuntime
from core.chat_models.written_answers import WrittenAnswers
from core.domain import ChatMessage


class PromptTokens:
    """Turn markers are special tokens only where the template wrote them.

    An answer of this model keeps the tokens that it was written with: they are in the context already.
    """

    def __init__(self, runtime: LlamaRuntime, template: ChatTemplate) -> None:
        self._runtime, self._template = runtime, template
        self._answers = WrittenAnswers()

    def of(self, messages: Sequence[ChatMessage]) -> list[int]:
        return self._of_parts(self._template.render(messages))

    def opening(self, messages: Sequence[ChatMessage]) -> list[int]:
        """What every prompt of these messages and one more question begins with."""
        parts = self._template.render([*messages, ChatMessage("user", "?")])
        # Where the template has no system role the rules stand in the question's own part, and go with it.
        question = max(place for place, part in enumerate(parts) if not part.is_template)
        return self._of_parts(parts[:question]) if question else []

    def keep_written(self, messages: Sequence[ChatMessage], text: str, tokens: Sequence[int]) -> None:
        """An answer to these messages; of one that was gone on with, the whole."""
        if messages and messages[-1].role == "assistant":
            begun = messages[-1].text
            text, tokens = begun + text, [*self._of_part(PromptPart(begun, False, "assistant")), *tokens]
        self._answers.keep(text, tokens)

    def _of_parts(self, parts: Sequence[PromptPart]) -> list[int]:
        tokens = [token for part in parts for token in self._of_part(part)]
        bos = self._runtime.bos
        if self._runtime.adds_bos and bos >= 0 and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return tokens

    def _of_part(self, part: PromptPart) -> list[int]:
        written = self._answers.tokens_of(part.text) if part.role == "assistant" else None
        return self._runtime.tokenize(part.text, special=part.is_template) if written is None else written
