import pytest

from core.grounding.refusal_reply import is_refusal_reply


@pytest.mark.parametrize(
    "reply",
    [
        "The documents don't say.",
        "The documents do not say that.",
        "The passages do not mention the price.",
        "This is not mentioned in the documents.",
        "There is no information about this in the passages.",
        "I cannot find this in the sources.",
        "I don't know.",
        "Not stated.",
        "Das steht nicht in den Dokumenten.",
        "Die Dokumente sagen dazu nichts.",
        "Dazu gibt es keine Angaben.",
        "資料には記載がありません。",
        "その情報は文書に含まれていません。",
        "文書からはわかりません。",
        "文档中没有提到这一点。",
        "资料里没有相关信息。",
        "**The documents don't say.** Perhaps ask the office.",
    ],
)
def test_it_says_that_it_is_not_in_the_documents(reply):
    assert is_refusal_reply(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "It costs 25 euros.",
        "It costs 25 euros. The documents don't say for whom.",
        "The warranty does not cover rust.",
        "The contract does not include VAT.",
        "The document does not expire before 2031.",
        "No, it can not be cancelled.",
        "Die Gebühr ist nicht hoch.",
        "料金は25ユーロです。",
        "费用是25欧元。",
    ],
)
def test_an_answer_with_a_not_in_it_is_an_answer(reply):
    assert not is_refusal_reply(reply)
