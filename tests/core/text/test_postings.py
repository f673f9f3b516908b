from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.postings import K1, B, Postings


def all_scores(postings, query, **options):
    return postings.scores_of(query, np.arange(len(postings.ids)), **options)


def test_bm25_by_hand():
    postings = Postings.of([(10, ["red", "pump"]), (11, ["pump", "pump", "pump", "pump"]), (12, ["valve"] * 3)])
    rarity = log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    norm = K1 * (1 - B + B * 2 / 3)  # average length (2 + 4 + 3) / 3
    scores = all_scores(postings, ["red"])
    assert scores.bm25 == pytest.approx([rarity * (K1 + 1) / (1 + norm), 0, 0])
    assert scores.most == pytest.approx(rarity * (K1 + 1))
    assert scores.coverage.tolist() == [1, 0, 0]
    assert scores.held_by["red"].tolist() == [True, False, False]


def test_coverage_weighs_terms_by_rarity_and_counts_what_nobody_has():
    postings = Postings.of([(1, ["a", "b"]), (2, ["a"])])
    common, rare, unknown = log(1 + 0.5 / 2.5), log(1 + 1.5 / 1.5), log(1 + 2.5 / 0.5)
    expected = [(common + rare) / (common + rare + unknown), common / (common + rare + unknown)]
    assert all_scores(postings, ["a", "b", "c"]).coverage == pytest.approx(expected)
    assert all_scores(postings, ["a", "b", "c"], optional={"c"}).coverage[0] == pytest.approx(1)


def test_a_word_in_every_segment_still_counts_for_it():
    assert (all_scores(Postings.of([(1, ["a"]), (2, ["a"])]), ["a"]).bm25 > 0).all()


def test_nothing_to_search_in_or_for():
    assert Postings.of([]).best(["a"], 3).tolist() == []
    assert Postings.of([(1, ["a"])]).best([], 3).tolist() == []
    assert all_scores(Postings.of([(1, ["a"])]), []).bm25.tolist() == [0]


def test_best_first_equal_ones_in_the_order_of_their_rows_among_the_allowed():
    postings = Postings.of([(1, ["b"]), (2, ["a"]), (3, ["a", "a"]), (4, ["a"])])
    assert postings.best(["a"], 5).tolist() == [2, 1, 3]
    assert postings.best(["a"], 2).tolist() == [2, 1]
    assert postings.best(["a"], 2, allowed=np.array([True, True, False, True])).tolist() == [1, 3]


def test_a_count_beyond_what_a_posting_holds_is_the_highest_it_holds():
    postings = Postings.of([(1, ["a"] * 300), (2, ["a"] * 255)])
    assert postings.blocks[0].counts.tolist() == [255, 255]


words = st.lists(st.sampled_from("abcdef"), max_size=6)
changes = st.tuples(st.dictionaries(st.integers(0, 9), words, max_size=4), st.sets(st.integers(0, 9), max_size=4))


@given(st.dictionaries(st.integers(0, 9), words), st.lists(changes, max_size=4), words)
def test_catching_up_gives_what_building_anew_gives(segments, steps, query):
    postings, truth = Postings.of(sorted(segments.items())), dict(segments)
    for changed, removed in steps:
        postings = postings.updated(changed, removed)
        truth = {id: terms for id, terms in truth.items() if id not in removed} | changed
    anew = Postings.of(sorted(truth.items()))
    assert by_id(postings.compact(), query) == by_id(postings, query) == by_id(anew, query)
    assert postings.size == len(truth)
    assert {id for id, _ in ranked(postings, query)} == {id for id, _ in ranked(anew, query)}


def by_id(postings, query):
    scores = all_scores(postings, query).bm25
    alive = postings.is_alive
    return dict(zip(postings.ids[alive].tolist(), np.round(scores[alive], 9).tolist(), strict=True))


def ranked(postings, query):
    rows = postings.best(query, 100)
    return list(zip(postings.ids[rows].tolist(), postings.scores_of(query, rows).bm25.tolist(), strict=True))


def test_the_best_are_those_of_scoring_every_segment_also_where_common_terms_are_skipped():
    rng = np.random.default_rng(3)
    # Term t stands in about 1 / (t + 1) of the segments: the first ones are common enough to be skipped.
    segments = [
        (id, [str(term) for term in range(12) if rng.random() < 1 / (term + 1)] + ["rare"] * (id % 97 == 0))
        for id in range(9000)
    ]
    postings = Postings.of(segments[:7000]).updated(dict(segments[7000:]), range(0, 9000, 13))
    allowed = postings.ids % 3 == 0
    for query in (
        ["rare", "0", "1"],
        ["rare", "2", "0", "0"],
        ["11", "10", "1", "0"],
        ["0"],
        ["rare", "rare", "9", "0"],
    ):
        whole = all_scores(postings, query).bm25 * postings.is_alive
        for mask in (None, allowed):
            scores = whole if mask is None else whole * mask
            expected = np.argsort(-scores, kind="stable")[:20]
            found = postings.best(query, 20, allowed=mask)
            assert found.tolist() == expected[scores[expected] > 0].tolist()
            assert postings.scores_of(query, found).bm25.tolist() == scores[found].tolist()


def test_small_changes_pile_up_in_few_blocks_and_dead_rows_go():
    postings = Postings.of([(id, ["a"]) for id in range(500)])
    for id in range(500, 600):
        postings = postings.updated({id: ["a", str(id)]}, [])
        assert len(postings.blocks) <= 9
    assert postings.best(["577"], 5).tolist() == [577]
    postings = postings.updated({}, range(400))
    assert (postings.size, len(postings.ids)) == (200, 200)
