"""From a question to its answer, by the shortest way that does it.

    small talk, no documents          answered at once, without a model
    search -> not in the documents    said so, with the closest passages, without a model
    search -> the model writes        `turn_writing.py`

It leaves out who runs it and when: that is `answering.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, wait
from typing import Any, Protocol

from core.domain import ChatMessage, Content
from core.errors import FootnoteError, NotFoundError, StoppedError
from core.events import Complete, Event, Failed, Partial, Result
from core.protocols import ChatModel, ComputeGate, ContentInjector, ConversationStore, DocumentStore, StopSignal
from core.query import InvocationParameters, Query, QueryMetadata
from core.rag.executor import IdleThreadExecutor
from core.rag.injectors import NumberedContentInjector
from core.rag.injectors.numbered import OVERVIEW_TEMPLATE
from core.rag.intent import read_intent
from core.rag.scope import PARAMETER as SCOPE
from core.records import MessageRecord, Source
from core.services import chat_texts as say
from core.services.chat_model import ChatModelOwner
from core.services.idle_work import IdleWork
from core.services.model_figures import ModelFigures
from core.services.turn import OnEvent, Turn
from core.services.turn_record import considered
from core.services.turn_writing import AnswerWriter
from core.settings import Settings

logger = logging.getLogger(__name__)

_HISTORY_MESSAGES = 10
_FIRST_JOBS = 3  # of a folder of thousands, the first ones are enough to begin with
_ANSWERED = ("complete", "stopped", "cut")


class Augmentor(Protocol):
    """`core.rag.augmentor.DefaultRetrievalAugmentor` fits; its own injector isn't used."""

    def augment(self, query: Query) -> Any: ...


class Refusal(Protocol):
    """`core.grounding.refusal.RefusalCheck` fits."""

    def decide(self, augmented: Any) -> Any: ...


