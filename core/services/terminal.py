"""What the command line shows to people: rows and answers as lines. What it prints for programs is in `rows.py`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from core.grounding.support import with_markers
from core.records import MessageRecord, Problem, Source
from core.services.rows import Row
from core.text.file_names import one_line, told_apart

EXCERPT_CHARS = 100
UNSUPPORTED = "⚠ nothing supports this"


def ingest_line(row: Row) -> str:
    """`indexed        /papers/a.pdf  3 pages, 12 segments, 0.8 s`"""
    parts = [_counted(row["pages"], "page"), _counted(row["segments"], "segment")]
    parts.append(f"{row['seconds']:.1f} s" if row["seconds"] else "")
    parts.append(row["note"] if row["status"] == "duplicate" else "")
    facts = ", ".join(filter(None, [*parts, *(f"note: {note}" for note in row["warnings"])]))
    return f"{row['status']:<14} {one_line(row['source'])}  {facts}".rstrip()


def ingest_error(row: Row) -> str:
    """The error of a file, which it names; a model that is missing says nothing of the file."""
    place = one_line(row["source"])
    return row["error"] if place.rpartition("/")[2] in row["error"] else f"{place}: {row['error']}"


def documents_told_apart(found: Sequence[Row]) -> list[Row]:
    """Rows of documents, those of one name with as many folders as tell them apart."""
    names = told_apart([(row["name"], row["source"]) for row in found])
    return [{**row, "name": name} for row, name in zip(found, names, strict=True)]


def deleted_text(row: Row, undo_hours: float) -> str:
    """What was deleted, and the way back while there is one."""
    said = f"deleted {row['name']} ({row['segments']} segments)"
    back = f"; for {undo_hours:.0f} h this brings it back: python cli.py undelete {row['id']}"
    return said + (back if undo_hours else ", for good")


def job_lines(found: Sequence[Row]) -> list[Row]:
    return [{**row, "progress": f"{row['progress']:.0%}"} for row in found]


def segments_text(found: Sequence[Row]) -> str:
    return "\n\n".join(f"[{row['index']}] {row['start']}-{row['end']}\n{row['text']}" for row in found)


def strategies_text(kinds: Mapping[str, Mapping[str, str]]) -> str:
    lines = ([kind, *(f"  {name:<24} {text}" for name, text in names.items())] for kind, names in kinds.items())
    return "\n".join(itertools.chain.from_iterable(lines))


def results_text(found: Sequence[Row], sources: Sequence[str | None]) -> str:
    """Hits with place, scores and text. sources: of each row, to tell documents of one name apart"""
    lines = []
    for row, label in zip(found, _labels([row["document"] for row in found], sources), strict=True):
        place = label + (f" p. {row['page']}" if row["page"] else "")
        scores = ", ".join(f"{name} {value:.3f}" for name, value in row["scores"].items())
        lines.append(f"{row['rank']}. {place}  ({scores})\n{row['text']}")
    return "\n\n".join(lines) or "nothing found"


def answer_text(message: MessageRecord) -> str:
    """The answer, each sentence with its source or a warning; then the sources, each with the place and its beginning.

    A refusal has no sources: what is shown are the passages that came closest, and a heading says so.
    """
    refused = bool(message.record.get("refused"))
    answer = message.text if refused else marked(message.text, message.sentences)
    labels = _labels(
        [source.document for source in message.sources], [source.metadata.get("source") for source in message.sources]
    )
    listed = [_source(source, label) for source, label in zip(message.sources, labels, strict=True)]
    heading = ["closest passages:"] if refused and listed else []
    return "\n\n".join(filter(None, [answer, "\n".join(heading + listed)]))


def marked(answer: str, sentences: Sequence[Mapping]) -> str:
    """`marked("It costs 25 euros. It is red.", …)`: "It costs 25 euros [1]. It is red. ⚠ nothing supports this"."""
    pieces, position = [], 0
    for sentence in sentences:
        text = answer[sentence["start"] : sentence["end"]]
        pieces.append(answer[position : sentence["start"]])
        if sentence["support"] == "not_supported":
            written = text.rstrip()
            pieces.append(f"{written} {UNSUPPORTED}{text[len(written) :]}")
        else:
            pieces.append(with_markers(text, [{**sentence, "start": 0, "end": len(text)}]))
        position = sentence["end"]
    return "".join([*pieces, answer[position:]])


def problems_text(problems: Sequence[Problem]) -> str:
    """What a fast check found, in one line with the way out."""
    many = "" if len(problems) == 1 else f" and {len(problems) - 1} more"
    return f"the data folder isn't well: {problems[0].message}{many}; run: python cli.py check --repair"


def counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())


def progress_text(done: int, total: int) -> str:
    """One line that overwrites itself, and ends when all bytes are here."""
    return f"\r{done / 1e6:,.0f} of {total / 1e6:,.0f} MB" + ("\n" if done >= total else "")


def _source(source: Source, label: str) -> str:
    page = f"p. {source.page}" if source.page is not None else ""
    text = one_line(source.text)
    excerpt = text[:EXCERPT_CHARS] + ("…" if len(text) > EXCERPT_CHARS else "")
    place = ", ".join(filter(None, [label, page, one_line(source.heading_path)]))
    return f"[{source.number}] {place}\n    {excerpt}"


def _labels(names: Sequence[str], sources: Sequence[str | None]) -> list[str]:
    return told_apart([(name, source or "") for name, source in zip(names, sources, strict=True)])


def _counted(count: int | None, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}" if count else ""
