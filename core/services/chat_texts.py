"""The few sentences that the program says itself, in the question's language: English, German, Japanese, Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from core.domain import Content
from core.text.cjk import WIDE

Language = Literal["en", "de", "ja", "zh"]
MAX_TITLE_CHARS = 60

NOT_FOUND: dict[Language, str] = {
    "en": "The answer isn't in your documents. These passages come closest.",
    "de": "Die Antwort steht nicht in Ihren Dokumenten. Diese Stellen kommen ihr am nächsten.",
    "ja": "答えはあなたの文書にはありません。もっとも近い箇所を示します。",
    "zh": "您的文档中没有答案。以下是最接近的段落。",
}
# A question whose script no document has: neither its words nor an English-only model can find anything, and "it isn't
# in your documents" would claim more than is known.
OTHER_SCRIPT: dict[Language, str] = {
    "en": "Your documents are in another script than this question, which couldn't be looked up. Ask in theirs.",
    "de": "Ihre Dokumente haben eine andere Schrift als diese Frage; bitte fragen Sie in ihrer Sprache.",
    "ja": "文書がこの質問とは別の言語で書かれているため、検索できませんでした。文書の言語で質問してください。",
    "zh": "您的文档与这个问题的语言不同，因此无法检索。请用文档的语言提问。",
}
NOTHING_FOUND: dict[Language, str] = {
    "en": "The answer isn't in your documents.",
    "de": "Die Antwort steht nicht in Ihren Dokumenten.",
    "ja": "答えはあなたの文書にはありません。",
    "zh": "您的文档中没有答案。",
}
NO_DOCUMENTS: dict[Language, str] = {
    "en": "There are no documents here yet. Drop files into the chat or the library, and ask again.",
    "de": "Hier sind noch keine Dokumente. Legen Sie Dateien im Chat oder in der Bibliothek ab und fragen Sie erneut.",
    "ja": "ここにはまだ文書がありません。チャットかライブラリにファイルを入れて、もう一度質問してください。",
    "zh": "这里还没有文档。请把文件拖到聊天或资料库中，然后再问一次。",
}
SMALL_TALK: dict[Language, str] = {
    "en": "Hello! Ask me something about your documents.",
    "de": "Hallo! Fragen Sie mich etwas zu Ihren Dokumenten.",
    "ja": "こんにちは。文書について質問してください。",
    "zh": "您好！请问我关于您文档的问题。",
}
THANKS: dict[Language, str] = {
    "en": "You're welcome.",
    "de": "Gern geschehen.",
    "ja": "どういたしまして。",
    "zh": "不客气。",
}
ABOUT: dict[Language, str] = {
    "en": "I'm Footnote. I answer from your documents and show the passage behind each sentence. Ask me about them.",
    "de": "Ich bin Footnote. Ich antworte aus Ihren Dokumenten und zeige zu jedem Satz die Stelle. Fragen Sie mich.",
    "ja": "Footnoteです。あなたの文書から答え、それぞれの文の根拠となる箇所を示します。文書について質問してください。",
    "zh": "我是 Footnote。我根据您的文档回答，并显示每句话所依据的段落。请问我关于您文档的问题。",
}
NO_ANSWER = "no answer was produced; try again"
CUT = "the answer reached its longest length; go on with it, or set a longer one in the settings"
CLOSED = "Footnote was closed while this answer was being made; ask again to get a whole one"
BROKEN = "something went wrong while answering; the log has the details"

_THANKS = re.compile(r"thank|thx|\bty\b|cheers|merci|grac|dank|ありがと|感謝|谢|謝", re.IGNORECASE)
# Told from other small talk only, so a word is enough.
_ABOUT = re.compile(
    r"\bwho\b|\bwhat (?:are|can)\b|can you help|\bwer\b|\bwas (?:bist|kann)|誰|だれ|何|谁|做什|做甚", re.IGNORECASE
)
_WIDE = re.compile(f"[{WIDE}]")
_GERMAN = re.compile(
    r"\b(?:der|das|ist|sind|wer|wie|wann|wo|warum|welche[rsn]?|nicht|und|ich|hallo|danke|guten|bitte|kann|kannst|bist|gibt)\b"
    r"|[äöüß]",
    re.IGNORECASE,
)


def language_of(text: str) -> Language:
    """By its script, and German by its commonest words."""
    if re.search(r"[\u3041-\u30fa]", text):
        return "ja"
    if re.search(r"[\u4e00-\u9fff]", text):
        return "zh"
    return "de" if _GERMAN.search(text) else "en"


def has_other_script(question: str, contents: Sequence[Content]) -> bool:
    """Chinese or Japanese asked of passages that hold not one such character."""
    return bool(_WIDE.search(question)) and not any(_WIDE.search(content.segment.text) for content in contents)


def small_talk_reply(text: str) -> str:
    """ "thanks!" gives "You're welcome.", "who are you?" what this is; everything else a greeting."""
    said = ABOUT if _ABOUT.search(text) else THANKS if _THANKS.search(text) else SMALL_TALK
    return said[language_of(text)]


def title_of(question: str) -> str:
    """A conversation's title: its first question on one line, cut between words."""
    line = " ".join(question.split())
    if len(line) <= MAX_TITLE_CHARS:
        return line
    cut = line[: MAX_TITLE_CHARS - 1]
    blank = cut.rfind(" ")
    return (cut[:blank] if blank > MAX_TITLE_CHARS // 2 else cut).rstrip(" ,;:.-") + "…"


def searching_phase(documents: int) -> str:
    return f"Searching {documents:,} document{'' if documents == 1 else 's'}"


def reading_phase(tokens: int, seconds: float | None) -> str:
    """ "Reading 1,240 tokens, about 9 s"; without seconds where they aren't worth saying."""
    if seconds is None or seconds < 1:
        return f"Reading {tokens:,} tokens"
    return f"Reading {tokens:,} tokens, about {round(seconds)} s"
