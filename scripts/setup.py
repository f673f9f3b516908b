"""python -m scripts.setup: makes .venv and installs the requirements; at once when nothing has changed.

Standard library only, and syntax that an old Python can read, so that it can say that it is too old. What goes wrong is
one sentence on standard error and exit status 1. What pip says goes to .venv/setup.log.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.pip_install import TORCH_CPU_INDEX, SetupError, install, last_line, venv_python

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
NEWER_NAMES = ("python3.13", "python3.12", "python3.11")


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


if __name__ == "__main__":
    sys.exit(main())
