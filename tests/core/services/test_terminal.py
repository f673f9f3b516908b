from core.services.terminal import counts_text, marked


def test_each_sentence_says_what_supports_it():
    answer = "It costs 25 euros. It is red.\n\nHello!"
    sentences = [
        {"start": 0, "end": 18, "support": "supported", "source": 2},
        {"start": 19, "end": 29, "support": "not_supported", "source": None},
        {"start": 31, "end": 37, "support": "none", "source": None},
    ]
    assert marked(answer, sentences) == "It costs 25 euros [2]. It is red. ⚠ nothing supports this\n\nHello!"
    assert marked(answer, []) == answer


def test_counts_are_named_in_words():
    assert counts_text({"files": 3, "missing_originals": 1}) == "3 files, 1 missing originals"
