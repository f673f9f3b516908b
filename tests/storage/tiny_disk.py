"""A file system of a few megabytes, filled but for a given rest."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path


class TinyDisk:
    """`folder` is where it's mounted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def leave(self, free_bytes: int) -> None:
        """Fill it but for so much."""
        self.empty()
        with self._filler.open("wb", buffering=0) as filler:
            left = shutil.disk_usage(self.folder).free - free_bytes
            while left > 0:
                left -= filler.write(bytes(min(left, 1 << 20)))

    def empty(self) -> None:
        self._filler.unlink(missing_ok=True)


@contextlib.contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[TinyDisk | None]:
    """None where this system doesn't let us mount one."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        yield None
        return
    try:
        yield TinyDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
