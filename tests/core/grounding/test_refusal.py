import pytest

from core.domain import Content, TextSegment
from core.errors import ConfigError
from core.grounding.refusal import RefusalCheck
from core.rag.augmentor import AugmentationResult, AugmentationTrace, RetrieverRun


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


def content(id, **scores):
    return Content(TextSegment(f"text {id}"), id, scores=scores)


def found(*contents, decision="search", failures=(), more=()):
    runs = (RetrieverRun("which pump is red", "hybrid", contents, 0.0), *more)
    return AugmentationResult("", contents, AugmentationTrace(decision, (), runs, (), failures, {}))


def decide(augmented, tokenizer=None, **options):
    return RefusalCheck(tokenizer or Words(), **options).decide(augmented)


def test_meaning_and_words_count_together():
    decision = decide(found(content("a", cosine=0.2, coverage=0.3)))
    assert (decision.refused, decision.score) == (True, pytest.approx(0.25))
    assert decision.signals == {"cosine": 0.2, "coverage": 0.3, "readable": 1.0}
    assert not decide(found(content("a", cosine=0.3, coverage=0.5))).refused
    assert not decide(found(content("a", cosine=0.75, coverage=0.0))).refused


def test_the_content_that_comes_closest_decides():
    assert not decide(found(content("a", cosine=0.1, coverage=0.1), content("b", cosine=0.5, coverage=0.5))).refused


def with_words(id, *words, **scores):
    return Content(TextSegment(f"text {id}"), id, scores=scores, matched_terms=words)


def test_names_that_several_contents_hold_between_them_count_together():
    v2, p1, t7 = (with_words(word, word, cosine=0.2, coverage=0.3) for word in ("V2", "P1", "T7"))
    decision = decide(found(v2, p1, t7))
    assert not decision.refused and decision.signals["coverage"] == pytest.approx(0.9)
    assert decide(found(v2, with_words("again", "V2", cosine=0.2, coverage=0.3))).refused
    # Plain words don't: they meet in many a text that has nothing to do with the question.
    assert decide(found(*(with_words(word, word, cosine=0.2, coverage=0.3) for word in ("pump", "red")))).refused


def test_of_a_further_content_only_the_new_names_count():
    first = with_words("a", "V2", "price", "weight", cosine=0.0, coverage=0.6)
    second = with_words("b", "P1", "price", "weight", cosine=0.0, coverage=0.6)
    assert decide(found(first, second)).signals["coverage"] == pytest.approx(0.8)
    both = with_words("c", "V2", "P1", cosine=0.0, coverage=0.4)
    assert decide(found(first, both)).signals["coverage"] == pytest.approx(0.6)


def test_d13_the_closest_are_named():
    contents = [content(str(number), cosine=0.1, coverage=0.0) for number in range(5)]
    assert decide(found(*contents)).closest == tuple(contents[:3])


def test_a_model_that_cant_read_the_question_has_no_say():
    assert decide(found(content("a", cosine=0.9, coverage=0.2)), Letters()).refused
    assert not decide(found(content("a", cosine=0.0, coverage=0.4)), Letters()).refused


def test_the_best_answered_of_several_queries_counts():
    alone = found(content("a", cosine=0.1, coverage=0.0))
    together = RetrieverRun("the red pump which is red", "hybrid", (content("b", cosine=0.6, coverage=0.5),), 0.0)
    assert decide(alone).refused
    assert not decide(found(content("a", cosine=0.1, coverage=0.0), more=(together,))).refused


@pytest.mark.parametrize("decision", ["overview", "small_talk"])
def test_only_searches_are_refused(decision):
    assert not decide(found(decision=decision)).refused


def test_a_search_without_any_hit_is_refused_unless_something_failed():
    assert decide(found()).refused
    assert not decide(found(failures=("vector: the model isn't here",))).refused


def test_one_signal_alone():
    assert decide(found(content("a", cosine=0.2))).refused
    assert not decide(found(content("a", cosine=0.4))).refused
    assert not decide(found(content("a", cosine=0.2)), Letters()).refused
    assert decide(found(content("a", coverage=0.2))).refused
    assert not decide(found(content("a", coverage=0.4))).refused


def test_contents_without_scores_are_let_through():
    assert not decide(found(content("a"))).refused


def test_thresholds_lie_between_0_and_1():
    with pytest.raises(ConfigError, match="threshold=2 must be between 0 and 1"):
        RefusalCheck(Words(), threshold=2)
