from datetime import UTC, date, datetime
from uuid import UUID

import pytest

from core.errors import MetadataError
from core.metadata import Metadata

SOME_ID = UUID("12345678-1234-5678-1234-567812345678")


def test_put_changes_it_and_returns_it():
    metadata = Metadata()
    assert metadata.put("page", 3) is metadata
    assert metadata.put_all({"owner": "ann", "score": 0.5}).to_dict() == {"page": 3, "owner": "ann", "score": 0.5}
    assert metadata.remove("owner").remove("no such key").to_dict() == {"page": 3, "score": 0.5}


def test_a_copy_is_independent():
    first = Metadata({"a": 1})
    second = first.copy().put("a", 2)
    assert (first.get_int("a"), second.get_int("a")) == (1, 2)
    values = first.to_dict()
    values["a"] = 9
    assert first.get_int("a") == 1


@pytest.mark.parametrize("key", ["", "  ", None, 3])
def test_a_blank_key_is_refused(key):
    with pytest.raises(MetadataError, match="must be a string that is not blank"):
        Metadata().put(key, "x")


@pytest.mark.parametrize("value", [None, [], {}, b"x", object(), float("nan"), float("inf")])
def test_a_wrong_value_is_refused_with_key_and_type(value):
    with pytest.raises(MetadataError, match=f"'owner'.*{type(value).__name__}"):
        Metadata().put("owner", value)


def test_a_missing_key_gives_none():
    metadata = Metadata()
    getters = [metadata.get_string, metadata.get_int, metadata.get_float, metadata.get_bool, metadata.get_uuid]
    assert [get("x") for get in [*getters, metadata.get_date, metadata.get_datetime]] == [None] * 7


@pytest.mark.parametrize(
    ("value", "getter", "expected"),
    [
        ("12", "get_int", 12),
        (12.0, "get_int", 12),
        ("1.5", "get_float", 1.5),
        (3, "get_float", 3.0),
        (3, "get_string", "3"),
        (True, "get_string", "true"),
        ("False", "get_bool", False),
        (str(SOME_ID), "get_uuid", SOME_ID),
        ("2031-03-04", "get_date", date(2031, 3, 4)),
        (datetime(2031, 3, 4), "get_date", date(2031, 3, 4)),
        (date(2031, 3, 4), "get_datetime", datetime(2031, 3, 4)),
    ],
)
def test_exact_conversions_are_made(value, getter, expected):
    actual = getattr(Metadata({"k": value}), getter)("k")
    assert (actual, type(actual)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "getter", "wanted"),
    [
        ("twelve", "get_int", "int"),
        (1.5, "get_int", "int"),
        (True, "get_int", "int"),
        ("nan", "get_float", "float"),
        (2**53 + 1, "get_float", "float"),
        (1, "get_bool", "bool"),
        ("yes", "get_bool", "bool"),
        ("x", "get_uuid", "UUID"),
        (3, "get_uuid", "UUID"),
        (datetime(2031, 3, 4, 5), "get_date", "date"),
    ],
)
def test_other_conversions_raise_with_key_value_and_type(value, getter, wanted):
    with pytest.raises(MetadataError) as raised:
        getattr(Metadata({"k": value}), getter)("k")
    assert str(raised.value) == f"metadata 'k' holds {value!r}, which is not exactly a {wanted}"


def test_merge_makes_a_new_one_and_refuses_a_key_on_both_sides():
    left, right = Metadata({"a": 1}), Metadata({"b": 2})
    assert left.merge(right) == Metadata({"a": 1, "b": 2})
    assert (left, right) == (Metadata({"a": 1}), Metadata({"b": 2}))
    with pytest.raises(MetadataError, match="'a' stand on both sides"):
        left.merge(Metadata({"a": 1}))


def test_json_keeps_every_type():
    values = {
        "s": "x",
        "i": 1,
        "f": 1.0,
        "b": True,
        "d": date(2031, 3, 4),
        "t": datetime(2031, 3, 4, 5, 6, tzinfo=UTC),
        "u": SOME_ID,
    }
    back = Metadata.from_json(Metadata(values).to_json()).to_dict()
    assert back == values
    assert [type(value) for value in back.values()] == [type(value) for value in values.values()]


def test_equality_tells_types_apart():
    assert Metadata({"a": "2031-03-04"}) != Metadata({"a": date(2031, 3, 4)})
