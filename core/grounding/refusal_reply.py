"""Does a reply say that the answer isn't in the documents? In English, German, Japanese and Chinese, by its words."""

from __future__ import annotations

import re

_PLACE = r"(?:documents?|sources?|passages?|texts?|information|context|excerpts?)"
_HELD = (
    r"(?:in|mentioned|stated|provided|specified|found|given|contained|included|answered|available|described|covered"
    r"|clear|listed|named)"
)
_HOLD = (
    r"(?:say|state|mention|contain|provide|specify|include|answer|give|tell|have|hold|describe|cover|indicate|address"
    r"|name|list|discuss)"
)
_NOT = r"(?:do|does|did)(?:n['’]t| not)"
_CANNOT = r"(?:can(?:not|['’]t| not)|could(?:n['’]t| not)|unable to|(?:am|was) not able to)"
_ENGLISH = (
    rf"\bnot (?:\w+ly )?{_HELD}\b.{{0,60}}\b{_PLACE}\b",
    rf"\b{_PLACE}\b.{{0,60}}\b{_NOT}\b.{{0,40}}\b{_HOLD}\b",
    rf"\b(?:no|insufficient|not enough) (?:\w+ ){{0,2}}{_PLACE}\b",
    rf"\b{_CANNOT} (?:\w+ ){{0,2}}(?:find|answer|determine|tell|say)\b",
    r"\bi do(?:n['’]t| not) (?:know|have)\b",
    r"\bthere is no (?:\w+ )?(?:mention|information|answer|indication)\b",
    r"^(?:(?:it|this|that|the answer) is )?not (?:mentioned|stated|specified|provided|known)\b",
)
_GERMAN = (
    r"\bnicht in (?:den|ihren|deinen) (?:dokumenten|quellen|unterlagen|texten)\b",
    r"\b(?:dokumente|quellen|unterlagen|texte|passagen|auszüge)\b.{0,60}\b(?:nichts?|keine?)\b",
    r"\bkeine (?:\w+ )?(?:angaben?|informationen?|antwort|hinweise?)\b",
    r"\bnicht (?:erwähnt|angegeben|enthalten|genannt)\b",
)
_JAPANESE = (
    r"(?:記載|記述|言及|説明|明記|情報|答え|回答|述べ|書か|載っ|含ま).{0,8}(?:ありません|ない|いません|ございません|おりません|ません)",
    r"(?:文書|資料|ドキュメント|情報源|出典|ソース).{0,30}(?:ありません|書かれていません|見つかりません|含まれていません|ないため)",
    r"(?:わかりません|分かりません|不明です|見つかりません)",
)
_CHINESE = (
    r"(?:没有|未|沒有|并未|並未|无法|無法).{0,12}(?:提到|提及|提供|说明|說明|找到|包含|记载|記載|回答|给出|給出|指出|相关信息|相關信息|确定|確定)",
    r"(?:文档|文件|资料|資料|文本|来源|來源|段落)(?:中|里|裡|内)?.{0,12}(?:没有|沒有|未|无)",
)
_ALL = (*_ENGLISH, *_GERMAN, *_JAPANESE, *_CHINESE)
_PATTERNS = re.compile("|".join(f"(?:{part})" for part in _ALL), re.IGNORECASE)
_FIRST_SENTENCE = re.compile(r"^.*?(?:[.!?](?=\s|$)|[。！？\n]|$)", re.DOTALL)


def is_refusal_reply(reply: str) -> bool:
    """Whether the reply begins by saying that the documents don't hold the answer.

    Only the first sentence counts: "It costs 25 euros. The documents don't say for whom." is an answer.
    """
    start = reply.strip().lstrip("*_#> \"'“")
    first = _FIRST_SENTENCE.match(start)
    return bool(first and _PATTERNS.search(first[0]))
