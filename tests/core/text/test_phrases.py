import pytest

from core.text.phrases import Phrase

RARITY = {"red": 2.0, "pump": 1.0, "cellar": 3.0}


@pytest.mark.parametrize(
    ("segment", "share"),
    [
        ("the red pump in cellar", 1.0),  # one word between still counts
        ("red pump then a long way to the cellar", 1.5 / 3.5),
        ("cellar pump red", 0.0),
        ("red and blue pump", 0.0),
        ("", 0.0),
    ],
)
def test_pairs_in_order_and_near_weigh_by_their_rarity(segment, share):
    assert Phrase(["red", "pump", "cellar"], RARITY).share_in(segment.split()) == pytest.approx(share)


def test_one_word_is_no_phrase():
    assert Phrase(["red"], RARITY).share_in(["red"]) == Phrase(["red", "red"], RARITY).share_in(["red", "red"]) == 0
