"""Metadata: string keys, values of a few safe types, typed getters. The one mutable noun; `copy()` is independent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import TypeVar
from uuid import UUID

from core.errors import MetadataError

MetadataValue = str | int | float | bool | date | datetime | UUID
T = TypeVar("T")

_TYPES = (str, bool, int, float, datetime, date, UUID)
_TAGS: dict[type, str] = {datetime: "datetime", date: "date", UUID: "uuid"}
_FROM_TAG: dict[str, Callable[[str], MetadataValue]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "uuid": UUID,
}


class Metadata:
    """What is known about a document or a segment.

    `Metadata({"page": 3}).put("owner", "ann").get_int("page")` gives 3. `put`, `put_all` and `remove` change it and
    return it. A missing key gives None; a getter converts only where nothing is lost ("12" as int is 12).

    raises  MetadataError for a blank key, a value of another type, NaN or infinity, or an inexact conversion
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, MetadataValue] | None = None) -> None:
        self._values: dict[str, MetadataValue] = {}
        if values:
            self.put_all(values)

    @classmethod
    def from_dict(cls, values: Mapping[str, MetadataValue]) -> Metadata:
        return cls(values)

    def put(self, key: str, value: MetadataValue) -> Metadata:
        if not isinstance(key, str) or not key.strip():
            raise MetadataError(f"metadata key {key!r} must be a string that is not blank")
        if not isinstance(value, _TYPES):
            raise MetadataError(
                f"metadata {key!r} can't hold {value!r} of type {type(value).__name__}; "
                "use str, int, float, bool, date, datetime or UUID"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise MetadataError(f"metadata {key!r} can't hold {value!r} of type float; use a finite number")
        self._values[key] = value
        return self

    def put_all(self, values: Mapping[str, MetadataValue] | Metadata) -> Metadata:
        for key, value in (values.to_dict() if isinstance(values, Metadata) else values).items():
            self.put(key, value)
        return self

    def remove(self, key: str) -> Metadata:
        self._values.pop(key, None)
        return self

    def get(self, key: str) -> MetadataValue | None:
        return self._values.get(key)

    def get_string(self, key: str) -> str | None:
        return self._convert(key, "str", _to_string)

    def get_int(self, key: str) -> int | None:
        return self._convert(key, "int", _to_int)

    def get_float(self, key: str) -> float | None:
        return self._convert(key, "float", _to_float)

    def get_bool(self, key: str) -> bool | None:
        return self._convert(key, "bool", _to_bool)

    def get_date(self, key: str) -> date | None:
        return self._convert(key, "date", _to_date)

    def get_datetime(self, key: str) -> datetime | None:
        return self._convert(key, "datetime", _to_datetime)

    def get_uuid(self, key: str) -> UUID | None:
        return self._convert(key, "UUID", _to_uuid)

    def contains_key(self, key: str) -> bool:
        return key in self._values

    def copy(self) -> Metadata:
        copied = Metadata()
        copied._values = dict(self._values)  # checked when they came
        return copied

    def to_dict(self) -> dict[str, MetadataValue]:
        return dict(self._values)

    def merge(self, other: Metadata) -> Metadata:
        """A new Metadata with the keys of both; neither side changes. A key on both sides raises MetadataError."""
        both = sorted(self._values.keys() & other._values.keys())
        if both:
            raise MetadataError(f"can't merge metadata: {', '.join(map(repr, both))} stand on both sides")
        return self.copy().put_all(other)

    def to_json(self) -> dict[str, object]:
        """Plain JSON values; date, datetime and UUID become `{"type": …, "value": …}`, so that nothing is lost."""
        return {
            key: {"type": _TAGS[type(value)], "value": value.isoformat() if isinstance(value, date) else str(value)}
            if type(value) in _TAGS
            else value
            for key, value in self._values.items()
        }

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> Metadata:
        return cls(
            {
                key: _FROM_TAG[value["type"]](value["value"]) if isinstance(value, dict) else value  # type: ignore[misc]
                for key, value in values.items()
            }
        )

    def _convert(self, key: str, wanted: str, convert: Callable[[MetadataValue], T]) -> T | None:
        value = self._values.get(key)
        if value is None:
            return None
        try:
            return convert(value)
        except (ValueError, TypeError, OverflowError):
            raise MetadataError(f"metadata {key!r} holds {value!r}, which is not exactly a {wanted}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metadata) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Metadata({self._values!r})"


def _to_string(value: MetadataValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


def _to_int(value: MetadataValue) -> int:
    if isinstance(value, bool):
        raise TypeError
    if isinstance(value, float) and not value.is_integer():
        raise ValueError
    return int(value)  # type: ignore[arg-type]


def _to_float(value: MetadataValue) -> float:
    if isinstance(value, bool):
        raise TypeError
    number = float(value)  # type: ignore[arg-type]
    # int -> float loses digits above 2**53; a text may spell NaN.
    if not math.isfinite(number) or (isinstance(value, int) and int(number) != value):
        raise ValueError
    return number


def _to_bool(value: MetadataValue) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError


def _to_date(value: MetadataValue) -> date:
    if isinstance(value, datetime):
        if value.time() != value.min.time() or value.tzinfo is not None:
            raise ValueError
        return value.date()
    return value if isinstance(value, date) else date.fromisoformat(_text(value))


def _to_datetime(value: MetadataValue) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    return datetime.fromisoformat(_text(value))


def _to_uuid(value: MetadataValue) -> UUID:
    return value if isinstance(value, UUID) else UUID(_text(value))


def _text(value: MetadataValue) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
