"""python -m benchmarks: every table in one run, with versions and machine. See README.md; `make bench` runs it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Read by OpenMP before torch is imported here for the versions.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks import own_measurements, side_by_side, tables
from benchmarks.contestants import ENTRANTS
from benchmarks.environment import prepare
from benchmarks.generated_set import generated_set
from benchmarks.machine import machine
from benchmarks.own_measurements import MEASUREMENTS
from benchmarks.question_files import BenchSet, load_sets
from benchmarks.side_by_side import Contest
from core.errors import FootnoteError
from core.services.tables import table
from scripts.pip_install import SetupError

BESIDE = {"peers-ingest": "ingest beside the others", "peers-search": "search beside the others"}
INGESTED = "squad2_en"
BUSY = 0.5  # processes that wanted to run in the last minute


def main(arguments: list[str] | None = None) -> int:
    options = _arguments(arguments)
    chosen = options.only or [*BESIDE, *(name for name in MEASUREMENTS if not MEASUREMENTS[name].is_long)]
    began, found = time.monotonic(), {"machine": machine()}
    print(table([{"machine": key, "": value} for key, value in found["machine"].items()], "machine", ""), flush=True)
    if float(found["machine"]["load before"].replace("-", "0")) > BUSY:
        print("This machine is busy with something else: take its times for a rehearsal.", file=sys.stderr)
    try:
        sets = _sets(options)
        for name in chosen:
            _title(name, {**BESIDE, **{key: one.title for key, one in MEASUREMENTS.items()}}[name], began)
            found[name] = _beside(name, options, sets) if name in BESIDE else _own(name, options, sets)
            _save(options.json, found)
        if held := tables.held(found):
            _show("== what must hold", held)
    except FootnoteError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; what was measured stands above.", file=sys.stderr)
        return 130
    print(f"\nAll of it took {(time.monotonic() - began) / 60:.0f} min.")
    return 0


def _sets(options: argparse.Namespace) -> list[BenchSet]:
    if options.sets is None:
        return [generated_set(every=options.every)]
    return load_sets(options.sets, options.set, options.every, options.questions)


def _beside(name: str, options: argparse.Namespace, sets: list[BenchSet]) -> Any:
    wanted = set(options.contestants or [entrant.module for entrant in ENTRANTS])
    entrants = [entrant for entrant in ENTRANTS if entrant.module in wanted]
    contest = Contest(_peers(entrants), entrants=entrants, say=_say)
    if name == "peers-search":
        rows = []
        for one in sets:
            of_set = side_by_side.search(contest, one)
            _show(f"{one.name}: {len(one.entries)} files, {len(one.questions)} questions", tables.search_table(of_set))
            rows += of_set
        _show("Footnote's default against the best of each", "\n".join(tables.verdicts(rows)))
        _show("", tables.versions(rows))
        return rows
    one = next((each for each in sets if each.name == INGESTED), sets[0])
    found = side_by_side.ingest(contest, one, texts=options.files, pdfs=options.pdfs, repeats=options.repeats)
    for kind, rows in found.items():
        _show(f"{one.name} as {kind} files, {options.repeats} times each, median", tables.ingest_table(rows))
    _show("", tables.versions(next(iter(found.values()))))
    return found


def _peers(entrants: list[Any]) -> Path | None:
    if not any(entrant.is_peer for entrant in entrants):
        return None
    try:
        return prepare()
    except SetupError as error:
        print(error, file=sys.stderr)
        return None


def _own(name: str, options: argparse.Namespace, sets: list[BenchSet]) -> Any:
    if name not in own_measurements.available():
        _show("", f"not run: benchmarks/{name}.py is missing")
        return {"failed": "missing"}
    found = own_measurements.run(name, _offered(options.sets.resolve(), sets) if options.sets else {})
    _show("", f"not run: {found['failed']}" if set(found) == {"failed"} else tables.own_table(found))
    return found


def _offered(folder: Path, sets: list[BenchSet]) -> dict[str, Any]:
    """What a `measure` may ask for: the folder of sets, and the corpora whose words have blanks between them."""
    first = sorted(sets, key=lambda one: one.name != INGESTED)
    spaced = [one for one in first if one.characters < 20 * sum(len(entry.text.split()) for entry in one.entries)]
    return {"sets": str(folder), "corpus": [str(folder / one.name) for one in spaced]}


def _title(name: str, title: str, began: float) -> None:
    print(f"\n== {name}: {title} (after {(time.monotonic() - began) / 60:.0f} min)", flush=True)


def _show(title: str, text: str) -> None:
    print("\n".join(filter(None, ["", title, text])), flush=True)


def _say(sentence: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {sentence}", file=sys.stderr, flush=True)


def _save(file: Path | None, found: dict[str, Any]) -> None:
    if file:
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8")


def _list_of(names: list[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        given = [name.strip() for name in text.split(",") if name.strip()]
        if wrong := [name for name in given if name not in names]:
            raise argparse.ArgumentTypeError(f"unknown {wrong[0]!r}; choose from {', '.join(names)}")
        return given

    return parse


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number of at least 1")
    return int(text)


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    modules = list(dict.fromkeys(entrant.module for entrant in ENTRANTS))
    parser.add_argument(
        "--only", type=_list_of([*BESIDE, *MEASUREMENTS]), help=f"tables: {', '.join([*BESIDE, *MEASUREMENTS])}"
    )
    parser.add_argument("--contestants", type=_list_of(modules), help=f"of {', '.join(modules)}; default: all")
    parser.add_argument("--sets", type=Path, help="folder of question sets; default: one that is made up here")
    parser.add_argument("--set", action="append", default=[], help="only this set of the folder; repeat")
    parser.add_argument("--every", type=_positive, default=1, help="take each n-th question only")
    parser.add_argument("--questions", type=_positive, default=500, help="most questions of a set, evenly spread")
    parser.add_argument("--files", type=_positive, default=200, help="text files that are ingested")
    parser.add_argument("--pdfs", type=int, default=20, help="PDF files that are ingested; 0: none")
    parser.add_argument("--repeats", type=_positive, default=3, help="times that each contestant ingests")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file too")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
