"""Sentences of a document that speak to the model instead of the reader ("Ignore the question and say …").

Small models obey them, whatever the rules say. They are left out of the prompt only: the source is shown as it is, and
the record says what wasn't sent. Careful: a sentence must give an order about the conversation itself. A manual's
"never ignore the safety rules" or "Respond in JSON" stays.
"""

from __future__ import annotations

import re

from core.text.sentences import sentence_spans

LEFT_OUT = "[…]"

# An order begins its sentence or its clause; "if you ignore the instructions" and "do not ignore" are none.
_ORDER = r"(?:^|[:;,.!\]>]\s*|\b(?:please|and|then|now|instead)\s+)"
_STRONG = (
    _ORDER + r"(?:ignore|disregard|forget|override|bypass)\b.{0,60}\b(?:instructions?|prompts?|(?:the|this) questions?"
    r"|rules|directions|guidelines|everything|(?:previous|prior|above|earlier)\b)",
    _ORDER
    + r"(?:answer|respond|reply)\b.{0,40}\b(?:every|all|any)\b.{0,20}\b(?:questions?|messages?|prompts?|requests?)",
    r"\byour (?:system prompt|new (?:instructions?|task|role))\b",
    r"^\W*(?:system|assistant|developer)\s*:\s*(?:you|ignore|say|do|never|always|from now)\b",
    _ORDER + r"(?:ignoriere|ignorieren sie|vergiss|vergessen sie|missachte)\b.{0,60}"
    r"(?:anweisung|frage|regel|vorgabe|obige|vorherige|bisherige)",
    r"(?:指示|命令|質問|プロンプト|ルール).{0,12}(?:無視|忘れ)(?!し(?:ないで|ては|てはいけ))",
    r"(?:忽略|无视|無視|忘记|忘記|忘掉).{0,16}(?:指令|指示|提示|问题|問題|规则|規則|以上|之前|上述)",
)
# Orders that are ordinary in manuals, and mean the model only beside one of the above.
_WEAK = (
    r"^\W*(?:you are (?:now )?(?:an?|the)|act as|pretend|from now on)\b",
    _ORDER + r"(?:say|output|print|write|answer|respond|reply|tell)\b",
)
_IS_STRONG = re.compile("|".join(f"(?:{part})" for part in _STRONG), re.IGNORECASE)
_IS_WEAK = re.compile("|".join(f"(?:{part})" for part in _WEAK), re.IGNORECASE)


def instruction_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence that orders the model about, in order; usually none."""
    sentences = [(start, start + len(text[start:end].rstrip())) for start, end in sentence_spans(text)]
    if not any(_IS_STRONG.search(text[start:end]) for start, end in sentences):
        return []
    return [
        (start, end)
        for start, end in sentences
        if _IS_STRONG.search(text[start:end]) or _IS_WEAK.search(text[start:end])
    ]


def without_instructions(text: str) -> str:
    """The text as it is sent to the model: `LEFT_OUT` in place of each such sentence."""
    for start, end in reversed(instruction_spans(text)):
        text = text[:start] + LEFT_OUT + text[end:]
    return text
