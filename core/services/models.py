"""Which models are there, and what to do about one that isn't."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["idle", "loading", "ready", "missing", "failed"]


@dataclass(frozen=True)
class ModelState:
    """`message` is empty when all is well, else one sentence: what is missing and how to get it."""

    name: str
    state: State
    message: str = ""


class ModelService:
    """Asks the owners of the two models; loads nothing itself."""

    def __init__(self, chat_state: Callable[[], ModelState], embedding_state: Callable[[], ModelState]) -> None:
        self._chat_state, self._embedding_state = chat_state, embedding_state

    def chat_state(self) -> ModelState:
        return self._chat_state()

    def embedding_state(self) -> ModelState:
        return self._embedding_state()
