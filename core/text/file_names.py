"""File names as people see them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from core.errors import ConfigError
from core.text.clean import clean
from core.text.neutral import neutral_source

MAX_NAME_CHARS = 255
MAX_COLLECTION_CHARS = 100


def display_name(name: str) -> str:
    """The last part of a path, on one line, without control and direction characters; "unnamed" if nothing is left.

    A longer name than 255 characters is cut in front of its ending.
    """
    shown = one_line(clean(name).replace("\\", "/").rstrip("/ ").rpartition("/")[2]) or "unnamed"
    if len(shown) <= MAX_NAME_CHARS:
        return shown
    ending = PurePosixPath(shown).suffix
    ending = ending if len(ending) <= 10 else ""
    return shown[: MAX_NAME_CHARS - len(ending) - 1].rstrip() + "…" + ending


def collection_name(name: str) -> str:
    """The name as it's kept, without blanks around it.

    raises  ConfigError for one that is blank, longer than 100 characters or holds control or direction characters
    """
    name = name.strip()
    if not name:
        raise ConfigError("a collection's name must not be blank")
    if len(name) > MAX_COLLECTION_CHARS:
        raise ConfigError(
            f"a collection's name may have {MAX_COLLECTION_CHARS} characters, and {name[:20]!r}… has {len(name):,}; "
            "choose a shorter one"
        )
    if neutral_source(name) != name:
        raise ConfigError(f"a collection's name must not hold control characters, and {name!a} does; choose another")
    return name


def one_line(text: str) -> str:
    """A path or name for a line of a terminal: nothing in it ends the line, colours it or turns it around."""
    return " ".join(clean(text).split())


def told_apart(documents: Sequence[tuple[str, str]]) -> list[str]:
    """A label for each (name, source): its name, behind as many folders as tell it from another one of that name.

    ("a.txt", "/my/north/a.txt"), ("a.txt", "/my/south/a.txt"), ("b.txt", "/b.txt") are "north/a.txt", "south/a.txt"
    and "b.txt". The same source more than once is one document.
    """
    sources: dict[str, set[str]] = {}
    for name, source in documents:
        sources.setdefault(name, set()).add(source)
    return [_label(name, source, sources[name] - {source}) for name, source in documents]


def _label(name: str, source: str, others: set[str]) -> str:
    parts = _parts(source)
    if not others or not source:
        return name
    for count in range(2, len(parts)):
        if all(_parts(other)[-count:] != parts[-count:] for other in others):
            return one_line("/".join(parts[-count:]))
    return one_line("/".join(parts))


def _parts(source: str) -> list[str]:
    return source.removeprefix("upload:").replace("\\", "/").split("/")
