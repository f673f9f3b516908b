"""How much memory does the idle app take? The real server, its models loaded, 1,000 segments, one question answered.

    python -m benchmarks.memory_idle [--context-tokens 8192] [--segments 1000] [--data DIR]

Resident memory of each of its processes at every step; a page that two of them share counts for both. The last look
comes after the parsing worker has ended, three minutes after the last file; `--wait` says after how many seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import psutil

from core.bootstrap import Services, build_services
from core.records import MESSAGE_ENDED
from core.services.tables import table
from core.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
LIMIT_MB = 2500
_FILES = 20
_START_S, _WORK_S, _STOP_S = 120, 1800, 60
_WORDS = "tide lamp keeper ledger harbour signal winter barometer lantern rope engine chart current buoy ferry".split()


def measure(
    *,
    context_tokens: int = 8192,
    segments: int = 1000,
    wait_s: float = 200.0,
    chat_model: str | None = None,
    data: Path | None = None,
) -> dict[str, Any]:
    """`steps`: what was resident after each, by process; `idle_mb`: at the end, all processes together.

    wait_s  how long the app is left alone before the last look
    data    a folder that is kept; by default one of its own that goes
    """
    with tempfile.TemporaryDirectory(prefix="footnote-idle-") as own:
        knobs: dict[str, Any] = {"data": data or Path(own) / "data", "context_tokens": context_tokens}
        knobs |= {"chat_model": chat_model} if chat_model else {}
        settings = Settings(**knobs)
        steps: list[dict[str, Any]] = []
        with _App(settings) as app, _opened(settings) as services:
            steps.append(_look("started", app.process))
            kept = _index(services, segments)
            steps.append(_look(f"{kept:,} segments indexed", app.process))
            _ask(services)
            steps.append(_look("a question answered", app.process))
            time.sleep(wait_s)
            steps.append(_look("left alone", app.process))
    idle = steps[-1]["together_mb"]
    return {
        "idle_mb": idle,
        "limit_mb": LIMIT_MB,
        "ok": idle < LIMIT_MB,
        "segments": kept,
        "context_tokens": context_tokens,
        "steps": steps,
    }


class _App:
    """The server, as `make run` starts it."""

    def __init__(self, settings: Settings) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment = {
            "FOOTNOTE_DATA": str(settings.data),
            "FOOTNOTE_CONTEXT_TOKENS": str(settings.context_tokens),
            "FOOTNOTE_CHAT_MODEL": settings.chat_model,
            "HF_HUB_OFFLINE": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
            cwd=ROOT,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._url = f"http://127.0.0.1:{port}/_stcore/health"

    def __enter__(self) -> _App:
        _until(self._is_up, _START_S, "the app to start")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def _is_up(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"the app ended at once with status {self.process.returncode}")
        try:
            with urllib.request.urlopen(self._url, timeout=1) as answer:
                return answer.status == 200
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False


@contextmanager
def _opened(settings: Settings) -> Iterator[Services]:
    """Services that do nothing themselves: the app sees to what is put into the store."""
    services = build_services(settings)
    try:
        yield services
    finally:
        services.close()


def _index(services: Services, segments: int) -> int:
    """Files of small paragraphs; returns how many segments they became."""
    for number in range(_FILES):
        lines = [_paragraph(number * segments // _FILES + line) for line in range(segments // _FILES)]
        services.library.add_bytes(f"log-{number}.md", "\n\n".join(lines).encode())
    _until(lambda: not services.library.jobs(active_only=True), _WORK_S, "the files to be indexed")
    return sum(collection.segments for collection in services.library.collections())


def _paragraph(number: int) -> str:
    """A heading and as many words as make a segment of its own."""
    words = " ".join(_WORDS[(number * step + step) % len(_WORDS)] for step in range(1, 60))
    return f"# Entry {number}\n\nOn day {number} the keeper wrote: {words}."


def _ask(services: Services) -> None:
    conversation = services.chat.create().id
    _, answer = services.chat.ask(conversation, "What did the keeper write on day 7?", request_key="memory")
    _until(lambda: services.chat.message(answer.id).state in MESSAGE_ENDED, _WORK_S, "the answer")


def _look(step: str, server: subprocess.Popen) -> dict[str, Any]:
    process = psutil.Process(server.pid)
    members = [process, *process.children(recursive=True)]
    sizes = {_name(member): round(member.memory_info().rss / 1e6) for member in members}
    return {"step": step, "together_mb": sum(sizes.values()), **{f"{name}_mb": size for name, size in sizes.items()}}


def _name(process: psutil.Process) -> str:
    line = " ".join(process.cmdline())
    return "app" if "streamlit" in line else "parsing_worker" if "parsing_worker" in line else f"other_{process.pid}"


def _until(is_true: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--context-tokens", type=int, default=8192)
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--wait", type=float, default=200.0)
    parser.add_argument("--chat-model")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(
        context_tokens=options.context_tokens,
        segments=options.segments,
        wait_s=options.wait,
        chat_model=options.chat_model,
        data=options.data,
    )
    columns = list(dict.fromkeys(name for step in found["steps"] for name in step))
    print(table([dict.fromkeys(columns) | step for step in found["steps"]], *columns))
    print(f"idle: {found['idle_mb']:,} MB of {found['limit_mb']:,}: {'ok' if found['ok'] else 'TOO MUCH'}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
