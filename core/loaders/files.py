"""Which files of a folder: by a glob on the path inside the folder, or a regular expression."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from core.errors import ConfigError, DocumentError


def find_files(
    folder: Path | str, *, recursive: bool = False, glob: str | None = None, regex: str | None = None
) -> list[Path]:
    """The files in `folder`, with `recursive` below it too, sorted by their path inside the folder.

    glob   matched on that path, written with "/": "*" and "?" stay within a name, "**" crosses folders
    regex  must match the whole of that path
    Files and folders whose name begins with a dot, and links to folders, are left out; a glob or regex doesn't bring
    them back.

    raises  ConfigError for a wrong pattern, or glob and regex together; DocumentError if the folder can't be read
    """
    pattern = _pattern(glob, regex)
    root = Path(folder)
    if not root.is_dir():
        raise DocumentError(f"{root.name!r} is no folder; check the path", file_name=root.name)
    found = {path.relative_to(root).as_posix(): path for path in _walk(root, recursive)}
    return [found[name] for name in sorted(found) if pattern.fullmatch(name)]


def source_of(path: Path | str) -> Path:
    """The absolute path that stands for a file: one, however it was typed.

    Links and ".." in the folders are followed: "papers/../a.txt" and "/link/a.txt" are the same source as the file
    itself. A link to a file keeps its own name, so that it goes when the link is gone.
    """
    path = Path(path)
    # Unlike Path.resolve it doesn't raise for links that go round in circles.
    return Path(os.path.realpath(path.parent), path.name)


def glob_to_regex(glob: str) -> str:
    """`glob_to_regex("**/*.md")` matches "a.md" and "x/y/a.md"; "*.md" only the first."""
    out, at = [], 0
    while at < len(glob):
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            out.append("(?:[^/]+/)*")
            at += 3
        elif glob.startswith("**", at):
            out.append(".*")
            at += 2
        elif glob[at] == "*":
            out.append("[^/]*")
            at += 1
        elif glob[at] == "?":
            out.append("[^/]")
            at += 1
        elif glob[at] == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out.append(f"(?!/)[{'^' + inside[1:] if inside[0] == '!' else inside}]")
            at = end + 1
        else:
            out.append(re.escape(glob[at]))
            at += 1
    return "".join(out)


def _pattern(glob: str | None, regex: str | None) -> re.Pattern[str]:
    if glob is not None and regex is not None:
        raise ConfigError(f"glob={glob!r} and regex={regex!r} can't be given together; leave one out")
    try:
        return re.compile(glob_to_regex(glob) if glob is not None else regex if regex is not None else ".*", re.DOTALL)
    except re.error as error:
        raise ConfigError(f"{glob or regex!r} is no valid pattern: {error}") from None


def _walk(root: Path, recursive: bool) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise DocumentError(
            f"folder {Path(error.filename or root).name!r} can't be read: {error.strerror}", file_name=root.name
        ) from error

    for place, folders, names in os.walk(root, onerror=fail):
        folders[:] = [name for name in folders if recursive and not name.startswith(".")]
        for name in names:
            path = Path(place, name)
            if not name.startswith(".") and path.is_file():
                yield path
