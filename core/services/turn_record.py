"""What is kept of an answer besides its text, as plain JSON: contents with scores, the prompt by part, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.domain import Content
from core.grounding.instructions import instruction_spans
from core.rag.prompt import PackedPrompt

_INSTRUCTION = "sentences that give orders to the model instead of the reader were not sent"


def considered(contents: Sequence[Content], kept: Sequence[Content]) -> list[dict[str, Any]]:
    """Every content that was found, best first; `number` is its [n] in the prompt, None for one that isn't there."""
    numbers = {content.key: number for number, content in enumerate(kept, start=1)}
    return [
        {
            "segment_id": content.id,
            "document_id": content.document_id,
            "document": content.segment.metadata.get_string("file_name") or "",
            "scores": dict(content.scores),
            "ranks": dict(content.ranks),
            "matched_terms": list(content.matched_terms),
            "number": numbers.get(content.key),
        }
        for content in contents
    ]


def prompt_record(prompt: PackedPrompt) -> dict[str, Any]:
    """The prompt as it is sent, its parts with their tokens, and what had to go with the reason."""
    return {
        "prompt": {
            "messages": [{"role": message.role, "text": message.text} for message in prompt.messages],
            "parts": [
                {"kind": part.kind, "role": part.role, "number": part.number, "tokens": part.tokens}
                for part in prompt.parts
            ],
            "tokens": prompt.tokens,
            "answer_tokens": prompt.answer_tokens,
        },
        "cut": [
            {
                "kind": cut.kind,
                "reason": cut.reason,
                "segment_id": cut.content.id if cut.content else None,
                "messages": cut.messages,
            }
            for cut in prompt.cut
        ]
        + [
            {"kind": "instruction", "reason": _INSTRUCTION, "segment_id": content.id, "number": number}
            for number, content in enumerate(prompt.contents, start=1)
            if instruction_spans(content.segment.text)
        ],
    }


def timings_of(timings: Mapping[str, float], total: float, usage: Mapping[str, int] | None) -> dict[str, float]:
    """Seconds of each step, and the speed of writing where something was written."""
    known = {name: round(seconds, 3) for name, seconds in timings.items()} | {"total": round(total, 3)}
    written, seconds = (usage or {}).get("output_tokens", 0), timings.get("writing", 0.0)
    if written > 1 and seconds > 0:
        known["tokens_per_s"] = round(written / seconds, 1)
    return known
