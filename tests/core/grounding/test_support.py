import numpy as np
import pytest

from core.domain import Embedding
from core.grounding.support import support_of, with_markers, without_markers

POLICY = "You can cancel until 48 hours before arrival. After that the fee is 25 euros. Dogs are welcome in the garden."
MENU = "Breakfast is served from 7 to 10. It costs 9 euros for adults and is free for children."


def verdicts(answer, sources=(POLICY, MENU), **options):
    return [(one.text, one.support, one.source) for one in support_of(answer, sources, **options)]


def test_each_sentence_gets_the_source_it_rests_on():
    assert verdicts("You can cancel until 48 hours before arrival. Breakfast is free for children.") == [
        ("You can cancel until 48 hours before arrival.", "supported", 1),
        ("Breakfast is free for children.", "supported", 2),
    ]


def test_a_wrong_number_is_never_supported():
    assert verdicts("After that the fee is 35 euros.") == [("After that the fee is 35 euros.", "not_supported", None)]
    assert verdicts("The fee is 1,000 euros.", ["The fee is 1000 euros."])[0][1] == "supported"
    assert verdicts("The valve opens at 35 bar.", ["The valve opens at 3.5 bar."])[0][1] != "supported"


def test_what_no_source_says_has_no_source():
    assert verdicts("The swimming pool closes in winter.") == [
        ("The swimming pool closes in winter.", "not_supported", None)
    ]
    assert verdicts("Dogs are welcome.", []) == [("Dogs are welcome.", "not_supported", None)]


@pytest.mark.parametrize(
    "answer", ["The documents don't say.", "Here is what I found:", "Shall I look further?", "```\nfee = 25\n```", "…"]
)
def test_what_claims_nothing_is_not_judged(answer):
    assert {support for _, support, _ in verdicts(answer)} <= {"none"}


def test_a_short_answer_is_placed_by_its_question():
    sources = ["There are 25 rooms on 3 floors.", "After that the fee is 25 euros."]
    assert verdicts("25", sources, question="How high is the fee?") == [("25", "supported", 2)]


def test_lists_and_code_keep_their_form_and_offsets_are_exact():
    answer = (
        "Rules:\n\n- Dogs are welcome in the garden.\n1. Breakfast is served from 7 to 10.\n\n```\nx[1] = 25\n```\n"
    )
    found = support_of(answer, [POLICY, MENU])
    assert [(one.text, one.source) for one in found] == [
        ("Rules:", None),
        ("Dogs are welcome in the garden.", 1),
        ("Breakfast is served from 7 to 10.", 2),
    ]
    assert all(answer[one.start : one.end] == one.text for one in found)


def test_japanese_and_chinese():
    sources = ["梅雨は東アジアの広範囲で見られる。期間は6月から7月である。", "取消费用为25欧元。早餐免费。"]
    assert verdicts("梅雨は東アジアの広範囲で見られる。取消费用为25欧元。", sources) == [
        ("梅雨は東アジアの広範囲で見られる。", "supported", 1),
        ("取消费用为25欧元。", "supported", 2),
    ]


def test_an_answer_in_another_script_than_its_sources_is_not_called_wrong():
    assert verdicts("取消是免费的。") == [("取消是免费的。", "none", None)]


def test_meaning_counts_where_an_embedding_model_is_given():
    class Meanings:
        def embed_all(self, texts):
            return [Embedding([1.0, 0.0] if "dog" in text.lower() or "pet" in text else [0.0, 1.0]) for text in texts]

    said = "Your pet is welcome in our garden."
    alone = support_of(said, [POLICY])[0]
    with_meaning = support_of(said, [POLICY], embedding_model=Meanings())[0]
    assert with_meaning.score > alone.score
    assert np.isclose(with_meaning.score, 0.7 * alone.score + 0.3)


@pytest.mark.parametrize(
    ("answer", "clean"),
    [
        ("It costs 25 euros [7].", "It costs 25 euros."),
        ("It costs 25 euros.[1][2] Dogs too [1, 3].", "It costs 25 euros. Dogs too."),
        ("See [Source 2] and 【3】.", "See and."),
        ("Use `x[1]` or\n```\ny[2]\n```\nthen [3]", "Use `x[1]` or\n```\ny[2]\n```\nthen"),
        ("In [2031] it was [sic] so.", "In [2031] it was [sic] so."),
    ],
)
def test_markers_of_the_model_go_and_code_stays(answer, clean):
    assert without_markers(answer) == clean


def test_the_program_sets_the_markers():
    answer = "The fee is 25 euros after that! Pools are closed. 取消费用为25欧元。"
    found = support_of(answer, [POLICY, "取消费用为25欧元。"])
    assert with_markers(answer, found) == "The fee is 25 euros after that [1]! Pools are closed. 取消费用为25欧元[2]。"
    assert with_markers(answer, [one.to_dict() for one in found]) == with_markers(answer, found)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('It costs 25 euros <source id="1">.', "It costs 25 euros."),
        ('<source id="1" file="a.txt" page="3">\nIt costs 25 euros.\n</source>', "It costs 25 euros.\n"),
        ("It costs 25 euros.</source>", "It costs 25 euros."),
        ("It costs 25 euros <Source id=2/> [2].", "It costs 25 euros."),
        ('`<source src="a.ogg">` plays a sound.', '`<source src="a.ogg">` plays a sound.'),
        ("<sources> and a < source stay.", "<sources> and a < source stay."),
    ],
)
def test_tags_of_sources_are_not_shown(written, shown):
    assert without_markers(written) == shown
