"""Footnote's own measurements: files beside this one with a function `measure(…) -> dict`, each run in a fresh process.

python -m benchmarks.own_measurements NAME ARGUMENTS.json RESULT.json    what that process runs
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.watched_process import WatchedProcess

HERE = Path(__file__).parent
TIMEOUT_S = 4 * 3600.0


@dataclass(frozen=True)
class Measurement:
    """`is_long`: takes long, so it runs only when it is named. `arguments`: beside what `offered` gives."""

    title: str
    is_long: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)


MEASUREMENTS = {
    "ingest": Measurement("ingest against plain SentenceTransformer.encode of the same segments"),
    "beside_answers": Measurement("an answer written while 200 files are indexed"),
    "memory": Measurement("tokens of a follow-up that aren't read again, in both memory modes"),
    "search": Measurement("search over 100,000 segments"),
    "answers_speed": Measurement("first token against llama.cpp reading the same tokens"),
    "drafting": Measurement("drafting from the prompt, on and off"),
    "memory_idle": Measurement("resident memory of the idle app"),
    "ingest_memory": Measurement("memory while one huge file is indexed", is_long=True),
    "kills": Measurement("kill -9 at random moments and at every fault point", is_long=True),
    "soak": Measurement("1,000 uploads, deletes and questions", is_long=True),
}


def available() -> list[str]:
    return [name for name in MEASUREMENTS if (HERE / f"{name}.py").is_file()]


def run(name: str, offered: Mapping[str, Any]) -> dict[str, Any]:
    """What `measure` returned, or {"failed": one line}.

    offered  arguments by name; those that `measure` doesn't take are left out. Folders may be given as text.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as kept:
        files = [Path(kept) / "arguments.json", Path(kept) / "found.json"]
        files[0].write_text(json.dumps({**offered, **MEASUREMENTS[name].arguments}, default=str), encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.own_measurements", name, *map(str, files)]
        environment = {"GOMP_SPINCOUNT": "1000", "TOKENIZERS_PARALLELISM": "false", **os.environ}
        watched = WatchedProcess(command, cwd=HERE.parent, env=environment, log=Path(kept) / "log.txt")
        if wrong := watched.wait(TIMEOUT_S):
            return {"failed": wrong[:200]}
        return json.loads(files[1].read_text(encoding="utf-8"))


def accepted(function: Any, offered: Mapping[str, Any]) -> dict[str, Any]:
    """The offered arguments that a function takes; text becomes a path where the function says that it wants one.

    `accepted(measure, {"sets": "mine", "other": 1})` gives {"sets": Path("mine")} for `def measure(sets: Path)`.
    """
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in offered:
            continue
        value = offered[name]
        if "Path" in str(parameter.annotation):
            value = [Path(one) for one in value] if isinstance(value, list) else Path(value)
        found[name] = value
    return found


def main(arguments: list[str]) -> int:
    name, given, result = arguments
    measure = importlib.import_module(f"benchmarks.{name}").measure
    offered = json.loads(Path(given).read_text(encoding="utf-8"))
    found = measure(**accepted(measure, offered))
    Path(result).write_text(json.dumps(found, default=str), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
