"""A model's chat template, rendered so that no message text can open or close a turn.

The template is rendered with a placeholder in place of each text. What comes out is cut at the placeholders: the parts
between them are the template's own and may hold turn markers; the texts are given back as plain text, to be tokenised
without special tokens. `<|im_end|>` in a document so stays seven letters and some signs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from core.domain import ChatMessage
from core.errors import ModelError

_PLACEHOLDER = re.compile(r"FOOTNOTExTEXTx(\d+)xEND")


@dataclass(frozen=True)
class PromptPart:
    """A piece of a rendered prompt. `is_template`: written by the template, its markers are real. `role`: of texts."""

    text: str
    is_template: bool
    role: str = ""


class ChatTemplate:
    """`ChatTemplate(source).render(messages)` gives the prompt's parts, the opening of the answer included.

    raises  ModelError where there is no template, or it can't be read
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", model: str = "this model") -> None:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        if not source.strip():
            raise ModelError(
                f"{model!r} has no chat template, so it can't hold a conversation; choose an instruct or chat model"
            )
        self.model, self._bos, self._eos = model, bos, eos
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = _refuse
        # A fixed day: a clock in the prompt's beginning would make every prompt new to the model.
        environment.globals["strftime_now"] = lambda form: date(2025, 1, 1).strftime(form)
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelError(f"the chat template of {model!r} can't be read: {error}") from error

    def render(self, messages: Sequence[ChatMessage]) -> list[PromptPart]:
        """Every text once, in the template's order. Where there is no system role, it goes in front of the question.

        An assistant's message at the end is an answer that was begun; the prompt ends with it.
        """
        if messages and messages[-1].role == "assistant":
            # An answer that was begun: the model goes on with it instead of opening a new one.
            begun = messages[-1].text
            return [*self.render(messages[:-1]), *([PromptPart(begun, False, "assistant")] if begun else [])]
        texts = [message.text for message in messages]
        roles = [message.role for message in messages]
        try:
            return self._parts(self._rendered(roles), texts, roles)
        except ModelError:
            if roles[:1] != ["system"] or roles[1:2] != ["user"]:
                raise
        joined = [f"{texts[0]}\n\n{texts[1]}", *texts[2:]]
        return self._parts(self._rendered(roles[1:]), joined, roles[1:])

    def _rendered(self, roles: Sequence[str]) -> str:
        from jinja2 import TemplateError

        messages = [{"role": role, "content": f"FOOTNOTExTEXTx{at}xEND"} for at, role in enumerate(roles)]
        try:
            return self._template.render(
                messages=messages, add_generation_prompt=True, bos_token=self._bos, eos_token=self._eos
            )
        except (TemplateError, TypeError, ValueError, KeyError, AttributeError) as error:
            raise ModelError(f"the chat template of {self.model!r} refuses this conversation: {error}") from error

    def _parts(self, rendered: str, texts: Sequence[str], roles: Sequence[str]) -> list[PromptPart]:
        pieces = _PLACEHOLDER.split(rendered)
        used = [int(number) for number in pieces[1::2]]
        if sorted(used) != list(range(len(texts))):
            raise ModelError(f"the chat template of {self.model!r} leaves out a message; choose another model")
        parts = [PromptPart(pieces[0], True)]
        for number, after in zip(used, pieces[2::2], strict=True):
            parts += [PromptPart(texts[number], False, roles[number]), PromptPart(after, True)]
        return [part for part in parts if part.text]


def _refuse(message: str) -> None:
    from jinja2 import TemplateError

    raise TemplateError(message)
