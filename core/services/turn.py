"""An answer in work, and its saving: everything that people see of it is in the store as it happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from core.errors import StoppedError
from core.events import Event
from core.protocols import ConversationStore, StopSignal
from core.rag.scope import Scope
from core.records import ConversationRecord, MessageRecord
from core.services.turn_record import timings_of

OnEvent = Callable[[Event], None]


@dataclass
class Turn:
    """A question, the answer that is being made for it, and what is known so far."""

    store: ConversationStore
    message: MessageRecord
    question: MessageRecord
    conversation: ConversationRecord
    stop: StopSignal
    is_closing: Callable[[], bool]
    on_event: OnEvent
    begun: float = field(default_factory=time.monotonic)
    record: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        options = self.conversation.options
        return Scope(options.get("collection") or None, tuple(options.get("document_ids") or ()))

    def check_stop(self) -> None:
        """raises StoppedError when somebody pressed stop"""
        if self.stop.is_set():
            raise StoppedError("stopped")

    def phase(self, state: str, phase: str, **changes: Any) -> None:
        """Say what is happening, in words."""
        self.check_stop()
        self.record["phase"] = phase
        self.store.update_message(self.message.id, state=state, record=dict(self.record), **changes)

    def grow(self, text: str) -> None:
        self.store.update_message(self.message.id, text=text)

    def save(self, **changes: Any) -> None:
        self.store.update_message(self.message.id, record=dict(self.record), **changes)

    def end(self, *, state: str, **changes: Any) -> None:
        """The last saving: the phase goes, the times come."""
        self.record.pop("phase", None)
        self.record["timings"] = timings_of(self.timings, time.monotonic() - self.begun, self.record.get("usage"))
        self.save(state=state, **changes)
