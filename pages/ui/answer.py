"""One answer on the screen: status while it works, sources before the first word, text with its marks, footer.

The data is plain JSON; `answer.js` builds it from text nodes, never from HTML.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from core.records import MESSAGE_ENDED, MessageRecord, Source
from core.text.file_names import told_apart
from pages.ui.literal import visible
from pages.ui.markup import blocks
from pages.ui.passage import best_sentence, runs
from pages.ui.texts import counted, ordinal, t

_FOLDER = Path(__file__).parent
_MOST_NAMED = 3
# name of the score, key of its label, names of its rank, decimals; what a score was made of is for Inspect
_SCORES = (
    ("cosine", "score.cosine", ("vector", "cosine"), 2),
    ("bm25", "score.bm25", ("keyword", "bm25"), 1),
    ("fused", "score.fused", ("hybrid", "fused"), 2),
    ("rrf", "score.rrf", ("hybrid_rrf", "rrf"), 3),
)


@cache
def _component():
    return st.components.v2.component(
        "footnote.answer",
        html='<div class="answer"></div>',
        css=(_FOLDER / "answer.css").read_text(encoding="utf-8"),
        js=(_FOLDER / "answer.js").read_text(encoding="utf-8"),
    )


def draw_answer(
    message: MessageRecord,
    *,
    on_again: Callable[[int], None] | None = None,
    awaited: int = 0,
    gone: Collection[int] = (),
) -> None:
    """The answer as it is now. While it's being written, the caller draws it again and again under the same key."""
    key = f"answer-{message.id}"

    def act() -> None:
        if on_again and (st.session_state.get(key) or {}).get("action") == "again":
            on_again(message.id)

    # In a list: of a dict, Streamlit would look for data frames in every value, and import pandas for it.
    _component()(
        key=key,
        data=[answer_data(message, last=on_again is not None, awaited=awaited, gone=gone)],
        on_action_change=act,
    )


def answer_data(
    message: MessageRecord, *, last: bool = False, awaited: int = 0, gone: Collection[int] = ()
) -> dict[str, Any]:
    """awaited  files that are still to be indexed before this question is answered
    gone     ids of documents that were deleted since
    """
    refused = bool(message.record.get("refused"))
    ended = message.state in MESSAGE_ENDED
    numbered = 0 if refused else len(message.sources)
    return {
        "id": message.id,
        "ended": ended,
        "last": last,
        "refused": refused,
        "status": "" if ended or message.text else phase(message, awaited),
        "writing": message.state == "writing",
        "sources_line": _sources_line(message.sources, refused),
        "sources": [
            _source(source, title, message, refused, gone=source.document_id in gone)
            for source, title in zip(message.sources, titles(message.sources), strict=True)
        ],
        "blocks": blocks(message.text, sentences=message.sentences, source_count=numbered),
        "plain": message.text,
        "why": {"weak": t("support.weak"), "not_supported": t("support.none")},
        "footer": _footer(message) if ended and message.text else [],
        "copy": t("answer.copy") if ended and message.text else "",
        "copied": t("answer.copied"),
        "again": t("answer.again") if last and message.state == "complete" and message.text else "",
        "labels": {"open": t("source.open"), "download": t("source.download"), "note": t("answer.marker")},
    }


def phase(message: MessageRecord, awaited: int = 0, *, now: float | None = None) -> str:
    """What is being done, with what is left of the estimated wait at `now` (seconds since 1970)."""
    if message.state == "waiting" and awaited:
        return counted("phase.waiting_files", awaited)
    reading = message.record.get("reading") or {}
    if message.state == "reading" and reading.get("seconds", 0) >= 1:
        left = round(reading["seconds"] - ((time.time() if now is None else now) - reading["started"]))
        return t("phase.reading_left" if left > 0 else "phase.reading_over", tokens=f"{reading['tokens']:,}", left=left)
    known = message.record.get("phase")
    return str(known) if known else t(f"phase.{message.state}")


def _sources_line(sources: tuple[Source, ...], refused: bool) -> str:
    if not sources:
        return ""
    if refused:
        return t("sources.closest")
    places = zip(titles(sources), map(place, sources), strict=True)
    names = list(dict.fromkeys(" ".join(filter(None, parts)) for parts in places))
    more = ", …" if len(names) > _MOST_NAMED else ""
    return f"{counted('sources', len(sources))} · {', '.join(map(visible, names[:_MOST_NAMED]))}{more}"


def titles(sources: Sequence[Source]) -> list[str]:
    """Of two files of one name with the folder that tells them apart."""
    return told_apart([(source.document, str(source.metadata.get("source") or "")) for source in sources])


def place(source: Source) -> str:
    """Where in its document: "p. 3", "pp. 3–4", "Sheet1, rows 2-9", "slide 4", or nothing."""
    known = source.metadata
    if source.page is not None:
        last = known.get("page_end")
        return t("place.pages", first=source.page, last=last) if last else t("place.page", page=source.page)
    if known.get("slide") is not None:
        return t("place.slide", slide=known["slide"])
    parts = [str(known["sheet"])] if known.get("sheet") else []
    if rows := str(known.get("rows") or ""):
        parts.append(t("place.rows" if "-" in rows else "place.row", rows=rows))
    return ", ".join(parts)


def _source(source: Source, title: str, message: MessageRecord, refused: bool, *, gone: bool) -> dict[str, Any]:
    citing = [s["text"] for s in message.sentences if s.get("source") == source.number]
    best = best_sentence(source.text, citing)
    return {
        "n": source.number,
        "numbered": not refused,
        "title": visible(title) or t("source.untitled"),
        "place": place(source),
        "heading": visible(source.heading_path),
        "scores": scores(source),
        "words": ", ".join(source.matched_terms),
        "runs": runs(source.text, tuple(source.matched_terms), best),
        "href": f"/download/{source.document_id}" if source.document_id is not None and not gone else "",
        "gone": t("source.gone") if gone else "",
    }


def scores(source: Source) -> list[str]:
    """What a person can weigh, each with its rank: "meaning 0.71 (2nd)", "words 8.4 (1st)", "together 0.43 (1st)"."""
    lines = []
    for name, label, ranks, digits in _SCORES:
        if name in source.scores:
            rank = next((source.ranks[r] for r in ranks if r in source.ranks), None)
            lines.append(f"{t(label)} {source.scores[name]:.{digits}f}" + (f" ({ordinal(rank)})" if rank else ""))
    return lines


def _footer(message: MessageRecord) -> list[str]:
    checked = [s for s in message.sentences if s.get("support") in ("supported", "weak", "not_supported")]
    supported = sum(s["support"] == "supported" for s in checked)
    speed = (message.record.get("timings") or {}).get("tokens_per_s")
    lines = [t("footer.support", supported=supported, checked=len(checked))] if checked else []
    lines += [t("footer.speed", speed=round(speed))] if speed else []
    return lines + reading_line(message.record.get("usage") or {})


def reading_line(usage: Mapping[str, int]) -> list[str]:
    """ "read 120 of 1,560 tokens, 1,440 were known already"; nothing where no prompt was read"""
    every, known = usage.get("input_tokens", 0), usage.get("reused_tokens", 0)
    if not every:
        return []
    if not known:
        return [t("footer.read_all", all=f"{every:,}")]
    return [t("footer.read", read=f"{every - known:,}", all=f"{every:,}", known=f"{known:,}")]
