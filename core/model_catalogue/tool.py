"""Runs a download tool beside us: its folder's growth is the progress, and a stop ends it at once."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.errors import ModelError
from core.model_catalogue.watch import Watch, bytes_in

POLL_S = 0.2


def run_tool(
    command: Sequence[str], *, environ: Mapping[str, str], folder: Path, done_before: int, watch: Watch
) -> None:
    """Run a command that downloads into `folder`; reports `done_before` + what has arrived there.

    raises  ModelError with the tool's last line when it fails; StoppedError after a stop. It never outlives this call.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env=dict(environ), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            while process.poll() is None:
                watch.report(done_before + bytes_in(folder))
                try:
                    process.wait(timeout=POLL_S)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            _end(process)
        if process.returncode != 0:
            # Ctrl-C reaches the tool as well as us: then it was stopped and didn't fail.
            watch.report(done_before)
            output.seek(0)
            raise ModelError(_reason(output.read().decode("utf-8", "replace")))


def _end(process: subprocess.Popen) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=3)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _reason(output: str) -> str:
    """The line of a tool's output that says best what went wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "No space left" in line]
    for line in errors:
        if "No space left" in line:
            return "the disk is full"
    # without the name of the exception, or pip's "ERROR:", in front
    return re.sub(r"^(ERROR|[\w.]+(Error|Exception)): ", "", (errors or lines or ["it ended without a word"])[-1])[:300]
