from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.postings import K1, B, Postings


def test_bm25_by_hand():
    postings = Postings.of([(10, ["red", "pump"]), (11, ["pump", "pump", "pump", "pump"]), (12, ["valve"] * 3)])
    rarity = log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    norm = K1 * (1 - B + B * 2 / 3)  # average length (2 + 4 + 3) / 3
    scores = postings.score(["red"])
    assert scores.bm25 == pytest.approx([rarity * (K1 + 1) / (1 + norm), 0, 0])
    assert scores.most == pytest.approx(rarity * (K1 + 1))
    assert scores.coverage.tolist() == [1, 0, 0]


def test_coverage_weighs_terms_by_rarity_and_counts_what_nobody_has():
    postings = Postings.of([(1, ["a", "b"]), (2, ["a"])])
    common, rare, unknown = log(1 + 0.5 / 2.5), log(1 + 1.5 / 1.5), log(1 + 2.5 / 0.5)
    expected = [(common + rare) / (common + rare + unknown), common / (common + rare + unknown)]
    assert postings.score(["a", "b", "c"]).coverage == pytest.approx(expected)
    assert postings.score(["a", "b", "c"], optional={"c"}).coverage[0] == pytest.approx(1)


def test_a_word_in_every_segment_still_counts_for_it():
    assert (Postings.of([(1, ["a"]), (2, ["a"])]).score(["a"]).bm25 > 0).all()


def test_nothing_to_search_in_or_for():
    assert Postings.of([]).score(["a"]).bm25.tolist() == []
    assert Postings.of([(1, ["a"])]).score([]).bm25.tolist() == [0]


words = st.lists(st.sampled_from("abcdef"), max_size=6)
changes = st.tuples(st.dictionaries(st.integers(0, 9), words, max_size=4), st.sets(st.integers(0, 9), max_size=4))


@given(st.dictionaries(st.integers(0, 9), words), st.lists(changes, max_size=4), words)
def test_catching_up_gives_what_building_anew_gives(segments, steps, query):
    postings, truth = Postings.of(sorted(segments.items())), dict(segments)
    for changed, removed in steps:
        postings = postings.updated(changed, removed)
        truth = {id: terms for id, terms in truth.items() if id not in removed} | changed
    anew = Postings.of(sorted(truth.items()))
    expected = dict(zip(anew.ids.tolist(), anew.score(query).bm25, strict=True))
    scores = postings.score(query).bm25
    living = postings.is_alive
    assert postings.size == len(truth)
    assert dict(zip(postings.ids[living].tolist(), scores[living], strict=True)) == pytest.approx(expected)


def test_many_new_segments_join_the_large_block():
    postings = Postings.of([(0, ["a"])]).updated({id: ["a", str(id)] for id in range(1, 1500)}, [0])
    assert len(postings.blocks[1].ids) == 0
    assert postings.size == 1499
    assert np.flatnonzero(postings.score(["77"]).bm25).tolist() == [76]
