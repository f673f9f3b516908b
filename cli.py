"""Footnote without a browser: the same services, the same data folder, safe to run beside the app.

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from core.errors import ConfigError, FootnoteError
from core.records import DEFAULT_COLLECTION
from core.registry import lookup
from core.services import rows
from core.services.tables import table
from core.settings import Settings
from core.text.file_names import one_line, told_apart

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
    glob: Annotated[str | None, typer.Option(help="Only paths in the folder that match, e.g. '**/*.pdf'.")] = None,
    password: Annotated[str | None, typer.Option(help="For encrypted files.")] = None,
    prune: Annotated[bool, typer.Option(help="Remove from the index what is gone from the folders.")] = False,
) -> None:
    """Read files, folders and web pages into the index."""
    failed = 0
    with services() as s:
        for row in s.batches.ingest(
            places, collection=collection, recursive=recursive, glob=glob, password=password, prune=prune
        ):
            failed += row["status"] in ("failed", "needs_password", "stopped")
            place = one_line(row["source"])
            if row["error"]:
                # A model that is missing says nothing of the file.
                known = place.rpartition("/")[2] in row["error"]
                complain(row["error"] if known else f"{place}: {row['error']}")
            if State.as_json:
                print(json.dumps(row, ensure_ascii=False), flush=True)
            else:
                print(f"{row['status']:<14} {place}  {_facts(row)}".rstrip(), flush=True)
    raise typer.Exit(1 if failed else 0)


def _facts(row: rows.Row) -> str:
    parts = [_counted(row["pages"], "page"), _counted(row["segments"], "segment")]
    parts.append(f"{row['seconds']:.1f} s" if row["seconds"] else "")
    parts.append(row["note"] if row["status"] == "duplicate" else "")
    return ", ".join(filter(None, [*parts, *(f"note: {note}" for note in row["warnings"])]))


def _counted(count: int | None, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}" if count else ""


@app.command()
def documents(collection: Collection = None) -> None:
    """List the documents."""
    with services() as s:
        found = [rows.document_row(record) for record in s.library.documents(collection=collection)]
    names = told_apart([(row["name"], row["source"]) for row in found])
    lines = [{**row, "name": name} for row, name in zip(found, names, strict=True)]
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
    show({"jobs": found}, table(found, "id", "name", "state", "progress", "phase", "reason"))


@app.command()
def delete(document_id: Annotated[int, typer.Argument(metavar="ID")]) -> None:
    """Remove a document, its segments and its original."""
    with services() as s:
        row = rows.document_row(s.library.delete(document_id))
    show({"deleted": row}, f"deleted {row['name']} ({row['segments']} segments)")


@app.command()
def segments(document_id: Annotated[int, typer.Argument(metavar="ID")]) -> None:
    """Show the segments of a document."""
    with services() as s:
        found = [rows.segment_row(record) for record in s.library.segments(document_id)]
    show(
        {"segments": found},
        "\n\n".join(f"[{row['index']}] {row['start']}-{row['end']}\n{row['text']}" for row in found),
    )


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
    condition = _filter(filter)
    with services() as s:
        result = s.search.search(
            query, limit=limit, retriever=retriever, collection=collection, filter=condition, min_score=min_score
        )
    found = [rows.content_row(rank, content) for rank, content in enumerate(result.contents, start=1)]
    for failure in result.trace.failures:
        complain(failure)
    sources = [content.segment.metadata.get_string("source") for content in result.contents]
    lines = [_result(row, place) for row, place in zip(found, _places(found, sources), strict=True)]
    show({"query": query, "seconds": round(result.seconds, 4), "results": found}, "\n\n".join(lines))


def _result(row: rows.Row, place: str) -> str:
    scores = ", ".join(f"{name} {value:.3f}" for name, value in row["scores"].items())
    return f"{row['rank']}. {place}  ({scores})\n{row['text']}"


def _places(found: Sequence[rows.Row], sources: Sequence[str | None]) -> list[str]:
    labels = told_apart([(row["document"], source or "") for row, source in zip(found, sources, strict=True)])
    return [label + (f" p. {row['page']}" if row["page"] else "") for row, label in zip(found, labels, strict=True)]


def _filter(text: str | None) -> Any:
    from core.filters import filter_from_json

    if text is None:
        return None
    try:
        return filter_from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise ConfigError(f"--filter {text!r} is not JSON: {error}") from None


@app.command()
def ask(
    question: str,
    conversation: Annotated[str | None, typer.Option(help="Go on with this conversation.")] = None,
    collection: Collection = None,
) -> None:
    """Ask your documents."""
    with services() as s:
        message = s.chat.answer_now(question, conversation_id=conversation, collection=collection)
        row = rows.answer_row(message)
    for sentence in (*message.record.get("retrieval", {}).get("failures", ()), message.reason):
        if sentence:
            complain(sentence)
    places = _places(row["sources"], [source.metadata.get("source") for source in message.sources])
    lines = [row["answer"], *(f"[{number}] {place}" for number, place in enumerate(places, start=1))]
    show(row, "\n".join(filter(None, lines)))
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
    with services() as s:
        problems = s.maintenance.check()
        if repair and problems:
            problems = s.maintenance.repair(problems)
    found = [rows.problem_row(problem) for problem in problems]
    show({"ok": not found, "problems": found}, "\n".join(row["message"] for row in found) or "all is well")
    raise typer.Exit(1 if found else 0)


@app.command()
def backup(file: Path) -> None:
    """Write everything into one file, also while the app runs."""
    with services() as s:
        counts = s.maintenance.backup(file)
    show({"ok": True, **counts}, f"saved {_counts(counts)} to {file.name}")


@app.command()
def restore(file: Path) -> None:
    """Bring a backup back into an empty data folder."""
    from core.bootstrap import restore_backup

    counts = restore_backup(_settings(), file)
    show({"ok": True, **counts}, f"restored {_counts(counts)}")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


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
    print(
        f"\r{done / 1e6:,.0f} of {total / 1e6:,.0f} MB", end="\n" if done >= total else "", file=sys.stderr, flush=True
    )


@app.command()
def strategies() -> None:
    """List every strategy that can be chosen, with what it does."""
    from core.bootstrap import registries

    found = registries()
    lines = [
        f"{kind}\n" + "\n".join(f"  {name:<24} {text}" for name, text in names.items()) for kind, names in found.items()
    ]
    show({"strategies": found}, "\n".join(lines))


# ── shared ───────────────────────────────────────────────────────────────────


def _settings() -> Settings:
    return Settings.load(**({"data": State.data} if State.data else {}))


@contextmanager
def services() -> Iterator[Any]:
    from core.bootstrap import build_services

    built = build_services(_settings())
    try:
        yield built
    finally:
        built.close()


def show(value: rows.Row, text: str) -> None:
    print(json.dumps(value, ensure_ascii=False, default=str) if State.as_json else text)


def complain(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def _options_first(arguments: list[str]) -> list[str]:
    """`--json` and `--data DIR` may stand anywhere; they are moved before the command, where Typer reads them."""
    first, rest, waiting = [], [], iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument == "--json" or argument.startswith("--data="):
            first.append(argument)
        elif argument == "--data":
            first += [argument, *([value] if (value := next(waiting, None)) is not None else [])]
        else:
            rest.append(argument)
    return first + rest


def main(arguments: list[str] | None = None) -> int:
    # What people are to know is said in one line by the command itself; here only what nobody foresaw.
    logging.basicConfig(level=logging.ERROR)
    try:
        result = app(_options_first(sys.argv[1:] if arguments is None else arguments), standalone_mode=False)
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
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
