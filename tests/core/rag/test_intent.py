import pytest

from core.rag.intent import Intent, read_intent

NAMES = ("pump.pdf", "Pump manual.docx", "minutes.txt")


def read(text, **options):
    return read_intent(text, document_names=lambda: NAMES, **options)


@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hello!",
        "thanks!",
        "ok 👍",
        "ok thanks",
        "Thank you very much!!",
        "👍",
        "ありがとうございます！",
        "谢谢",
        "Danke schön",
        "Who are you?",
        "Hi, what can you do?",
        "Was kannst du für mich tun?",
        "あなたは誰ですか？",
        "你能做什么？",
    ],
)
def test_d11_small_talk_looks_nothing_up(text):
    assert read(text) == Intent("small_talk")


@pytest.mark.parametrize(
    "text",
    [
        "hello Mirko",
        "who are you writing to?",
        "what can you do about mould?",
        "rack",
        "🎉",
        "yes, more",
        "OK, what is QT43?",
        "why?",
        "hi-fi",
        "thanks to whom?",
        "§ 5",
        "good",
        "7",
    ],
)
def test_d11_everything_else_is_searched(text):
    assert read(text) == Intent("search")


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("What is this about?", Intent("overview")),
        ("what's this document about?", Intent("overview")),
        ("Give me an overview", Intent("overview")),
        ("tl;dr", Intent("overview")),
        ("Give a summary of this paper in 3 sentences", Intent("overview")),
        ("summarise the second file", Intent("overview", ordinal=2)),
        ("Summarize the last document please", Intent("overview", ordinal=-1)),
        ("summarise pump.pdf", Intent("overview", document="pump.pdf")),
        ("summary of the pump manual", Intent("overview", document="Pump manual.docx")),
        ("この文書の要約をしてください", Intent("overview")),
        ("二番目のファイルを要約して", Intent("overview", ordinal=2)),
        ("这份文件讲了什么？", Intent("overview")),
        ("Worum geht es in diesem Dokument?", Intent("overview")),
        ("De quoi parle ce document ?", Intent("overview")),
    ],
)
def test_d10_questions_about_a_whole_document(text, intent):
    assert read(text) == intent


@pytest.mark.parametrize(
    "text",
    [
        "what is the price about",
        "summarise the safety rules",
        "What does the second document say about pumps?",
        "总结一下泵的安全规则",
        "summary of the pump",  # two names fit: searched rather than guessed
    ],
)
def test_a_topic_is_searched_even_where_a_summary_is_wanted(text):
    assert read(text) == Intent("search")


def test_a_follow_up_that_says_about_is_a_follow_up():
    assert read("what about it?", has_history=True) == Intent("search")
    assert read("what is this document about?", has_history=True) == Intent("overview")


def test_names_are_asked_for_only_where_they_matter():
    def never():
        raise AssertionError("asked for names")

    assert read_intent("What is the price of V2?", document_names=never) == Intent("search")
    assert read_intent("summarise the file", document_names=never) == Intent("overview")
