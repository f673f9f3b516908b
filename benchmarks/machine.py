"""What machine this is and which versions run on it: figures mean nothing without."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import psutil

ROOT = Path(__file__).parent.parent
PACKAGES = ("torch", "sentence-transformers", "faiss-cpu", "llama-cpp-python", "pymupdf", "numpy", "sqlalchemy")


def machine() -> dict[str, str]:
    """Name -> value: processor, cores, memory, system, load, commit, versions of what Footnote stands on."""
    return {
        "processor": _processor(),
        "cores": f"{psutil.cpu_count(logical=False)} ({psutil.cpu_count()} threads)",
        "number formats": ", ".join(_formats()) or "-",
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load before": f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "-",
        "commit": _commit(),
        "versions": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "-")


def _formats() -> list[str]:
    import torch

    can = torch.cpu.get_capabilities()
    return [name for name in ("avx2", "avx512_f", "avx512_bf16", "amx_bf16", "neon") if can.get(name)]


def _commit() -> str:
    found = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip() or "-"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "-"
