"""Conversations and their answers: what the chat page and the command line call. Nothing here waits for an answer but
`answer_now`; the engine writes it into the store, and whoever looks sees it grow."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.chat_models.tuning import Tuning
from core.errors import ConfigError
from core.events import Event
from core.protocols import ConversationStore
from core.records import MESSAGE_ENDED, ConversationRecord, MessageRecord
from core.services.answering import AnswerEngine
from core.services.chat_model import ChatModelOwner
from core.services.chat_texts import title_of
from core.services.conversation_export import markdown_of
from core.services.memory_cost import MemoryCost, memory_cost_of
from core.services.models import ModelState
from core.services.owners import is_dead
from core.services.turn_runner import TurnRunner
from core.settings import Settings

MAX_QUESTION_CHARS = 100_000
OPTIONS = ("collection", "document_ids", "store_retrieved_content")


class ChatService:
    """Thread-safe. `start` begins to load the chat model and to answer; `close` ends both."""

    def __init__(self, settings: Settings, store: ConversationStore, model: ChatModelOwner, runner: TurnRunner) -> None:
        self._settings, self._store, self._model = settings, store, model
        self._figures = runner.figures
        self._engine = AnswerEngine(store, runner)

    def start(self) -> None:
        self._store.interrupt_abandoned(is_dead)
        self._model.start()
        self._engine.start()

    def close(self) -> None:
        self._engine.close()
        self._model.close()

    def model_state(self) -> ModelState:
        return self._model.state()

    def model_speed(self) -> Tuning | None:
        """How fast the model was found to read and write on this machine, and with what; None until it was measured."""
        model = self._model.ready()
        return None if model is None else self._figures.tuning(model)

    def is_resting(self) -> bool:
        """Nothing is being answered, and the model has got ready for the next question."""
        return self._engine.is_resting()

    # ── conversations ────────────────────────────────────────────────────────

    def conversations(self, search: str = "") -> list[ConversationRecord]:
        return self._store.list(search=search)

    def create(self, options: Mapping[str, Any] | None = None) -> ConversationRecord:
        """options  collection (None for all), document_ids, store_retrieved_content"""
        return self._store.create(options=_checked(options or {}))

    def conversation(self, conversation_id: str) -> ConversationRecord:
        return self._store.get(conversation_id)

    def rename(self, conversation_id: str, title: str) -> None:
        if not title.strip():
            raise ConfigError("a conversation's title can't be empty")
        self._store.update(conversation_id, title=title_of(title))

    def delete(self, conversation_id: str) -> None:
        """With its messages; an answer that is being written there stops."""
        for message in self._store.messages(conversation_id):
            self._engine.stop(message.id)
        self._store.delete(conversation_id)

    def set_options(self, conversation_id: str, **options: Any) -> None:
        """The others stay as they are."""
        known = dict(self._store.get(conversation_id).options)
        self._store.update(conversation_id, options=known | _checked(options))

    # ── turns ────────────────────────────────────────────────────────────────

    def ask(
        self, conversation_id: str, text: str, *, request_key: str, after_jobs: Sequence[int] = ()
    ) -> tuple[MessageRecord, MessageRecord]:
        """The question and its waiting answer, at once. The same request_key again gives the same two.

        after_jobs  files that were added with the question: it's answered when these jobs have ended

        raises  ConfigError for a blank or an absurdly long question
        """
        if not any(character.isprintable() and not character.isspace() for character in text):
            raise ConfigError("the question is empty; ask something about your documents")
        if len(text) > MAX_QUESTION_CHARS:
            raise ConfigError(
                f"the question has {len(text):,} characters and at most {MAX_QUESTION_CHARS:,} are taken; "
                "drop long texts in as a file"
            )
        turn = self._store.add_turn(conversation_id, text, request_key=request_key, after_jobs=after_jobs)
        if not self._store.get(conversation_id).title:
            self._store.update(conversation_id, title=title_of(text))
        self._engine.wake()
        return turn

    def messages(self, conversation_id: str) -> list[MessageRecord]:
        return self._store.messages(conversation_id)

    def message(self, message_id: int) -> MessageRecord:
        return self._store.message(message_id)

    def stop(self, message_id: int) -> None:
        """What was written stays. Stopping an ended answer does nothing."""
        self._store.request_stop(message_id)
        self._engine.stop(message_id)

    def regenerate(self, message_id: int) -> MessageRecord:
        """Make the last answer of a conversation again. After a complete one the seed is another, so it may differ."""
        message = self._last_answer(message_id)
        again = int(message.record.get("again", 0)) + (message.state == "complete")
        self._store.update_message(
            message_id,
            text="",
            state="waiting",
            reason="",
            sources=(),
            sentences=(),
            memory_text=None,
            record={"again": again},
        )
        self._engine.wake()
        return self._store.message(message_id)

    def continue_answer(self, message_id: int) -> MessageRecord:
        """Go on with an answer that was cut."""
        message = self._last_answer(message_id)
        if message.state != "cut":
            raise ConfigError("only an answer that was cut can be gone on with")
        self._store.update_message(message_id, state="waiting", reason="", record={**message.record, "goes_on": True})
        self._engine.wake()
        return self._store.message(message_id)

    def answer_now(
        self,
        text: str,
        *,
        conversation_id: str | None = None,
        collection: str | None = None,
        document_ids: tuple[int, ...] = (),
        on_event: Callable[[Event], None] | None = None,
    ) -> MessageRecord:
        """Ask and wait for the ended answer, for the command line. The same way as through `ask`.

        collection, document_ids  of a new conversation; of a known one they replace what was chosen where given
        on_event                  gets `core.events` as they happen, if this process answers
        """
        scope = {"collection": collection} if collection else {}
        scope |= {"document_ids": list(document_ids)} if document_ids else {}
        if conversation_id is None:
            conversation_id = self.create(scope).id
        elif scope:
            self.set_options(conversation_id, **scope)
        _, answer = self.ask(conversation_id, text, request_key=uuid.uuid4().hex)
        return self._engine.answer(answer.id, on_event or (lambda event: None))

    # ── about a conversation ─────────────────────────────────────────────────

    def memory_cost(self, conversation_id: str) -> MemoryCost:
        model = self._model.ready()
        speed = self._figures.speed(model) if model is not None else None
        return memory_cost_of(self._store.messages(conversation_id), self._settings, speed)

    def export_markdown(self, conversation_id: str) -> str:
        return markdown_of(self._store.get(conversation_id), self._store.messages(conversation_id))

    def _last_answer(self, message_id: int) -> MessageRecord:
        message = self._store.message(message_id)
        last = self._store.messages(message.conversation_id)[-1]
        if message.role != "assistant" or message.id != last.id:
            raise ConfigError("only the last answer of a conversation can be made again or gone on with")
        if message.state not in MESSAGE_ENDED:
            raise ConfigError("this answer is still being made; stop it first")
        return message


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(options.keys() - set(OPTIONS))
    if unknown:
        raise ConfigError(f"a conversation has no option {unknown[0]!r}; choose among {', '.join(OPTIONS)}")
    kept = dict(options)
    if "document_ids" in kept:
        kept["document_ids"] = [int(document_id) for document_id in kept["document_ids"] or ()]
    return kept
