"""Passages cut into runs: nothing added or lost, words and the best sentence marked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.text.terms import index_terms
from pages.ui.passage import best_sentence, runs


def test_matched_words_are_marked_in_any_form():
    terms = tuple(index_terms("cancellation policies"))
    assert runs("Policies say: cancellations cost.", terms) == (
        ("Policies", "m"),
        (" say: ", ""),
        ("cancellations", "m"),
        (" cost.", ""),
    )


def test_the_best_sentence_is_the_one_the_answer_rests_on():
    text = "Breakfast is free. You can cancel until 48 hours before. The pool opens at 9."
    start = text.index("You")
    assert best_sentence(text, ["Cancel up to 48 hours before arrival."]) == (
        start,
        start + len("You can cancel until 48 hours before."),
    )
    assert best_sentence(text, []) is None
    assert best_sentence(text, ["Nothing shared whatsoever"]) is None


def test_words_of_scripts_without_blanks_are_marked_inside():
    assert runs("全額返金できます", ("返金",)) == (("全額", ""), ("返金", "m"), ("できます", ""))


def test_marks_overlap():
    assert runs("Fee: 25.", ("fee",), (0, 8)) == (("Fee", "bm"), (": 25.", "b"))


@given(st.text(max_size=60), st.lists(st.text(max_size=4), max_size=3))
def test_f10_runs_joined_are_the_passage(text, terms):
    assert "".join(run for run, _ in runs(text, tuple(terms))) == text
