"""Results as text tables for a terminal: what was measured, and its ratio to Footnote's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.services.tables import table

Row = dict[str, Any]


def ingest_table(rows: Sequence[Row]) -> str:
    """`x time` and `x a token` are the contestant's over those of the first row, which is Footnote as shipped.

    `cut` is the share of the text that lay behind what the model reads of one text: given to it, never embedded.
    """
    own = next((row for row in rows if "failed" not in row), None)
    columns = {
        "precision": lambda row: row["precision"],
        "threads": lambda row: row["threads"],
        "seconds": lambda row: f"{row['seconds']:.1f}",
        "spread": lambda row: f"{row['lowest']:.1f} to {row['highest']:.1f}",
        "x time": lambda row: _ratio(row["seconds"], own["seconds"]),
        "characters/s": lambda row: f"{row['characters_per_s']:,.0f}",
        "cut": lambda row: _percent(row["cut_share"]),
        "x a token": lambda row: _ratio(_per_token(row), _per_token(own)),
        "segments": lambda row: row["segments"],
        "peak MB": lambda row: f"{row['peak_mb']:,.0f}",
        "model load s": lambda row: f"{row['load_s']:.1f}",
    }
    return _lines(rows, {"contestant": lambda row: row["contestant"]}, columns)


def search_table(rows: Sequence[Row]) -> str:
    """One set. `*` marks the retriever that one gets without choosing; `x` is the median over that of Footnote's."""
    own = next((row for row in rows if row.get("is_default")), None)
    columns = {
        "retriever": lambda row: row["retriever"] + (" *" if row["is_default"] else ""),
        "recall@5": lambda row: f"{row['recall@5']:.3f}",
        "nDCG@10": lambda row: f"{row['ndcg@10']:.3f}",
        "median ms": lambda row: f"{row['median_ms']:.1f}",
        "p95 ms": lambda row: f"{row['p95_ms']:.1f}",
        "x": lambda row: _ratio(row["median_ms"], own["median_ms"]),
        "of it embedding": lambda row: "-" if row["embedding_ms"] is None else f"{row['embedding_ms']:.1f}",
        "peak MB": lambda row: f"{row['peak_search_mb']:,.0f}" if row["peak_search_mb"] else "-",
        "ingest s": lambda row: f"{row['ingest_s']:.1f}",
        "segments": lambda row: row["segments"],
    }
    return _lines(rows, {"contestant": lambda row: row["contestant"]}, columns)


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Is Footnote's default above the best of each other one, whatever its store? A sentence a set and peer.

    `squad2_en: nDCG@10 .905, LangChain's best .835 (hybrid): above by .070`
    """
    sentences = []
    for name in dict.fromkeys(row["set"] for row in rows):
        of_set = [row for row in rows if row["set"] == name and "failed" not in row]
        own = next((row for row in of_set if row["contestant"] == "Footnote" and row["is_default"]), None)
        if own is None:
            continue
        peers = dict.fromkeys(_family(row) for row in of_set)
        for peer in [peer for peer in peers if peer != "Footnote"]:
            best = max((row for row in of_set if _family(row) == peer), key=lambda row: row["ndcg@10"])
            ahead = own["ndcg@10"] - best["ndcg@10"]
            word = f"above by {ahead:.3f}" if ahead > 0 else f"NOT above: {ahead:.3f}"
            sentences.append(
                f"{name}: nDCG@10 {own['ndcg@10']:.3f}, {peer}'s best {best['ndcg@10']:.3f} "
                f"({best['retriever']}): {word}"
            )
    return sentences


def held(found: Mapping[str, Any]) -> str:
    """What must hold, and whether it did, of everything that was measured in this run. "" where nothing was."""
    lines = [
        {"table": name, "must": one.get("must", "-"), "held": _yes(one["ok"])}
        for name, one in found.items()
        if isinstance(one, Mapping) and "ok" in one
    ]
    lines += [{"table": "peers-ingest", **line} for line in _ingest_held(found.get("peers-ingest", {}).get("text", []))]
    if sentences := verdicts(found.get("peers-search", [])):
        below = sum("NOT above" in sentence for sentence in sentences)
        must = "the default above the best of each on each set"
        lines.append({"table": "peers-search", "must": must, "held": f"{len(sentences) - below} of {len(sentences)}"})
    return table(lines, "table", "must", "held") if lines else ""


def _ingest_held(rows: Sequence[Row]) -> list[Row]:
    ran = [row for row in rows if "failed" not in row and row["tokens_read"]]
    lines = []
    for peer in ran[1:]:
        if _family(peer) not in ("LangChain", "LlamaIndex"):
            continue
        plain, read = peer["seconds"] / ran[0]["seconds"], _per_token(peer) / _per_token(ran[0])
        must = f"2 times as fast as {peer['contestant']} for what its model reads"
        lines.append({"must": must, "held": f"{_yes(read >= 2)}: {read:.2f} (time alone {plain:.2f})"})
    return lines


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "NO"


def versions(rows: Sequence[Row]) -> str:
    """A line for each family of contestants: what ran. `LangChain: langchain 1.5.2, faiss-cpu 1.15.1`"""
    found = {_family(row): row["versions"] for row in rows if "failed" not in row}
    return "\n".join(
        f"{family}: {', '.join(f'{package} {number}' for package, number in of_family.items() if number)}"
        for family, of_family in found.items()
    )


def _family(row: Row) -> str:
    """`_family({"contestant": "LlamaIndex, FAISS"})` is "LlamaIndex"."""
    return row["contestant"].partition(",")[0]


def own_table(found: Mapping[str, Any]) -> str:
    """What a measurement of Footnote's own returned: plain values first, then each list of rows as a table."""
    flat, tables = _flattened(found)
    blocks = (
        [table([{"figure": name, "value": value} for name, value in flat.items()], "figure", "value")] if flat else []
    )
    blocks += [f"{name}\n{table(rows, *rows[0])}" for name, rows in tables.items()]
    return "\n\n".join(blocks)


