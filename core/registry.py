"""One lookup for strategies by name, and one error sentence. A folder's registry is the dict in its `__init__.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from core.errors import UnknownNameError

T = TypeVar("T")


def lookup(registry: Mapping[str, T], name: str, *, kind: str) -> T:
    """The entry called `name`. `lookup(SPLITTERS, "line", kind="splitter")` gives LineSplitter.

    raises  UnknownNameError, which lists the choices: unknown splitter 'fixd'; choose one of 'fixed', 'line'
    """
    if name not in registry:
        choices = ", ".join(repr(choice) for choice in sorted(registry))
        raise UnknownNameError(f"unknown {kind} {name!r}; choose one of {choices}")
    return registry[name]


def describe(strategy: object) -> str:
    """The first line of a strategy's docstring: what forms, tables and `cli.py strategies` show."""
    return (strategy.__doc__ or "").strip().split("\n")[0]
