"""A whole run: what the files become, which points there are, then all kills in lanes that work side by side."""

from __future__ import annotations

import json
import os
import select
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from tests.kills.contents import pool
from tests.kills.lane import Kill, Killed, Lane
from tests.kills.plans import KILLED, at_points, at_random, discover, one_of_each_kind
from tests.kills.references import references
from tests.kills.victim import Target

# How many small ones, and the long ones: three parts each for the hashing model, two where embedding takes its time.
_FILES = {"hashing": (40, (("txt", 2700), ("pdf", 300))), "real": (15, (("pdf", 160), ("pdf", 170)))}
_FILES["few"] = (12, (("txt", 2700), ("pdf", 300)))


def run_kills(
    folder: Path,
    kills: int,
    *,
    model: str = "hashing",
    seed: int = 1,
    lanes: int = 2,
    kinds: bool = False,
    only: Sequence[str] = KILLED,
    found: Callable[[list[Target]], None] = lambda targets: None,
) -> Iterator[Killed]:
    """Every fault point of every operation, as far as `kills` goes, then random moments; each kill once it's judged.

    kinds   each point once, of whichever operation passes it
    only    these operations
    found   told which points there are
    raises  DiscoveryError
    """
    _load_what_forks_share(model)
    contents = pool(*_FILES["few" if kinds else "hashing" if model == "hashing" else "real"])
    expected = references(folder / "references", contents, model=model)
    first = Lane(folder / "discovery", contents, expected, model=model, seed=seed)
    targets = discover(first, only)
    first.close()
    found(targets)
    groups = _spread(list(at_points(one_of_each_kind(targets) if kinds else targets)), kills)
    groups += [[kill] for kill in islice(at_random(seed, only), max(0, kills - sum(map(len, groups))))]
    yield from _side_by_side(
        [
            (
                Lane(folder / f"lane-{number}", contents, expected, model=model, seed=seed + number),
                groups[number::lanes],
            )
            for number in range(lanes)
        ]
    )


def _spread(groups: list[list[Kill]], kills: int) -> list[list[Kill]]:
    """All of them, or with fewer kills two thirds at points from all over; a third is left for random moments."""
    wanted = kills * 2 // 3
    if sum(map(len, groups)) <= max(wanted, kills - 30):
        return groups
    step = sum(map(len, groups)) / wanted
    return [groups[int(place * step)] for place in range(int(len(groups) / step))]


def _side_by_side(lanes: Sequence[tuple[Lane, list[list[Kill]]]]) -> Iterator[Killed]:
    """Each lane in a process of its own, which has no other thread and may be forked."""
    pipes: dict[int, bytes] = {}
    children = []
    for lane, groups in lanes:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                _work(lane, groups, writing)
            except Exception:  # noqa: BLE001 the edge of a process: nothing of the parent's may go on here
                traceback.print_exc()
            os._exit(0)
        os.close(writing)
        pipes[reading] = b""
        children.append(pid)
    while pipes:
        for pipe in select.select(list(pipes), [], [])[0]:
            data = os.read(pipe, 1 << 16)
            *lines, pipes[pipe] = (pipes[pipe] + data).split(b"\n")
            yield from (_killed(json.loads(line)) for line in lines)
            if not data:
                os.close(pipe)
                del pipes[pipe]
    for pid in children:
        os.waitpid(pid, 0)


def _work(lane: Lane, groups: list[list[Kill]], pipe: int) -> None:
    """What a round finds is what the kill before it did: it's told with that one."""
    before: Killed | None = None
    for kill in [*(one for group in groups for one in group), Kill(())]:
        told = lane.kill(kill)
        if before is not None:
            before.problems += told.problems
            os.write(pipe, json.dumps(asdict(before) | {"points": []}).encode() + b"\n")
        told.problems = []
        before = told
    lane.close()


def _killed(values: dict) -> Killed:
    return Killed(**values)


def _load_what_forks_share(model: str) -> None:
    """Imports are done once, before any fork; nothing is opened and no thread started."""
    import alembic.command  # noqa: F401
    import faiss  # noqa: F401

    if model != "hashing":
        import sentence_transformers  # noqa: F401