def _flattened(found: Mapping[str, Any], before: str = "") -> tuple[dict[str, str], dict[str, list[Row]]]:
    flat: dict[str, str] = {}
    tables: dict[str, list[Row]] = {}
    for key, value in found.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            deeper, more = _flattened(value, f"{name}: ")
            flat |= deeper
            tables |= more
        elif _are_rows(value):
            keys = dict.fromkeys(key for row in value for key in row)
            tables[name] = [{key: _short(row.get(key)) for key in keys} for row in value]
        else:
            flat[name] = _short(value)
    return flat, tables


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) and row for row in value)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_short, value[:8])) + (" …" if len(value) > 8 else "")
    return "-" if value is None else str(value)


def _lines(
    rows: Sequence[Row], name: Mapping[str, Callable[[Row], Any]], columns: Mapping[str, Callable[[Row], Any]]
) -> str:
    """A row that failed holds its reason instead of figures."""
    cells = []
    for row in rows:
        first = {column: value(row) for column, value in name.items()}
        if "failed" in row:
            others = dict.fromkeys(columns, "")
            cells.append({**first, **others, next(iter(columns)): f"not run: {row['failed']}"})
        else:
            cells.append({**first, **{column: value(row) for column, value in columns.items()}})
    ran = [row for row in cells if not str(row[next(iter(columns))]).startswith("not run: ")]
    text = table(ran, *name, *columns) if ran else ""
    failures = [f"{next(iter(row.values()))}  {row[next(iter(columns))]}" for row in cells if row not in ran]
    return "\n".join(filter(None, [text, *failures]))


def _ratio(value: float | None, own: float | None) -> str:
    return f"{value / own:.2f}" if value and own else "-"


def _per_token(row: Row) -> float | None:
    return row["seconds"] / row["tokens_read"] if row["tokens_read"] else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
