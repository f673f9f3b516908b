"""Filters over metadata: twelve kinds, one meaning in every store.

    metadata_key("userId").is_equal_to("12345") & ~metadata_key("page").is_less_than(3)

A missing key matches only IsNotEqualTo, IsNotIn and Not of the others. int and float compare as numbers; any other mix
of types raises ConfigError when it meets such a value. ContainsString is literal and case-sensitive.
`matches(metadata)` is the meaning; a store may compute the same faster.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, ClassVar

from core.errors import ConfigError, FilterError, MetadataError
from core.metadata import Metadata, MetadataValue


class Filter:
    """Something a metadata either matches or not; combine with `&`, `|` and `~`."""

    def matches(self, metadata: Metadata) -> bool:
        raise TypeError(f"{type(self).__name__} doesn't say what it matches")

    def keys(self) -> frozenset[str]:
        """The metadata keys it looks at."""
        raise TypeError(f"{type(self).__name__} doesn't say which keys it reads")

    def __and__(self, other: Filter) -> Filter:
        return And(self, other)

    def __or__(self, other: Filter) -> Filter:
        return Or(self, other)

    def __invert__(self) -> Filter:
        return Not(self)


@dataclass(frozen=True)
class _OnKey(Filter):
    key: str

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key.strip():
            raise ConfigError(f"a filter's key {self.key!r} must be a string that is not blank")

    def keys(self) -> frozenset[str]:
        return frozenset((self.key,))


@dataclass(frozen=True)
class _OnValue(_OnKey):
    value: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_value(self.key, self.value)


@dataclass(frozen=True)
class IsEqualTo(_OnValue):
    def matches(self, metadata: Metadata) -> bool:
        actual = metadata.get(self.key)
        return actual is not None and _compare(self.key, actual, self.value) == 0


@dataclass(frozen=True)
class IsNotEqualTo(_OnValue):
    def matches(self, metadata: Metadata) -> bool:
        return not IsEqualTo(self.key, self.value).matches(metadata)


@dataclass(frozen=True)
class _Ordered(_OnValue):
    signs: ClassVar[tuple[int, ...]] = ()

    def matches(self, metadata: Metadata) -> bool:
        actual = metadata.get(self.key)
        return actual is not None and _compare(self.key, actual, self.value) in self.signs


class IsGreaterThan(_Ordered):
    signs = (1,)


class IsGreaterThanOrEqualTo(_Ordered):
    signs = (0, 1)


class IsLessThan(_Ordered):
    signs = (-1,)


class IsLessThanOrEqualTo(_Ordered):
    signs = (-1, 0)


@dataclass(frozen=True)
class IsIn(_OnKey):
    values: tuple

    def __init__(self, key: str, values: Collection[MetadataValue]) -> None:
        if isinstance(values, str) or not isinstance(values, Collection):
            raise ConfigError(f"the values of a filter on {key!r} must be a list, not {reprlib.repr(values)}")
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "values", tuple(values))
        self.__post_init__()
        for value in self.values:
            _check_value(key, value)

    def matches(self, metadata: Metadata) -> bool:
        return any(IsEqualTo(self.key, value).matches(metadata) for value in self.values)


class IsNotIn(IsIn):
    def matches(self, metadata: Metadata) -> bool:
        return not super().matches(metadata)


@dataclass(frozen=True)
class ContainsString(_OnValue):
    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.value, str):
            raise ConfigError(f"contains_string on {self.key!r} needs a string, not {self.value!r}")

    def matches(self, metadata: Metadata) -> bool:
        actual = metadata.get(self.key)
        if actual is None:
            return False
        if not isinstance(actual, str):
            raise _mixed(self.key, actual, self.value)
        return self.value in actual


@dataclass(frozen=True)
class And(Filter):
    left: Filter
    right: Filter

    def matches(self, metadata: Metadata) -> bool:
        return self.left.matches(metadata) and self.right.matches(metadata)

    def keys(self) -> frozenset[str]:
        return self.left.keys() | self.right.keys()


@dataclass(frozen=True)
class Or(Filter):
    left: Filter
    right: Filter

    def matches(self, metadata: Metadata) -> bool:
        return self.left.matches(metadata) or self.right.matches(metadata)

    def keys(self) -> frozenset[str]:
        return self.left.keys() | self.right.keys()


@dataclass(frozen=True)
class Not(Filter):
    inner: Filter

    def matches(self, metadata: Metadata) -> bool:
        return not self.inner.matches(metadata)

    def keys(self) -> frozenset[str]:
        return self.inner.keys()


@dataclass(frozen=True)
class metadata_key:
    """Start of a filter on one key."""

    key: str

    def is_equal_to(self, value: MetadataValue) -> Filter:
        return IsEqualTo(self.key, value)

    def is_not_equal_to(self, value: MetadataValue) -> Filter:
        return IsNotEqualTo(self.key, value)

    def is_greater_than(self, value: MetadataValue) -> Filter:
        return IsGreaterThan(self.key, value)

    def is_greater_than_or_equal_to(self, value: MetadataValue) -> Filter:
        return IsGreaterThanOrEqualTo(self.key, value)

    def is_less_than(self, value: MetadataValue) -> Filter:
        return IsLessThan(self.key, value)

    def is_less_than_or_equal_to(self, value: MetadataValue) -> Filter:
        return IsLessThanOrEqualTo(self.key, value)

    def is_in(self, values: Collection[MetadataValue]) -> Filter:
        return IsIn(self.key, values)

    def is_not_in(self, values: Collection[MetadataValue]) -> Filter:
        return IsNotIn(self.key, values)

    def contains_string(self, value: str) -> Filter:
        return ContainsString(self.key, value)


MAX_NESTING = 50

_JSON_KINDS = {
    "equal": IsEqualTo,
    "not_equal": IsNotEqualTo,
    "greater": IsGreaterThan,
    "greater_or_equal": IsGreaterThanOrEqualTo,
    "less": IsLessThan,
    "less_or_equal": IsLessThanOrEqualTo,
    "in": IsIn,
    "not_in": IsNotIn,
    "contains": ContainsString,
}


def filter_from_json(value: object) -> Filter:
    """A filter from JSON: {"key": "page", "equal": 3}, {"and": [f, g]}, {"or": [f, g]}, {"not": f}.

    raises  ConfigError that names the part which is wrong and the words that are known, or that it's nested too deeply
    """
    return _from_json(value, MAX_NESTING)


def _from_json(value: object, depth: int) -> Filter:
    if depth == 0:
        raise ConfigError(f"the filter is nested more than {MAX_NESTING} deep; write it flatter")
    if not isinstance(value, dict):
        raise ConfigError(f'a filter is an object such as {{"key": "page", "equal": 3}}, not {reprlib.repr(value)}')
    if value.keys() == {"not"}:
        return Not(_from_json(value["not"], depth - 1))
    for word, kind in (("and", And), ("or", Or)):
        if value.keys() == {word} and isinstance(value[word], list) and value[word]:
            return _joined(kind, [_from_json(part, depth - 1) for part in value[word]])
    words = [word for word in value if word != "key"]
    if "key" in value and len(words) == 1 and words[0] in _JSON_KINDS:
        return _JSON_KINDS[words[0]](value["key"], value[words[0]])
    raise ConfigError(
        f"can't read the filter {reprlib.repr(value)}; known words: key, and, or, not, {', '.join(_JSON_KINDS)}"
    )


def _joined(kind: type[And] | type[Or], parts: list[Filter]) -> Filter:
    """In halves, so that a long list becomes no deep filter."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return kind(_joined(kind, parts[:middle]), _joined(kind, parts[middle:]))


def _check_value(key: str, value: object) -> None:
    """Refuses what metadata could never hold."""
    try:
        Metadata().put(key, value)  # type: ignore[arg-type]
    except (MetadataError, RecursionError):
        raise ConfigError(
            f"the filter on {key!r} can't compare with {reprlib.repr(value)}; use text, a finite number, a boolean, "
            "a date or a UUID"
        ) from None


def _compare(key: str, actual: MetadataValue, wanted: MetadataValue) -> int:
    if _kind(actual) != _kind(wanted):
        raise _mixed(key, actual, wanted)
    if (
        isinstance(actual, datetime)
        and isinstance(wanted, datetime)
        and (actual.tzinfo is None) != (wanted.tzinfo is None)
    ):
        raise _mixed(key, actual, wanted)
    return (actual > wanted) - (actual < wanted)  # type: ignore[operator]


def _kind(value: MetadataValue) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, datetime):
        return "datetime"
    return "date" if isinstance(value, date) else type(value).__name__


def _mixed(key: str, actual: object, wanted: object) -> FilterError:
    return FilterError(
        f"can't compare metadata {key!r}={actual!r} ({type(actual).__name__}) with {wanted!r} ({type(wanted).__name__})"
    )
