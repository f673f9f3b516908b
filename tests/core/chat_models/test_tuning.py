"""Figures come from a file that anybody may have written."""

import pytest

from core.chat_models.tuning import Tuning

FOUND = Tuning(2, 2, 128, 92.0, 28.0, 1.1, 1.3, is_exact=True)


def test_what_was_kept_comes_back():
    assert Tuning.from_json(FOUND.to_json()) == FOUND


@pytest.mark.parametrize("name", ["read_threads", "write_threads", "batch_tokens", "reads_per_s", "pair_cost"])
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), "many", None])
def test_a_number_that_no_machine_can_have_is_measured_again(name, value):
    assert Tuning.from_json(FOUND.to_json() | {name: value}) is None


@pytest.mark.parametrize(("name", "most"), [("read_threads", 1024), ("write_threads", 1024), ("batch_tokens", 4096)])
def test_more_threads_or_tokens_than_make_sense_are_measured_again(name, most):
    assert Tuning.from_json(FOUND.to_json() | {name: most}) is not None
    for more in (most + 1, 10**12):
        assert Tuning.from_json(FOUND.to_json() | {name: more}) is None
    assert Tuning.from_json(FOUND.to_json() | {"writes_per_s": 10**400}) is None