class TurnRunner:
    """Answers one message at a time; the chat model has one owner, and that is who calls `run`.

    refusal   decides before the model runs whether the documents can't hold the answer; None never does
    injector  makes the prompt's last message; overview_injector for questions about whole documents
    executor  runs the search, so that a stop needn't wait for it
    arriving  the jobs that bring documents into a collection (None: any), the first of them first
    figures   what is known of the model's speed here

    `idle` is what the model can do between two questions.
    """

    def __init__(
        self,
        settings: Settings,
        store: ConversationStore,
        model: ChatModelOwner,
        augmentor: Augmentor,
        documents: DocumentStore,
        gate: ComputeGate,
        *,
        refusal: Refusal | None = None,
        injector: ContentInjector | None = None,
        overview_injector: ContentInjector | None = None,
        executor: Executor | None = None,
        arriving: Callable[[str | None], Sequence[int]] = lambda collection: (),
        figures: ModelFigures | None = None,
    ) -> None:
        self._settings, self._store, self._gate = settings, store, gate
        self._augmentor, self._documents = augmentor, documents
        self._refusal = refusal if settings.refusal else None
        self._injector = injector or NumberedContentInjector()
        self._overview_injector = overview_injector or NumberedContentInjector(prompt_template=OVERVIEW_TEMPLATE)
        self._executor = executor or IdleThreadExecutor()
        self._arriving = arriving
        self.figures = figures or ModelFigures()
        self._writer = AnswerWriter(settings, model, self.figures)
        self.idle = IdleWork(gate, self.figures, model.ready, self._beginning)

    def run(
        self,
        message: MessageRecord,
        stop: StopSignal,
        *,
        is_closing: Callable[[], bool] = lambda: False,
        on_event: OnEvent = lambda event: None,
        may_wait: bool = False,
    ) -> None:
        """Ends in a saved state whatever happens: complete, stopped, cut, failed or interrupted.

        may_wait  give the answer back as waiting while its first documents are still being indexed
        """
        try:
            question = self._store.message(message.reply_to or 0)
            conversation = self._store.get(message.conversation_id)
            turn = Turn(self._store, message, question, conversation, stop, is_closing, on_event)
            with self._gate.answering():
                self._answer(turn, may_wait)
        except StoppedError:
            state, reason = ("interrupted", say.CLOSED) if is_closing() else ("stopped", "")
            self._end(message.id, state=state, reason=reason)
        except FootnoteError as error:
            logger.warning("answer %d failed: %s", message.id, error)
            self._fail(message.id, error, on_event)
        except Exception:
            # A bug must not end the engine's thread: nobody would get an answer any more.
            logger.exception("answer %d failed", message.id)
            self._fail(message.id, FootnoteError(say.BROKEN), on_event)

    def rest(self, message: MessageRecord) -> None:
        """Its turn is over: the model may get ready for the conversation's next question.

        Unless the same answer is likely to be gone on with, or made again: then the model keeps what it has read.
        """
        try:
            ended = self._store.message(message.id).state in ("complete", "stopped")
        except FootnoteError:
            ended = False
        self.idle.answered(message.conversation_id if ended else None)

    def _answer(self, turn: Turn, may_wait: bool) -> None:
        if turn.message.record.get("goes_on") and turn.message.text:
            return self._writer.go_on(turn)
        text = turn.question.text
        before = self._typed_before(turn)
        if read_intent(text, has_history=bool(before)).kind == "small_talk":
            return self._say(turn, say.small_talk_reply(text))
        # Asked for in this order, a document that comes in between is counted.
        arriving = self._arriving(turn.scope.collection) if may_wait else ()
        documents = len(turn.scope.document_ids) or self._documents.count(collection=turn.scope.collection)
        if not documents and arriving:
            return self._give_back(turn, arriving)
        if not documents:
            return self._say(turn, say.NO_DOCUMENTS[say.language_of(text)])
        augmented = self._search(turn, before, documents)
        contents = list(augmented.contents)
        if self._refusal is not None:
            decision = self._refusal.decide(augmented)
            turn.record["refusal"] = {"score": decision.score, "threshold": decision.threshold}
            if decision.refused:
                return self._refuse(turn, contents, list(decision.closest), decision.signals)
        if not contents:
            return self._refuse(turn, [], [])
        is_overview = getattr(augmented.trace, "decision", "") == "overview"
        return self._writer.write(turn, contents, self._overview_injector if is_overview else self._injector)

    def _give_back(self, turn: Turn, arriving: Sequence[int]) -> None:
        """Until the first of them are there; the engine takes other questions meanwhile."""
        turn.check_stop()
        record = {**turn.message.record, "after_jobs": list(arriving[:_FIRST_JOBS])}
        self._store.update_message(turn.message.id, state="waiting", record=record)

    def _beginning(self, model: ChatModel, conversation_id: str) -> Sequence[ChatMessage]:
        conversation = self._store.get(conversation_id)
        return self._writer.beginning(model, conversation, self._store.memory(conversation_id))

    def _typed_before(self, turn: Turn) -> list[ChatMessage]:
        """The turns before, as they were typed: what a follow-up refers to."""
        messages = [message for message in self._store.messages(turn.conversation.id) if message.id < turn.question.id]
        answers = {m.reply_to: m for m in messages if m.role == "assistant" and m.state in _ANSWERED and m.text}
        turns: list[ChatMessage] = []
        for message in messages:
            if message.role == "user" and message.id in answers:
                turns += [ChatMessage("user", message.text), ChatMessage("assistant", answers[message.id].text)]
        return turns[-_HISTORY_MESSAGES:]

    def _search(self, turn: Turn, before: Sequence[ChatMessage], documents: int) -> Any:
        turn.phase("searching", say.searching_phase(documents))
        text = turn.question.text
        parameters = InvocationParameters({SCOPE: turn.scope})
        query = Query(text, QueryMetadata(text, turn.conversation.id, tuple(before), parameters))
        started = time.monotonic()
        future = self._executor.submit(self._augmentor.augment, query)
        while not wait([future], timeout=0.05).done:
            turn.check_stop()
        augmented = future.result()
        turn.check_stop()
        turn.timings["retrieval"] = time.monotonic() - started
        turn.record |= {
            "retriever": self._settings.retriever,
            "queries": list(augmented.trace.queries),
            "retrieval": augmented.trace.to_record(),
        }
        return augmented

    # ── answers without the model; memory doesn't keep them, for they say nothing about the documents ────────────────

    def _say(self, turn: Turn, text: str) -> None:
        turn.record["refused"] = False
        turn.on_event(Partial(text))
        turn.end(state="complete", text=text)
        turn.on_event(Complete(Result(text)))

    def _refuse(
        self,
        turn: Turn,
        contents: Sequence[Content],
        closest: Sequence[Content],
        signals: Mapping[str, float] | None = None,
    ) -> None:
        texts = say.NOT_FOUND if closest else say.NOTHING_FOUND
        if signals and signals.get("readable", 1) < 0.5 and say.has_other_script(turn.question.text, closest):
            texts = say.OTHER_SCRIPT
        text = texts[say.language_of(turn.question.text)]
        turn.record |= {"refused": True, "contents": considered(contents, closest)}
        turn.on_event(Partial(text))
        sources = [Source.from_content(number, content) for number, content in enumerate(closest, start=1)]
        turn.end(state="complete", text=text, sources=sources)
        turn.on_event(Complete(Result(text, tuple(closest))))

    # ── ends without a turn ──────────────────────────────────────────────────

    def _fail(self, message_id: int, error: FootnoteError, on_event: Callable[[Event], None]) -> None:
        self._end(message_id, state="failed", reason=str(error))
        on_event(Failed(error))

    def _end(self, message_id: int, **changes: Any) -> None:
        try:
            record = {key: value for key, value in self._store.message(message_id).record.items() if key != "phase"}
            self._store.update_message(message_id, record=record, **changes)
        except NotFoundError:
            logger.info("answer %d was deleted while it was made", message_id)
