"""Footnote without a browser: the same services, the same data folder, safe to run beside the app.

\b
    python cli.py ingest ~/papers --recursive
    python cli.py ask "When can I cancel?"

Human-readable by default; `--json` prints one JSON object (JSON Lines for ingest). Exit status: 0 all done; 1 something
failed, each named on standard error in one line; 2 wrong usage.
"""

from __future__ import annotations

import os

# Read by OpenMP before torch, faiss and llama_cpp are imported: threads that wait actively starve a small machine.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import json
import logging
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from core.errors import ConfigError, FootnoteError
from core.records import DEFAULT_COLLECTION
from core.registry import lookup
from core.services import rows, terminal
from core.services.arguments import check_collection, filter_of, options_first
from core.services.tables import table
from core.settings import Settings, unknown_variables

logger = logging.getLogger(__name__)

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)
models_app = typer.Typer(invoke_without_command=True, help="List the models that Footnote can fetch, or fetch one.")
app.add_typer(models_app, name="models")

Collection = Annotated[str | None, typer.Option(help="Only this collection.")]


class State:
    """What the options before the command said."""

    data: Path | None = None
    as_json = False


@app.callback()
def options(
    data: Annotated[Path | None, typer.Option(help="Data folder (FOOTNOTE_DATA).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    State.data, State.as_json = data, as_json


# ── documents ────────────────────────────────────────────────────────────────


@app.command()
def ingest(
    places: Annotated[list[str], typer.Argument(metavar="PATH|URL...", help="Files, folders or web addresses.")],
    collection: Annotated[str, typer.Option(help="Collection to add to.")] = DEFAULT_COLLECTION,
    recursive: Annotated[bool, typer.Option(help="Folders with all that is below them.")] = False,
    glob: Annotated[str | None, typer.Option(help="Only what matches: '*.md', or '**/*.md' with all below.")] = None,
    password: Annotated[str | None, typer.Option(help="For encrypted files.")] = None,
    prune: Annotated[bool, typer.Option(help="Remove from the index what is gone from the folders.")] = False,
) -> None:
    """Read files, folders and web pages into the index."""
    failed = read = 0
    with services() as s:
        for row in s.batches.ingest(
            places, collection=collection, recursive=recursive, glob=glob, password=password, prune=prune
        ):
            failed += row["status"] in ("failed", "needs_password", "stopped")
            read += row["status"] != "removed"
            if row["error"]:
                complain(terminal.ingest_error(row))
            show(row, terminal.ingest_line(row))
    if not read:
        complain("no file matched, so nothing was read; --recursive or --glob '**/*.md' also reaches the folders below")
    raise typer.Exit(1 if failed else 0)


@app.command()
def documents(collection: Collection = None) -> None:
    """List the documents."""
    with services() as s:
        check_collection(s.library, collection)
        found = [rows.document_row(record) for record in s.library.documents(collection=collection)]
    lines = terminal.documents_told_apart(found)
    show({"documents": found}, table(lines, "id", "name", "collection", "type", "pages", "segments"))


@app.command()
def collections() -> None:
    """List the collections."""
    with services() as s:
        found = [rows.collection_row(record) for record in s.library.collections()]
    show({"collections": found}, table(found, "id", "name", "documents", "segments"))


@app.command()
def jobs() -> None:
    """List what runs, waits or has failed."""
    with services() as s:
        found = [rows.job_row(record) for record in s.library.jobs()]
    show({"jobs": found}, table(terminal.job_lines(found), "id", "name", "state", "progress", "phase", "reason"))


@app.command()
def delete(
    document_id: Annotated[int, typer.Argument(metavar="ID")],
    for_good: Annotated[bool, typer.Option("--for-good", help="At once, with its original: no way back.")] = False,
) -> None:
    """Remove a document. It can be brought back for some hours (setting undo_hours), unless it's for good."""
    with services() as s:
        if for_good and document_id in {document.id for document in s.library.deleted()}:
            row = next(rows.deleted_row(d) for d in s.library.deleted() if d.id == document_id)
        else:
            row = rows.document_row(s.library.delete(document_id))
        if for_good:
            s.library.purge_deleted([document_id])
        hours = 0 if for_good else s.library.undo_hours
    show({"deleted": row}, terminal.deleted_text(row, hours))


@app.command()
def undelete(document_id: Annotated[int, typer.Argument(metavar="ID")]) -> None:
    """Bring a deleted document back, as it was."""
    with services() as s:
        row = rows.document_row(s.library.undelete(document_id))
    show({"undeleted": row}, f"{row['name']} is back ({row['segments']} segments)")


@app.command()
def deleted() -> None:
    """List the deleted documents that can be brought back."""
    with services() as s:
        found = [rows.deleted_row(record) for record in s.library.deleted()]
    show({"deleted": found}, table(found, "id", "name", "collection", "segments", "deleted"))


@app.command()
def segments(document_id: Annotated[int, typer.Argument(metavar="ID")]) -> None:
    """Show the segments of a document."""
    with services() as s:
        found = [rows.segment_row(record) for record in s.library.segments(document_id)]
    show({"segments": found}, terminal.segments_text(found))


# ── questions ────────────────────────────────────────────────────────────────


@app.command()
def search(
    query: str,
    limit: Annotated[int, typer.Option(min=1, help="Most results.")] = 6,
    retriever: Annotated[str | None, typer.Option(help="hybrid, vector, keyword, hybrid_rrf …")] = None,
    collection: Collection = None,
    filter: Annotated[str | None, typer.Option(help='JSON, e.g. {"key": "page", "equal": 3}')] = None,
    min_score: Annotated[float | None, typer.Option(min=0, max=1, help="Lowest (cosine + 1) / 2.")] = None,
) -> None:
    """Find the segments that fit a query."""
    condition = filter_of(filter)
    with services() as s:
        check_collection(s.library, collection)
        result = s.search.search(
            query, limit=limit, retriever=retriever, collection=collection, filter=condition, min_score=min_score
        )
    found = [rows.content_row(rank, content) for rank, content in enumerate(result.contents, start=1)]
    for failure in result.trace.failures:
        complain(failure)
    sources = [content.segment.metadata.get_string("source") for content in result.contents]
    text = terminal.results_text(found, sources)
    show({"query": query, "seconds": round(result.seconds, 4), "results": found}, text)


@app.command()
def ask(
    question: str,
    conversation: Annotated[str | None, typer.Option(help="Go on with this conversation.")] = None,
    collection: Collection = None,
) -> None:
    """Ask your documents."""
    with services() as s:
        check_collection(s.library, collection)
        message = s.chat.answer_now(question, conversation_id=conversation, collection=collection)
    for sentence in (*message.record.get("retrieval", {}).get("failures", ()), message.reason):
        if sentence:
            complain(sentence)
    show(rows.answer_row(message), terminal.answer_text(message))
    raise typer.Exit(1 if message.state == "failed" else 0)


@app.command()
def evaluate(
    corpus: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="JSON Lines: id, title, text.")],
    queries: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="JSON Lines: id, text, history.")],
    qrels: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Tab-separated: query_id, corpus_id, rel.")],
    retriever: Annotated[list[str] | None, typer.Option(help="Repeat; default: vector, keyword, hybrid.")] = None,
) -> None:
    """Measure retrievers on a question set with gold answers."""
    from core.bootstrap import evaluate_retrievers

    results = evaluate_retrievers(_settings(), corpus, queries, qrels, retrievers=tuple(retriever or ()))
    found = [result.to_row() for result in results]
    show({"strategies": found}, table(found, *found[0]))


