"""python -m core.model_catalogue: fetch models from a terminal, with a bar there and a line now and then elsewhere.

`ensure` is what every start of the app runs: at once and without a word when the models in the settings are there.
Exit status: 0 all there; 1 something is missing, each named in one line on standard error; 2 wrong usage; 130 stopped.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from pathlib import Path

from core.errors import FootnoteError, StoppedError
from core.model_catalogue.entries import CATALOGUE, DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL
from core.model_catalogue.fetching import fetch
from core.model_catalogue.locating import find, is_path, locate, rows
from core.model_catalogue.model import CatalogueModel, Kind
from core.model_catalogue.verification import state
from core.settings import Settings

TEST_MODELS = ("smollm2-135m", DEFAULT_EMBEDDING_MODEL, DEFAULT_CHAT_MODEL)
LINE_EVERY_S = 5.0


class ProgressLine:
    """Draws the progress of one fetch: in place on a terminal, else as a line every few seconds."""

    def __init__(self, model: CatalogueModel, *, is_terminal: bool) -> None:
        self._name = model.name
        self._is_terminal = is_terminal
        self._began = time.monotonic()
        self._first: int | None = None
        self._shown = -LINE_EVERY_S

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic() - self._began
        self._first = done if self._first is None else self._first
        if now - self._shown < (0.2 if self._is_terminal else LINE_EVERY_S):
            return
        self._shown = now
        text = self.text(done, total, now)
        print(f"\r{text}\x1b[K" if self._is_terminal else text, end="" if self._is_terminal else "\n", flush=True)

    def text(self, done: int, total: int, seconds: float) -> str:
        """`qwen2.5-coder-1.5b [#########               ] 412 of 1,117 MB, 31 MB/s, 23 s left`"""
        rate = (done - (self._first or 0)) / seconds if seconds > 0 else 0.0
        left = f", {rate / 1e6:.0f} MB/s, {(total - done) / rate:.0f} s left" if rate > 0 and seconds > 1 else ""
        bar = f"[{'#' * (24 * done // total):24}] " if self._is_terminal else ""
        return f"{self._name} {bar}{done / 1e6:,.0f} of {total / 1e6:,.0f} MB{left}"


def fetch_one(model: CatalogueModel, models_dir: Path, stop: threading.Event) -> bool:
    """Fetch one model and say how it went; False after an error, which is said in one line."""
    line = ProgressLine(model, is_terminal=sys.stdout.isatty())
    began = time.monotonic()
    print(f"Fetching {model.title}: {model.bytes / 1e6:,.0f} MB, {model.licence}.", flush=True)
    try:
        fetch(model, models_dir, progress=line, stop=stop)
    except StoppedError:
        raise
    except FootnoteError as error:
        print(f"\n{error}" if sys.stdout.isatty() else error, file=sys.stderr)
        return False
    end = f"{model.name} is here and checked ({time.monotonic() - began:.0f} s)."
    print(f"\r{end}\x1b[K" if sys.stdout.isatty() else end, flush=True)
    return True


def ensure(names: list[tuple[str, Kind]], models_dir: Path, stop: threading.Event) -> bool:
    """Fetch what of these isn't here; a path is only looked at; a name outside the catalogue is left to the app."""
    good = True
    for name, kind in names:
        try:
            if is_path(name):
                locate(name, models_dir, kind=kind)
            elif name in CATALOGUE and state(model := find(name, kind=kind), models_dir) != "present":
                good = fetch_one(model, models_dir, stop) and good
        except StoppedError:
            raise
        except FootnoteError as error:
            print(error, file=sys.stderr)
            good = False
    return good


def show(models_dir: Path) -> None:
    """Print the catalogue as a table."""
    for row in rows(models_dir):
        print(f"{row['name']:20} {row['kind']:10} {row['bytes'] / 1e6:>7,.0f} MB  {row['licence']:11} {row['state']}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m core.model_catalogue", description="Fetch Footnote's models.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the catalogue, and what of it is here")
    one = commands.add_parser("fetch", help="fetch models by name, or go on fetching them")
    one.add_argument("names", nargs="+", choices=sorted(CATALOGUE), metavar="NAME")
    some = commands.add_parser("ensure", help="fetch the models in the settings, if they aren't here")
    some.add_argument("--tests", action="store_true", help="the models that the tests use, instead")
    options = parser.parse_args(arguments)

    stop = threading.Event()
    earlier = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        settings = Settings.load()
        if options.command == "list":
            show(settings.models)
            return 0
        if options.command == "fetch":
            wanted = [(name, CATALOGUE[name].kind) for name in options.names]
        elif options.tests:
            wanted = [(name, CATALOGUE[name].kind) for name in TEST_MODELS]
        else:
            wanted = [(settings.chat_model, "chat"), (settings.embedding_model, "embedding")]
        return 0 if ensure(wanted, settings.models, stop) else 1
    except StoppedError as error:
        print(f"\n{error}", file=sys.stderr)
        return 130
    except FootnoteError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
