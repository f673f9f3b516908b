"""Installs the requirements with pip, showing that it moves, and PyTorch's CPU build wherever that can be had."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
ANSWER_S = 2.0
LINE_EVERY_S = 15.0


class SetupError(Exception):
    """One sentence for the person at the terminal."""


def install(venv):
    """Install the requirements with pip, showing that it moves."""
    command = [str(venv_python(venv).absolute()), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar=off", "-r", "requirements.txt", "-c", "constraints.txt", *torch_options()]
    log = venv / "setup.log"
    print("Installing the requirements. llama-cpp-python is compiled for this machine: some minutes, once.", flush=True)
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=str(ROOT))
        try:
            follow(process, log, began)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        print("\n".join(lines[-20:]), file=sys.stderr)
        raise SetupError(f"pip could not install the requirements; its last lines are above, the rest is in {log}.")
    print(f"Requirements are installed ({clock(time.monotonic() - began)}).", flush=True)


def follow(process, log, began):
    """Until pip ends: the time and what it does now, in place on a terminal, else a line now and then."""
    is_terminal = sys.stdout.isatty()
    shown = began
    while True:
        try:
            process.wait(timeout=1.0)
            break
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        if is_terminal or now - shown >= LINE_EVERY_S:
            shown = now
            text = f"  {clock(now - began)}  {doing(tail(log))}"[: shutil.get_terminal_size().columns - 1]
            print(f"\r{text}\x1b[K" if is_terminal else text, end="" if is_terminal else "\n", flush=True)
    if is_terminal:
        print("\r\x1b[K", end="", flush=True)


def doing(text):
    """What pip is at, from the end of its log; `doing("Collecting lxml (from x)")` gives "Collecting lxml"."""
    names = {"Building wheel for": "compiling", "Installing collected": "unpacking what was downloaded"}
    for line in reversed([line.strip() for line in text.splitlines()]):
        for start, verb in names.items():
            if line.startswith(start):
                return verb + line[len(start) :].partition(" (")[0] if start.endswith("for") else verb
        if line.startswith(("Collecting", "Downloading")):
            return line.partition(" (")[0]
    return "starting"


def torch_options():
    """Options that make pip take PyTorch's CPU build: from its own index, asked only where that answers."""
    version = re.search(r"^torch==(\S+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M).group(1)
    if not index_answers():
        if sys.platform.startswith("linux"):
            print("PyTorch's own index can't be reached, so torch comes from your package index.", flush=True)
        return []
    options = ["--extra-index-url", TORCH_CPU_INDEX]
    return [*options, f"torch=={version}+cpu"] if sys.platform.startswith("linux") else options


def index_answers():
    """Whether PyTorch's CPU index answers; found out once, because pip would ask it for every package."""
    probe = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=float(sys.argv[2]))"
    try:
        # In a process of its own, because looking up a host's name heeds no timeout.
        command = [sys.executable, "-c", probe, TORCH_CPU_INDEX + "/torch/", str(ANSWER_S)]
        return subprocess.run(command, capture_output=True, timeout=ANSWER_S + 1).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def venv_python(venv):
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def tail(path, size=4000):
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        return file.read().decode("utf-8", "replace")


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def clock(seconds):
    """`clock(75)` gives 1:15."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