# ── upkeep ───────────────────────────────────────────────────────────────────


@app.command()
def check(repair: Annotated[bool, typer.Option(help="Mend what can be mended.")] = False) -> None:
    """Compare everything that is kept with everything else."""
    with services(look=False) as s:
        before = problems = s.maintenance.check()
        if repair and problems:
            problems = s.maintenance.repair(problems)
    found = [rows.problem_row(problem) for problem in problems]
    mended = [rows.problem_row(problem) for problem in before if problem not in problems]
    lines = [*(f"mended: {row['message']}" for row in mended), *(row["message"] for row in found)]
    show(
        {"ok": not found, "problems": found} | ({"mended": mended} if repair else {}),
        "\n".join(lines if found else [*lines, "all is well"]),
    )
    raise typer.Exit(1 if found else 0)


@app.command()
def backup(file: Path) -> None:
    """Write everything into one file, also while the app runs."""
    with services(look=False) as s:
        counts = s.maintenance.backup(file)
    show({"ok": True, **counts}, f"saved {terminal.counts_text(counts)} to {file.name}")


@app.command()
def restore(file: Path) -> None:
    """Bring a backup back into an empty data folder."""
    from core.bootstrap import restore_backup

    counts = restore_backup(_settings(), file)
    show({"ok": True, **counts}, f"restored {terminal.counts_text(counts)}")


