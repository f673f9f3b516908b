"""Answers that the model writes: prompt, reading, text as it grows, support of its sentences, memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core.domain import ChatMessage, ChatRequest, Content
from core.errors import ContextOverflowError, StoppedError
from core.events import Complete, Partial, Reading, Result, Retrieved
from core.grounding.instructions import without_instructions
from core.grounding.refusal_reply import is_refusal_reply
from core.grounding.support import support_of, without_markers
from core.protocols import ChatModel, ContentInjector
from core.rag.injectors import NumberedContentInjector
from core.rag.prompt import PromptPacker
from core.rag.reply import stream_reply
from core.records import ConversationRecord, Source
from core.services import chat_texts as say
from core.services.chat_model import ChatModelOwner
from core.services.memory_cost import memory_tokens
from core.services.model_figures import ModelFigures
from core.services.turn import Turn
from core.services.turn_record import considered, prompt_record
from core.settings import Settings

SAVE_EVERY_S = 0.25
RULES = "You answer questions about the user's documents."
_LEAST_ROOM = 16  # tokens that must be left for going on with a cut answer
_AGAIN_TEMPERATURE = 0.6  # a second answer to the same question shall differ


class AnswerWriter:
    """Uses the chat model; one turn at a time."""

    def __init__(self, settings: Settings, model: ChatModelOwner, figures: ModelFigures) -> None:
        self._settings, self._model, self._figures = settings, model, figures

    def write(self, turn: Turn, contents: Sequence[Content], injector: ContentInjector) -> None:
        """raises  ModelError, ContextOverflowError, StoppedError"""
        if self._model.state().state != "ready":
            # The sources don't wait for the model; without one they are all that there is.
            turn.phase("searching", "Loading the chat model", sources=_sources(contents[: self._settings.max_results]))
        model = self._model.get(turn.stop)
        history = turn.store.memory(turn.conversation.id, before=turn.question.id)
        augmented = self._keeps_passages(turn.conversation)
        prompt = self._packer(model, injector, augmented).pack(turn.question.text, contents, history)
        again = int(turn.message.record.get("again", 0))
        sampling = {
            "temperature": max(self._settings.temperature, _AGAIN_TEMPERATURE if again else 0.0),
            "seed": self._settings.seed + again,
        }
        turn.record |= {
            **prompt_record(prompt),
            **sampling,
            "contents": considered(contents, prompt.contents),
            "model": model.name,
            "again": again,
        }
        turn.on_event(Retrieved(prompt.contents, prompt))
        request = ChatRequest(prompt.messages, max_tokens=prompt.answer_tokens, **sampling)
        result = self._stream(turn, model, request, prompt.tokens, sources=_sources(prompt.contents))
        self._keep(
            turn,
            result,
            [without_instructions(content.segment.text) for content in prompt.contents],
            remembered_question=prompt.user_message if augmented else turn.question.text,
        )

    def beginning(
        self, model: ChatModel, conversation: ConversationRecord, history: Sequence[ChatMessage]
    ) -> tuple[ChatMessage, ...]:
        """What the next prompt of a conversation begins with, whatever is asked."""
        packer = self._packer(model, NumberedContentInjector(), self._keeps_passages(conversation))
        return packer.beginning(history)

    def go_on(self, turn: Turn) -> None:
        """Go on with an answer that was cut, from the very token where it stopped.

        raises  ContextOverflowError where the context is full
        """
        begun = turn.message.text
        turn.record = {key: value for key, value in turn.message.record.items() if key not in ("goes_on", "phase")}
        model = self._model.get(turn.stop)
        sent = [ChatMessage(item["role"], item["text"]) for item in turn.record["prompt"]["messages"]]
        messages = (*sent, ChatMessage("assistant", begun))
        tokens = model.count_prompt_tokens(messages)
        room = min(self._settings.max_answer_tokens, model.context_tokens - tokens)
        if room < _LEAST_ROOM:
            raise ContextOverflowError(
                "there is no room left in the model's context to go on; ask for the rest in a new question"
            )
        sampling = {key: turn.record[key] for key in ("temperature", "seed")}
        result = self._stream(turn, model, ChatRequest(messages, max_tokens=room, **sampling), tokens, begun=begun)
        sources = [without_instructions(source.text) for source in turn.message.sources]
        self._keep(turn, result, sources, remembered_question=turn.question.memory_text)

    def _keeps_passages(self, conversation: ConversationRecord) -> bool:
        return bool(conversation.options.get("store_retrieved_content", self._settings.store_retrieved_content))

    def _packer(self, model: ChatModel, injector: ContentInjector, augmented: bool) -> PromptPacker:
        settings = self._settings
        return PromptPacker(
            model,
            injector,
            rules=RULES,
            source_tokens=settings.source_tokens,
            answer_tokens=settings.max_answer_tokens,
            memory_messages=settings.memory_messages,
            memory_tokens=memory_tokens(settings, augmented=augmented, context_tokens=model.context_tokens),
        )

    def _stream(
        self, turn: Turn, model: ChatModel, request: ChatRequest, tokens: int, *, begun: str = "", **changes: Any
    ) -> Result:
        """Read the prompt and write the answer, saving it as it grows."""
        known = model.reusable_tokens(request.messages)
        new = tokens - known
        estimate = self._figures.speed(model).seconds(new, known=known)
        turn.record["reading"] = {
            "tokens": new,
            "known": known,
            "seconds": round(estimate, 1),
            "started": time.time(),
        }
        turn.phase("reading", say.reading_phase(new, estimate), **changes)
        started = written = saved = time.monotonic()
        text = begun
        for event in stream_reply(model, request, stop=turn.stop, begun=begun):
            now = time.monotonic()
            match event:
                case Reading():
                    written = now
                    turn.timings["reading"] = now - started
                    self._figures.learn_reading(model, new, now - started, known=known)
                    turn.phase("writing", "")
                case Partial():
                    turn.timings.setdefault("first_token", now - turn.begun)
                    text += event.text
                    if now - saved >= SAVE_EVERY_S:
                        saved = now
                        turn.grow(text)
                    turn.on_event(event)
                case Complete():
                    turn.timings["writing"] = now - written
                    usage = event.result.token_usage
                    turn.record["usage"] = {
                        "input_tokens": usage.input_tokens,
                        "output_tokens": usage.output_tokens,
                        "reused_tokens": event.result.reused_tokens,
                    }
                    return event.result
        raise StoppedError("stopped")

    def _keep(self, turn: Turn, result: Result, sources: Sequence[str], *, remembered_question: str | None) -> None:
        """Save the whole answer with what supports it, and give both messages to memory.

        Memory gets no empty answer, none that was interrupted, and no refusal: it would make the next one likelier.
        """
        text = without_markers(result.content)
        if result.finish_reason == "stopped" and turn.is_closing():
            turn.end(state="interrupted", reason=say.CLOSED, text=text)
            return
        if result.finish_reason == "empty":
            turn.end(state="failed", reason=say.NO_ANSWER, text="", memory_text=None)
            turn.on_event(Complete(result))
            return
        refused = is_refusal_reply(text)
        sentences = [one.to_dict() for one in support_of(text, sources, question=turn.question.text)]
        if (turn.record.get("retrieval") or {}).get("decision") == "overview":
            # A summary says it in its own words: words can't tell whether it's right.
            sentences = [{**s, "support": "none"} if s["support"] != "supported" else s for s in sentences]
        keeps = bool(text.strip()) and not refused
        if keeps:
            turn.store.update_message(turn.question.id, memory_text=remembered_question)
        turn.record |= {"refused": refused, "finish_reason": result.finish_reason}
        state, reason = {"length": ("cut", say.CUT), "stopped": ("stopped", "")}.get(
            result.finish_reason, ("complete", "")
        )
        memory_text = text if keeps else None
        turn.end(state=state, reason=reason, text=text, sentences=sentences, memory_text=memory_text)
        turn.on_event(Complete(replace(result, content=text)))


def _sources(contents: Sequence[Content]) -> list[Source]:
    return [Source.from_content(number, content) for number, content in enumerate(contents, start=1)]
