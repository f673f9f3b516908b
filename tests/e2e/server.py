"""The real app on a free port, started as a person starts it; its output is kept for when a test fails."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUARD = Path(__file__).parent / "guard"
START_S, STOP_S = 60, 20


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`folder` holds its data, its output and the list of its attempts to leave this machine."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder, self.port = folder, free_port()
        self.output, self.connections = folder / "output.txt", folder / "connections.txt"
        self._environment = {
            "FOOTNOTE_DATA": str(folder / "data"),
            "FOOTNOTE_CHAT_MODEL": "echo",
            "FOOTNOTE_EMBEDDING_MODEL": "hashing",
        } | environment
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Server:
        environment = os.environ | self._environment
        environment |= {"PYTHONPATH": str(GUARD), "FOOTNOTE_TEST_CONNECTIONS": str(self.connections)}
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(self.port)],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended at once:\n{self.text()}")
            if self._is_up():
                return self
            time.sleep(0.1)
        raise RuntimeError(f"the server didn't come up in {START_S} s:\n{self.text()}")

    def _is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1) as answer:
                return answer.status == 200
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    def stop(self) -> None:
        """As Ctrl-C does it; what doesn't end is killed with its children."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError(f"the server didn't end within {STOP_S} s of Ctrl-C:\n{self.text()}") from None

    def kill(self) -> None:
        """As a power cut does it."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(STOP_S)

    def text(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace") if self.output.exists() else ""

    def attempts(self) -> list[str]:
        """Hosts that a process of this server tried to reach beyond this machine."""
        return self.connections.read_text(encoding="utf-8").splitlines() if self.connections.exists() else []