@models_app.callback()
def models(context: typer.Context) -> None:
    from core import model_catalogue

    if context.invoked_subcommand is None:
        found = model_catalogue.rows(_settings().models)
        show({"models": found}, table(found, "name", "kind", "bytes", "licence", "state"))


@models_app.command("fetch")
def models_fetch(name: str) -> None:
    """Fetch a model of the catalogue and check it."""
    from core import model_catalogue

    model = lookup(model_catalogue.CATALOGUE, name, kind="model of the catalogue")
    model_catalogue.fetch(model, _settings().models, progress=None if State.as_json else _progress)
    found = [row for row in model_catalogue.rows(_settings().models) if row["name"] == name]
    show({"models": found}, f"{name} is here")


def _progress(done: int, total: int) -> None:
    print(terminal.progress_text(done, total), end="", file=sys.stderr, flush=True)


@app.command()
def strategies() -> None:
    """List every strategy that can be chosen, with what it does."""
    from core.bootstrap import registries

    found = registries()
    show({"strategies": found}, terminal.strategies_text(found))


# ── shared ───────────────────────────────────────────────────────────────────


def _settings() -> Settings:
    return Settings.load(**({"data": State.data} if State.data else {}))


@contextmanager
def services(*, look: bool = True) -> Iterator[Any]:
    """look: a fast check of the data folder beside the command, which says in one line what isn't well"""
    from core.bootstrap import build_services

    built = build_services(_settings())
    try:
        with ThreadPoolExecutor(1) as beside:
            looking = beside.submit(built.maintenance.look) if look else None
            yield built
        if looking is not None and (found := looking.result()):
            complain(terminal.problems_text(found))
    finally:
        built.close()


def show(value: rows.Row, text: str) -> None:
    print(json.dumps(value, ensure_ascii=False, default=str) if State.as_json else text, flush=True)


def complain(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def _debugs() -> bool:
    return os.environ.get("FOOTNOTE_DEBUG", "") not in ("", "0")


def main(arguments: list[str] | None = None) -> int:
    # What people are to know is said in one line by the command itself; the log is for whoever looks for a fault.
    logging.basicConfig(level=logging.WARNING if _debugs() else logging.CRITICAL + 1)
    for sentence in unknown_variables(os.environ):
        complain(sentence)
    try:
        result = app(options_first(sys.argv[1:] if arguments is None else arguments), standalone_mode=False)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        complain("stopped")
        return 130
    except FootnoteError as error:
        complain(str(error))
        return 2 if isinstance(error, ConfigError) else 1
    except TyperException as error:
        error.show()
        return 2
    except Exception as error:
        logger.error("unforeseen", exc_info=error)
        kind = type(error).__name__
        complain(f"something unforeseen went wrong ({kind}); run it again with FOOTNOTE_DEBUG=1 to see where")
        return 1
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
