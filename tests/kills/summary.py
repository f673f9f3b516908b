"""One line a kill, and a table of all: operations, and what was lost, half, or wrong."""

from __future__ import annotations

from collections.abc import Sequence

from tests.kills.lane import Killed

_KINDS = ("lost", "half", "check", "other")


def line_of(number: int, killed: Killed) -> str:
    end = "" if killed.reached else " (the point was not reached; killed at the end)"
    verdict = "clean" if not killed.problems else "; ".join(killed.problems)
    return f"{number:4}  {killed.seconds:5.2f} s  {killed.operation}, at {killed.at}{end}: {verdict}"


def table_of(done: Sequence[Killed]) -> str:
    rows = [("operation", "kills", *_KINDS)]
    for name in [*dict.fromkeys(killed.operation for killed in done), "all"]:
        of_it = [killed for killed in done if name in ("all", killed.operation)]
        counts = [sum(any(_kind(one) == kind for one in killed.problems) for killed in of_it) for kind in _KINDS]
        rows.append((name, str(len(of_it)), *map(str, counts)))
    return "\n".join(f"{name:20}" + "".join(f"{value:>8}" for value in values) for name, *values in rows)


def _kind(problem: str) -> str:
    return next((kind for kind in _KINDS if problem.startswith(kind)), "other")
