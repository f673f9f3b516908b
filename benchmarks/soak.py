"""Does the app grow? One process with all services does a thousand things; memory, handles and threads must stay flat.

    python -m benchmarks.soak [--operations 1000] [--chat-model echo] [--embedding-model hashing] [--json FILE]

Uploads, searches, questions, re-indexes, and deletes with and without undo, in a mix that keeps the library at some
sixty documents. Every hundred operations it notes the resident memory of all its processes, open files, threads, the
size of the data folder, and what lies there unfinished. Memory may be 1.1 of what it was after the first hundred.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import psutil

from core.bootstrap import Services, build_services
from core.records import JobRecord
from core.settings import Settings

MOST_GROWTH = 1.1
_NOTE_EVERY = 100
_DOCUMENTS, _TURNS = 60, 20
_WORDS = (
    "amber basin cobalt delta ember fjord garnet harbor indigo jasper kestrel lantern meadow nickel opal pebble quartz "
    "ripple saffron timber umber violet willow xenon yarrow zephyr anchor bridge copper drift engine falcon glacier"
).split()


def measure(
    operations: int = 1000,
    *,
    chat_model: str = "echo",
    embedding_model: str = "hashing",
    seed: int = 1,
    note: Callable[[dict[str, Any]], None] = lambda row: None,
) -> dict[str, Any]:
    """rows: one for each hundred operations; growth: last memory / first; ok: whether all stayed flat."""
    with tempfile.TemporaryDirectory(prefix="footnote-soak-") as folder:
        data = Path(folder) / "data"
        services = build_services(Settings(data=data, chat_model=chat_model, embedding_model=embedding_model))
        services.start()
        rows = []
        try:
            soak = _Soak(services, random.Random(seed))
            soak.fill()
            for number in range(1, operations + 1):
                soak.do_one()
                if number % _NOTE_EVERY == 0:
                    rows.append({"operations": number, **_state(data), **soak.library()})
                    note(rows[-1])
        finally:
            services.close()
    return {"chat_model": chat_model, "embedding_model": embedding_model, "rows": rows, **_verdict(rows)}


class _Soak:
    def __init__(self, services: Services, chosen: random.Random) -> None:
        self._services, self._chosen = services, chosen
        self._conversation, self._asked, self._made = "", 0, 0
        self.counts: dict[str, int] = {}

    def fill(self) -> None:
        """As many documents as there will be all the time: memory is to be compared, not the size of the library."""
        for _ in range(_DOCUMENTS):
            self._upload()

    def do_one(self) -> None:
        live = self._services.library.documents()
        names = ["upload"] * 34 + ["search"] * 22 + ["ask"] * 14
        names += ["reindex"] * 10 + ["delete"] * 10 + ["delete and undo"] * 10 if live else []
        name = "delete" if len(live) > _DOCUMENTS else self._chosen.choice(names)
        self.counts[name] = self.counts.get(name, 0) + 1
        {
            "upload": self._upload,
            "search": lambda: self._services.search.search(self._sentence()),
            "ask": self._ask,
            "reindex": lambda: self._wait_for(self._services.library.reindex(self._chosen.choice(live).id)),
            "delete": lambda: self._delete(self._chosen.choice(live).id, undo=False),
            "delete and undo": lambda: self._delete(self._chosen.choice(live).id, undo=True),
        }[name]()

    def library(self) -> dict[str, int]:
        return {"documents": len(self._services.library.documents())}

    def _upload(self) -> None:
        self._made += 1
        text = "\n\n".join(self._sentence() for _ in range(self._chosen.randint(5, 60)))
        kind = self._chosen.choice(("txt", "md", "html"))
        data = (f"<html><body><p>{text}</p></body></html>" if kind == "html" else text).encode()
        self._wait_for(self._services.library.add_bytes(f"file {self._made}.{kind}", data))

    def _ask(self) -> None:
        if self._asked % _TURNS == 0:
            if self._conversation:
                self._services.chat.delete(self._conversation)
            self._conversation = self._services.chat.create().id
        self._asked += 1
        self._services.chat.answer_now(f"Where is the {self._sentence()}?", conversation_id=self._conversation)

    def _delete(self, document_id: int, *, undo: bool) -> None:
        library = self._services.library
        library.delete(document_id)
        if undo:
            library.undelete(document_id)
        elif len(library.deleted()) > 5:
            library.purge_deleted()
            library.clear_ended_jobs()

    def _wait_for(self, job: JobRecord) -> None:
        while self._services.library.jobs(active_only=True):
            time.sleep(0.005)

    def _sentence(self) -> str:
        return " ".join(self._chosen.choices(_WORDS, k=12))


def _state(data: Path) -> dict[str, Any]:
    process = psutil.Process()
    children = process.children(recursive=True)
    files = [path for path in data.rglob("*") if path.is_file()]
    unfinished = [path for path in files if path.suffix == ".tmp" or path.parent.name in ("unfinished", "held")]
    return {
        "memory_mb": round(sum(_memory(one) for one in (process, *children)) / 1e6, 1),
        "own_memory_mb": round(_memory(process) / 1e6, 1),
        "processes": 1 + len(children),
        "handles": process.num_fds() if hasattr(process, "num_fds") else process.num_handles(),
        "threads": process.num_threads(),
        "data_mb": round(sum(path.stat().st_size for path in files) / 1e6, 1),
        "unfinished": len(unfinished),
    }


def _memory(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def _verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    first, last = rows[0], rows[-1]
    growth = last["memory_mb"] / first["memory_mb"]
    grown = {name: last[name] - first[name] for name in ("handles", "threads", "unfinished")}
    flat = all(value <= 2 for value in grown.values())  # a connection or a search that is just going on
    return {"growth": round(growth, 3), "grown": grown, "ok": growth <= MOST_GROWTH and flat}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=1000)
    parser.add_argument("--chat-model", default="echo", help="or a name of the catalogue")
    parser.add_argument("--embedding-model", default="hashing", help="or a name of the catalogue")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where to write the figures as well")
    chosen = parser.parse_args()
    started = time.monotonic()
    found = measure(
        chosen.operations,
        chat_model=chosen.chat_model,
        embedding_model=chosen.embedding_model,
        seed=chosen.seed,
        note=lambda row: print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True),
    )
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))
    verdict = "flat" if found["ok"] else "GROWN"
    print(f"{verdict}: memory {found['growth']} of the first hundred's, {found['grown']}")
    print(f"{time.monotonic() - started:.0f} s")
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
