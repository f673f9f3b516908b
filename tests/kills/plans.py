"""Where to kill: every fault point that an operation was seen to pass, then random moments in a mix of operations."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tests.kills.lane import Kill, Lane
from tests.kills.operations import OPERATIONS
from tests.kills.other_operations import OTHER_OPERATIONS
from tests.kills.references import SEGMENT_TOKENS
from tests.kills.victim import Target

KILLED = (*OPERATIONS, *OTHER_OPERATIONS)
_LEAVE_WORK = Kill(("leave work",))
# In these a point's second time is another step: the link that isn't one before the save, the next part of a file.
_TWICE = ("upload", "upload long", "replace")


class DiscoveryError(Exception):
    """An operation went wrong where nothing was killed: nothing can be learned from killing it."""


def discover(lane: Lane, operations: Sequence[str] = KILLED) -> list[Target]:
    """Lets every operation, and a start with work to do, pass once; what they pass, in that order.

    raises  DiscoveryError
    """
    together = tuple(name for name in operations if name != "close")  # after a close nothing can be done
    found = [point for point in _points(lane, Kill(together)) if point.operation != "start"]
    if "close" in operations:
        found += [point for point in _points(lane, Kill(("close",))) if point.operation == "close"]
    _points(lane, _LEAVE_WORK)
    return found + [point for point in _points(lane, Kill(())) if point.operation == "start"]


def at_points(targets: Sequence[Target]) -> Iterator[list[Kill]]:
    """For each point the kills that it takes: a start has work to do only where a process left some."""
    for number, target in enumerate(targets):
        tokens = SEGMENT_TOKENS[number % len(SEGMENT_TOKENS)]
        if target.operation == "start":
            yield [_LEAVE_WORK, Kill((), target)]
        else:
            yield [Kill((target.operation,), target, max_segment_tokens=tokens)]


def one_of_each_kind(targets: Sequence[Target]) -> list[Target]:
    """Each point once, of the operations in turn; what is before a commit is like what was never begun."""
    chosen: dict[str, Target] = {}
    for target in sorted(targets, key=lambda one: one.nth):
        if not target.point.endswith("before commit"):
            chosen.setdefault(target.point, target)
    return list(chosen.values())


def at_random(seed: int, operations: Sequence[str] = KILLED) -> Iterator[Kill]:
    """Without end. A process is killed in the middle of operations, one of six while it starts."""
    chosen = random.Random(seed)
    mix = [name for name in operations if name not in ("close", "upgrade", "first start", "restore")] or operations
    while True:
        plan = tuple(chosen.choices(mix, k=6))
        tokens = chosen.choice(SEGMENT_TOKENS)
        if chosen.random() < 1 / 6:
            yield Kill(plan, delay_s=chosen.uniform(0.02, 1.5), while_starting=True, max_segment_tokens=tokens)
        else:
            yield Kill(plan, delay_s=chosen.uniform(0.001, 1.0), max_segment_tokens=tokens)


def _points(lane: Lane, kill: Kill) -> list[Target]:
    told = lane.kill(kill)
    if told.problems:
        raise DiscoveryError(f"{' and '.join(kill.plan) or 'start'}: {told.problems}")
    return [point for point in told.points if point.nth <= (2 if point.operation in _TWICE else 1)]
