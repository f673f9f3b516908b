"""A query and what travels with it through one call of the augmentor."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.domain import ChatMessage
from core.errors import ConfigError


class InvocationParameters:
    """A thread-safe map that carries data between the components of one call, for example who is asking."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = dict(values or {})
        self._lock = threading.Lock()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> InvocationParameters:
        return cls(values)

    def get(self, key: str, default: Any = None) -> Any:
        with self._lock:
            return self._values.get(key, default)

    def put(self, key: str, value: Any) -> InvocationParameters:
        with self._lock:
            self._values[key] = value
        return self

    def contains_key(self, key: str) -> bool:
        with self._lock:
            return key in self._values

    def to_dict(self) -> dict[str, Any]:
        with self._lock:
            return dict(self._values)


@dataclass(frozen=True)
class QueryMetadata:
    """Where a query comes from. `chat_memory` holds the turns before `user_message`, oldest first."""

    user_message: str = ""
    chat_memory_id: str | None = None
    chat_memory: tuple[ChatMessage, ...] = ()
    invocation_parameters: InvocationParameters = field(default_factory=InvocationParameters)


@dataclass(frozen=True)
class Query:
    """What is looked for. A transformer makes new ones with `with_text`; the metadata stays."""

    text: str
    metadata: QueryMetadata = field(default_factory=QueryMetadata)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ConfigError(f"a query's text must be a string, not {type(self.text).__name__}")

    def with_text(self, text: str) -> Query:
        return replace(self, text=text)
