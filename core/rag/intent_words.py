"""The words that `intent.py` knows, folded: greetings, what asks for a summary, what may stand beside it."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(phrase.strip() for line in text.splitlines() for phrase in line.split("|")) - {""}


SMALL_TALK = _phrases(
    """
    hi|hello|hey|hi there|hello there|hey there|good morning|good afternoon|good evening|good night|good day
    thanks|thank you|thank you very much|thank you so much|thanks a lot|thanks so much|many thanks|thx|ty|cheers
    ok|okay|k|alright|all right|great|cool|nice|perfect|awesome|super|fine|got it|i see|understood|well done|good job
    bye|goodbye|good bye|see you|see you later|how are you|how are you doing|whats up|nice to meet you
    no thanks|no thank you|thats all|that is all|never mind
    who are you|what are you|what can you do|what can you do for me|how can you help me|what can i ask you
    wer bist du|was bist du|was kannst du|was kannst du fur mich tun|was kann ich dich fragen
    あなたは誰|あなたは誰ですか|あなたはだれですか|あなたは何ができますか|あなたは何ができるの|あなたに何ができますか
    你是谁|您是谁|你是誰|你能做什么|您能做什么|你可以做什么|你会做什么|你能幫我做什麼|你能帮我做什么
    hallo|guten morgen|guten tag|guten abend|moin|servus|danke|danke schon|dankeschon|vielen dank|tschuss
    auf wiedersehen|alles klar|wie geht es dir|bonjour|bonsoir|salut|merci|merci beaucoup|au revoir|dag|dank je|bedankt
    hola|buenos dias|buenas tardes|gracias|muchas gracias|adios|ciao|buongiorno|grazie|grazie mille|arrivederci
    ola|bom dia|obrigado|obrigada|muito obrigado|привет|здравствуйте|спасибо|большое спасибо|до свидания
    こんにちは|こんばんは|おはよう|おはようございます|ありがとう|ありがとうございます|ありがとうございました|どうも
    さようなら|了解|了解です|わかりました|はじめまして|你好|您好|早上好|谢谢|谢谢你|谢谢您|多谢|再见|好的|明白了|謝謝
    안녕|안녕하세요|감사합니다|고마워|고맙습니다
    """
)
REACTIONS = "👍👎👌🙏👏🙌💯❤️😀😃😄😁😊🙂😉😂🤣😍🥰😎🤝✅\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff\u200d"

CUES = _words(
    """
    summarise summarize summary summaries summarising summarizing overview gist outline recap tldr tl;dr
    zusammenfassung zusammenfassen fasse fass zusammen uberblick resume resumer resumez sommaire apercu resumen
    resumir resume riassunto riassumi riassumere sintesi resumo samenvatting
    """
)
# "What about it?" goes on with a topic; "what is this about?" asks for one.
WEAK_CUES = _words("about worum parle trata parla fala")
# Say what kind of thing is meant.
DOCUMENT_WORDS = _words(
    """
    document documents doc docs file files text texts pdf paper article book report collection dokument dokumente
    dokuments datei dateien texte fichier fichiers texte documento documentos archivo archivos texto testo ficheiro
    arquivo bestand
    """
)
# May stand beside a cue without naming a topic.
GENERIC = (
    CUES
    | WEAK_CUES
    | DOCUMENT_WORDS
    | _words(
        """
    page pages content contents upload uploads attachment material information topic topics subject subjects theme main
    key important points point idea ideas whole entire full complete brief briefly short shortly quick quickly
    everything say says said talk talks talking discuss discusses cover covers deal deals describe describes explain
    contain contains inside uploaded attached given provided mean sentence sentences words bullet bullets paragraph get
    make write create provide want need like
    geht inhalt inhalte thema themen kurz handelt gib hochgeladene
    contenu sujet parle traite fais donne
    contenido tema trata habla haz dame contenuto argomento parla
    conteudo assunto fala gaat inhoud onderwerp one
    """
    )
)
ORDINALS = {
    word: number
    for number, words in {
        1: "first 1st erste ersten premier premiere primer primero primera primo prima eerste",
        2: "second 2nd zweite zweiten deuxieme segundo segunda secondo seconda tweede",
        3: "third 3rd dritte dritten troisieme tercer tercero tercera terzo terceiro derde",
        4: "fourth 4th vierte vierten quatrieme cuarto quarto vierde",
        5: "fifth 5th funfte funften cinquieme quinto vijfde",
        -1: "last latest newest letzte letzten neueste dernier derniere ultimo ultima laatste",
    }.items()
    for word in words.split()
}
CJK_CUE = re.compile(
    "要約|概要|要点|まとめ|何について|なんについて|どんな内容|何の(?:話|文書|資料)"
    "|总结|總結|概括|摘要|概述|关于什么|關於什麼|讲了?什么|說了?什麼|什么内容|요약|개요"
)
CJK_GENERIC = re.compile(
    "この|その|文書|文章|書類|資料|ファイル|ドキュメント|全体|内容|テキスト|して|してください|ください|下さい"
    "|教えて|ですか|でしょうか|です|書かれて|書いて|ある|いますか|いる"
    "|请|請|一下|这个|这份|这篇|這個|這份|文档|文檔|文件|全文|主要|内容|給我|给我|的是|是|的|了|吗|嗎|呢"
    "|이|문서|파일|내용|해줘|해주세요|해|주세요|좀|[はをのにがとでへもかまるたて]"
)
CJK_ORDINAL = re.compile(
    "([一二三四五1-5])(?:つ目|番目|个|個)|第([一二三四五1-5])(?:个|個|份|篇|の)?|最[後后](?:一?[个個份篇])?の?"
)
CJK_DIGITS = {digit: number for number, pair in enumerate(("一1", "二2", "三3", "四4", "五5"), 1) for digit in pair}
