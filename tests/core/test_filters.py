from datetime import UTC, date, datetime

import pytest

from core.errors import ConfigError
from core.filters import Filter, IsIn, filter_from_json, metadata_key
from core.metadata import Metadata

PAGE3 = Metadata({"page": 3, "owner": "ann", "ratio": 0.5, "day": date(2031, 3, 4), "open": True})
key = metadata_key


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (key("page").is_equal_to(3), True),
        (key("page").is_equal_to(3.0), True),
        (key("page").is_not_equal_to(3), False),
        (key("page").is_greater_than(2), True),
        (key("page").is_greater_than(3), False),
        (key("page").is_greater_than_or_equal_to(3), True),
        (key("page").is_less_than(3), False),
        (key("page").is_less_than(3.5), True),
        (key("page").is_less_than_or_equal_to(3), True),
        (key("page").is_in([1, 3]), True),
        (key("page").is_not_in([1, 3]), False),
        (key("page").is_in([]), False),
        (key("page").is_not_in([]), True),
        (key("owner").contains_string("nn"), True),
        (key("owner").contains_string("NN"), False),
        (key("owner").contains_string("%"), False),
        (key("day").is_less_than(date(2031, 3, 5)), True),
        (key("open").is_equal_to(True), True),
        (key("page").is_equal_to(3) & key("owner").is_equal_to("bob"), False),
        (key("page").is_equal_to(4) | key("owner").is_equal_to("ann"), True),
        (~key("page").is_equal_to(3), False),
    ],
)
def test_the_twelve_filters(condition, expected):
    assert condition.matches(PAGE3) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (key("gone").is_equal_to(1), False),
        (key("gone").is_not_equal_to(1), True),
        (key("gone").is_greater_than(1), False),
        (key("gone").is_less_than_or_equal_to(1), False),
        (key("gone").is_in([1]), False),
        (key("gone").is_not_in([1]), True),
        (key("gone").contains_string("x"), False),
        (~key("gone").contains_string("x"), True),
    ],
)
def test_a_missing_key_matches_only_the_negative_ones(condition, expected):
    assert condition.matches(PAGE3) is expected


@pytest.mark.parametrize(
    "condition",
    [
        key("page").is_equal_to("3"),
        key("owner").is_greater_than(1),
        key("open").is_equal_to(1),
        key("day").is_less_than(datetime(2031, 3, 5)),
        key("page").contains_string("3"),
        key("page").is_in([1, "3"]),
    ],
)
def test_mixed_types_raise_and_name_both(condition):
    with pytest.raises(ConfigError, match="can't compare metadata"):
        condition.matches(PAGE3)


def test_times_with_and_without_zone_dont_mix():
    with pytest.raises(ConfigError):
        key("t").is_less_than(datetime(2031, 1, 1)).matches(Metadata({"t": datetime(2031, 1, 1, tzinfo=UTC)}))


@pytest.mark.parametrize(
    "make",
    [
        lambda: key(" ").is_equal_to(1),
        lambda: key("a").is_equal_to(None),
        lambda: key("a").contains_string(3),
        lambda: IsIn("a", "abc"),
        lambda: IsIn("a", [None]),
    ],
)
def test_a_filter_that_can_never_work_is_refused_at_once(make):
    with pytest.raises(ConfigError):
        make()


def test_keys_are_known():
    assert (key("a").is_equal_to(1) & ~(key("b").is_in([2]) | key("c").contains_string("x"))).keys() == {"a", "b", "c"}


def test_filters_are_values():
    assert key("a").is_in([1, 2]) == key("a").is_in((1, 2))
    assert key("a").is_in([1]) != key("a").is_not_in([1])
    assert len({key("a").is_equal_to(1), key("a").is_equal_to(1)}) == 1


def test_json_form():
    value = {
        "and": [{"key": "page", "greater": 2}, {"not": {"key": "owner", "in": ["bob"]}}, {"key": "open", "equal": True}]
    }
    expected: Filter = key("page").is_greater_than(2) & ~key("owner").is_in(["bob"]) & key("open").is_equal_to(True)
    assert filter_from_json(value) == expected


@pytest.mark.parametrize(
    "value", [[], {}, {"key": "a"}, {"key": "a", "like": 1}, {"and": []}, {"key": "a", "equal": 1, "less": 2}]
)
def test_unreadable_json_is_refused_with_the_known_words(value):
    with pytest.raises(ConfigError, match="filter"):
        filter_from_json(value)


def nested(depth, word="not"):
    value = {"key": "a", "equal": 1}
    for _ in range(depth):
        value = {"not": value} if word == "not" else {word: [value]}
    return value


@pytest.mark.parametrize("word", ["not", "and", "or"])
def test_a_filter_that_is_nested_too_deeply_is_refused(word):
    filter_from_json(nested(49, word)).matches(PAGE3)
    for depth in (50, 5000):
        with pytest.raises(ConfigError, match="nested more than 50 deep"):
            filter_from_json(nested(depth, word))


def test_a_long_list_of_filters_is_no_deep_one():
    many = [{"key": "page", "equal": n} for n in range(5000)]
    assert filter_from_json({"or": many}).matches(PAGE3) and not filter_from_json({"and": many}).matches(PAGE3)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), {}, {"b": 1}, [1], nested(5000)])
@pytest.mark.parametrize("word", ["equal", "less", "in", "contains"])
def test_a_value_that_nothing_can_be_compared_with_names_the_key(word, value):
    with pytest.raises(ConfigError, match="'owner'"):
        filter_from_json({"key": "owner", word: [value] if word == "in" else value})
