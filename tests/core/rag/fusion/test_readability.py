import pytest

from core.rag.fusion.readability import readable_share


class Pieces:
    """Cuts every word into pieces of one length, as a vocabulary does that knows no longer ones."""

    def __init__(self, size):
        self.size = size

    def offsets(self, text):
        places, start = [], 0
        for word in text.split(" "):
            places += [
                (at, min(at + self.size, start + len(word))) for at in range(start, start + len(word), self.size)
            ]
            start += len(word) + 1
        return places


@pytest.mark.parametrize(
    ("text", "size", "share"),
    [
        ("Where is the pump", 20, 1.0),
        ("Который час", 1, 0.0),
        ("ポンプはどこ", 1, 0.0),
        ("ポンプはどこ", 2, 1.0),
        ("一个中文问题", 1, 0.0),
        ("🧪🧪 ?!", 1, 0.0),
        ("", 1, 0.0),
    ],
)
def test_spelt_is_unread_and_whole_words_are_read(text, size, share):
    assert readable_share(text, Pieces(size)) == pytest.approx(share)


def test_one_token_for_a_long_foreign_text_is_the_unknown_one():
    assert readable_share("การเดินทางไปกรุงเทพ", Pieces(100)) == 0


def test_mixed_scripts_count_by_their_characters():
    assert readable_share("manual 一二三", Pieces(1)) == 0
    assert readable_share("instruction 一二", Pieces(20)) == 1
