"""The environment of the peers, .venv-bench: made where it's missing or benchmarks/requirements.txt has changed.

Done with the set-up's own means (`scripts.setup`, `scripts.pip_install`), so that PyTorch's CPU build comes wherever it
can be had.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path

from scripts import pip_install, setup

HERE = Path(__file__).parent
VENV = HERE.parent / ".venv-bench"
FILES = (HERE / "requirements.txt", HERE / "constraints.txt")


def prepare(venv: Path = VENV) -> Path:
    """The Python of the peers' environment, made first where it must be.

    raises  SetupError: one sentence
    """
    python = pip_install.venv_python(venv)
    mark = setup.stamp(venv)
    if python.exists() and mark.is_file() and mark.read_text(encoding="utf-8").strip() == fingerprint():
        return python
    setup.make_venv(venv, sys.executable)
    _install(venv)
    mark.write_text(fingerprint() + "\n", encoding="utf-8")
    return python


def fingerprint() -> str:
    """Changes when the requirements do."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in FILES)).hexdigest()


def _install(venv: Path) -> None:
    command = [str(pip_install.venv_python(venv)), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar=off", "-r", str(FILES[0]), "-c", str(FILES[1]), *pip_install.torch_options()]
    log, began = venv / "setup.log", time.monotonic()
    print("Installing what Footnote is compared with into .venv-bench (1.8 GB, once).", flush=True)
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            pip_install.follow(process, log, began)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode != 0:
        reason = pip_install.last_line(log.read_text(encoding="utf-8", errors="replace"))
        raise pip_install.SetupError(f"pip could not install benchmarks/requirements.txt ({reason}); see {log}.")
