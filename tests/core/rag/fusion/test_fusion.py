import pytest

from core.domain import Content, KeywordScore, TextSegment
from core.errors import ConfigError
from core.rag.fusion import AdaptiveFusion, reciprocal_rank_fusion, score_sum_fusion


def content(id, scores=None, ranks=None, words=()):
    return Content(TextSegment(f"text {id}"), id, 1, scores or {}, ranks or {}, words)


def ids(contents):
    return "".join(content.id for content in contents)


class Words:
    """Cuts at blanks: a model that has every word in its vocabulary."""

    def offsets(self, text):
        places, start = [], 0
        for word in text.split(" "):
            places.append((start, start + len(word)))
            start += len(word) + 1
        return places


class Letters:
    """Spells: a model that knows no word."""

    def offsets(self, text):
        return [(place, place + 1) for place in range(len(text)) if text[place] != " "]


def test_rrf_by_hand():
    fused = reciprocal_rank_fusion([[content("a"), content("b")], [content("b"), content("c")]])
    assert [(c.id, c.scores["rrf"]) for c in fused] == [
        ("b", pytest.approx(1 / 61 + 1 / 62)),
        ("a", pytest.approx(1 / 61)),
        ("c", pytest.approx(1 / 62)),
    ]


def test_rrf_keeps_ties_in_first_seen_order_and_adds_scores():
    fused = reciprocal_rank_fusion(
        [[content("a", {"cosine": 0.5}, {"vector": 1})], [content("b"), content("a", {"bm25": 2.0}, {"keyword": 2})]]
    )
    assert ids(fused) == "ab"
    assert fused[0].scores.keys() == {"cosine", "bm25", "rrf"}
    assert fused[0].ranks == {"vector": 1, "keyword": 2}
    assert ids(reciprocal_rank_fusion([[content("a")], [content("b")]])) == "ab"


def test_rrf_of_nothing_and_a_bad_k():
    assert reciprocal_rank_fusion([]) == reciprocal_rank_fusion([[], []]) == []
    with pytest.raises(ConfigError, match="k=0 must be at least 1"):
        reciprocal_rank_fusion([], k=0)


def test_score_sum_takes_the_mean_and_the_last_place_where_one_is_missing():
    first = [content("a", {"fused": 0.9}), content("b", {"fused": 0.5})]
    second = [content("c", {"fused": 0.9}), content("a", {"fused": 0.4})]
    fused = score_sum_fusion([first, second, []])
    assert [(c.id, c.scores["mean"]) for c in fused] == [
        ("c", pytest.approx((0.5 + 0.9) / 2)),
        ("a", pytest.approx((0.9 + 0.4) / 2)),
        ("b", pytest.approx((0.5 + 0.4) / 2)),
    ]


def test_score_sum_refuses_what_cant_be_compared():
    assert score_sum_fusion([[content("a", {"cosine": 0.9})], [content("b", {"share": 0.1})]]) is None


def test_adaptive_by_hand():
    vector = [content("a", {"cosine": 0.8}, {"vector": 1}), content("b", {"cosine": 0.2}, {"vector": 2})]
    keyword = [content("b", {"bm25": 3.0, "share": 0.6, "coverage": 1.0, "phrase": 0.5}, {"keyword": 1}, ("pump",))]
    first, second = AdaptiveFusion(Words()).fuse("where is the pump", vector, keyword)
    assert (first.id, first.scores["fused"]) == ("b", pytest.approx((0.2 + 1.5 * 0.6 + 0.3 * 0.5) / 2.8))
    assert (first.scores["cosine"], first.scores["bm25"], first.matched_terms) == (0.2, 3.0, ("pump",))
    assert first.ranks == {"vector": 2, "keyword": 1}
    assert (second.id, second.scores["fused"]) == ("a", pytest.approx(0.8 / 2.8))


def test_a_model_that_cant_read_the_question_has_no_say():
    vector = [content("a", {"cosine": 0.9}), content("b", {"cosine": 0.1})]
    keyword = [content("b", {"bm25": 1.0, "share": 0.05, "coverage": 0.1})]
    assert ids(AdaptiveFusion(Words()).fuse("where is it", vector, keyword)) == "ab"
    assert ids(AdaptiveFusion(Letters()).fuse("where is it", vector, keyword)) == "ba"


def test_words_that_stand_nowhere_leave_the_order_to_the_model():
    vector = [content("a", {"cosine": 0.9}), content("b", {"cosine": 0.8})]
    assert ids(AdaptiveFusion(Words()).fuse("where is it", vector, [])) == "ab"


def test_what_the_other_leg_missed_is_filled_in_without_a_rank():
    vector = [content("a", {"cosine": 0.5}, {"vector": 1})]
    keyword = [content("b", {"bm25": 2.0, "share": 0.2, "coverage": 0.4}, {"keyword": 1})]
    scores = {"a": KeywordScore(1.0, 0.1, 0.3, matched_terms=("pump",))}
    fused = AdaptiveFusion(Words()).fuse("red pump", vector, keyword, cosines={"b": 0.4}, keyword_scores=scores)
    by_id = {c.id: c for c in fused}
    assert by_id["a"].scores["share"] == 0.1
    assert by_id["a"].matched_terms == ("pump",)
    assert by_id["b"].scores["cosine"] == 0.4
    assert (by_id["a"].ranks, by_id["b"].ranks) == ({"vector": 1}, {"keyword": 1})


def test_without_its_cosine_a_keyword_hit_counts_as_the_last_vector_hit():
    vector = [content("a", {"cosine": 0.5}), content("c", {"cosine": 0.3})]
    (hit,) = [
        c for c in AdaptiveFusion(Words()).fuse("red pump", vector, [content("b", {"share": 0.2})]) if c.id == "b"
    ]
    assert hit.scores["fused"] == pytest.approx((0.3 + 1.5 * 0.2) / 2.8)
