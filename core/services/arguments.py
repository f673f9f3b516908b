"""What the command line was given, made ready: the order of options, filters, names of collections."""

from __future__ import annotations

import json
from collections.abc import Sequence

from core.errors import ConfigError, UnknownNameError
from core.filters import Filter, filter_from_json
from core.registry import lookup
from core.services.library import LibraryService


def options_first(arguments: Sequence[str]) -> list[str]:
    """`--json` and `--data DIR` may stand anywhere; they are moved before the command, where Typer reads them."""
    first, rest, waiting = [], [], iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument == "--json" or argument.startswith("--data="):
            first.append(argument)
        elif argument == "--data":
            first += [argument, *([value] if (value := next(waiting, None)) is not None else [])]
        else:
            rest.append(argument)
    return first + rest


def filter_of(text: str | None) -> Filter | None:
    """`filter_of('{"key": "page", "equal": 3}')`; raises ConfigError that shows how one is written."""
    if text is None:
        return None
    try:
        return filter_from_json(json.loads(text))
    except json.JSONDecodeError as error:
        wanted = """write it as in --filter '{"key": "page", "equal": 3}'"""
        raise ConfigError(f"--filter {text!r} is not JSON ({error}); {wanted}") from None
    except (RecursionError, ValueError) as error:  # so deep, or a number so long, that it isn't even read
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(
            "--filter is nested too deeply or holds a number that is too long; write it flatter"
        ) from None


def check_collection(library: LibraryService, name: str | None) -> None:
    """raises UnknownNameError, which lists the collections"""
    if name is None:
        return
    known = {record.name: record for record in library.collections()}
    if not known:
        raise UnknownNameError(f"unknown collection {name!r}; there are none yet, add documents with ingest")
    lookup(known, name, kind="collection")
