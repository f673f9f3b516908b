from math import log2

import pytest

from core.evaluation.metrics import ndcg_at, recall_at, reciprocal_rank_at


def test_recall_is_the_share_of_the_relevant_ones():
    assert recall_at(2, ["x", "a", "b"], {"a": 1, "b": 1, "c": 1, "d": 1}) == 0.25
    assert recall_at(3, ["x", "a", "b"], {"a": 1, "b": 1}) == 1


def test_reciprocal_rank_looks_at_the_first_k_only():
    assert reciprocal_rank_at(10, ["x", "y", "a"], {"a": 1}) == pytest.approx(1 / 3)
    assert reciprocal_rank_at(2, ["x", "y", "a"], {"a": 1}) == 0


def test_ndcg_with_linear_gains_by_hand():
    relevant = {"a": 3, "b": 2, "c": 1}
    found = (2 + 0 + 3 / log2(4)) / (3 + 2 / log2(3) + 1 / log2(4))
    assert ndcg_at(10, ["b", "x", "a"], relevant) == pytest.approx(found)
    assert ndcg_at(10, ["a", "b", "c"], relevant) == 1
    assert ndcg_at(1, ["x", "a"], relevant) == 0


def test_ndcg_asks_for_no_more_than_k_can_hold():
    assert ndcg_at(2, ["a", "b"], {"a": 1, "b": 1, "c": 1}) == 1
