"""Makes .venv and installs the requirements; at once when nothing has changed. `make` calls it before everything else.

Standard library only, and syntax that an old Python can read, so that it can say that it is too old. What goes wrong is
one sentence on standard error and exit status 1. What pip says goes to .venv/setup.log.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
NEWER_NAMES = ("python3.13", "python3.12", "python3.11")
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
ANSWER_S = 2.0
LINE_EVERY_S = 15.0


class SetupError(Exception):
    """One sentence for the person at the terminal."""


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Make Footnote's virtual environment and install its requirements.")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="folder of the virtual environment")
    venv = parser.parse_args(arguments).venv
    try:
        if is_done(venv):
            return 0
        python = find_python()
        check_compiler()
        make_venv(venv, python)
        install(venv)
        check_torch(venv)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; run make again to go on.", file=sys.stderr)
        return 130
    stamp(venv).write_text(fingerprint() + "\n", encoding="utf-8")
    return 0


def fingerprint():
    """Changes when the requirements do."""
    digest = hashlib.sha256()
    for name in ("requirements.txt", "constraints.txt"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def stamp(venv):
    """The file that says for which requirements the environment is complete."""
    return venv / "installed.txt"


def is_done(venv):
    """Whether the environment is there and complete for these requirements."""
    mark = stamp(venv)
    return venv_python(venv).exists() and mark.is_file() and mark.read_text(encoding="utf-8").strip() == fingerprint()


def venv_python(venv):
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def find_python():
    """This Python, or a newer one on the PATH when this one is too old."""
    if sys.version_info >= OLDEST:
        return sys.executable
    for name in NEWER_NAMES:
        if shutil.which(name):
            return shutil.which(name)
    mine = "{}.{}.{}".format(*sys.version_info[:3])
    raise SetupError(
        f"Footnote needs Python 3.11 or later and {sys.executable} is {mine}; "
        "install a newer one, then run make again (or: make PYTHON=/path/to/python3.12 run)."
    )


def check_compiler():
    """llama-cpp-python is compiled on this machine."""
    named = os.environ.get("CXX", "").split()
    if not any(shutil.which(name) for name in [*named[:1], "c++", "g++", "clang++", "cl"]):
        raise SetupError(
            "Footnote needs a C++ compiler to build llama-cpp-python; install one (Debian, Ubuntu: apt install g++; "
            "Fedora: dnf install gcc-c++; macOS: xcode-select --install), then run make again."
        )


def make_venv(venv, python):
    """Make the environment; one whose Python is gone (an upgrade of the system) is made anew."""
    if venv_python(venv).exists():
        return
    print(f"Making the virtual environment {venv.name} …", flush=True)
    result = subprocess.run([python, "-m", "venv", "--clear", str(venv)], capture_output=True, text=True)
    if result.returncode != 0:
        raise SetupError(
            f"{python} can't make a virtual environment ({last_line(result.stdout + result.stderr)}); "
            "install its venv module (Debian, Ubuntu: apt install python3-venv), then run make again."
        )


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
            text = f"  {clock(now - began)}  {last_line(tail(log))}"[: shutil.get_terminal_size().columns - 1]
            print(f"\r{text}\x1b[K" if is_terminal else text, end="" if is_terminal else "\n", flush=True)
    if is_terminal:
        print("\r\x1b[K", end="", flush=True)


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


def check_torch(venv):
    """Say so when a CUDA build of PyTorch came although nobody asked for it."""
    code = "import torch; print(torch.version.cuda or '')"
    result = subprocess.run([str(venv_python(venv)), "-c", code], capture_output=True, text=True)
    if result.returncode != 0:
        raise SetupError(f"PyTorch was installed and can't be imported: {last_line(result.stderr)}")
    if result.stdout.strip():
        print(
            f"Note: your package index gave PyTorch's CUDA {result.stdout.strip()} build (several GB); "
            f"Footnote works with it, and the CPU build is at {TORCH_CPU_INDEX}.",
            flush=True,
        )


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


if __name__ == "__main__":
    sys.exit(main())
